// The console inside the terminal's own process: both show the same runs, and text streams live in both. It is started when a
// person first asks for it, and ends with the terminal.

import { belayServer } from "@belay/server";
import type { BelaySetup, SetupOptions } from "../setup.ts";
import { userName } from "../user-name.ts";
import { folderRunner } from "./folder-runner.ts";
import { listen } from "./listen.ts";
import { tokenIn } from "./serve.ts";

const PORT = 4180;
const DRAIN_MS = 500;

export interface ConsoleHere {
  /** The address that lets the person in. */
  readonly url: string;
  close(): Promise<void>;
}

/** Serves the threads of this machine over the runner of `setup`, which stays open. */
export async function consoleHere(setup: BelaySetup, options: SetupOptions): Promise<ConsoleHere> {
  const folders = await folderRunner(options, setup);
  const token = tokenIn(setup.dataFolder);
  // A worker of this process would run threads of any folder in this one. The runner belongs to the terminal.
  const server = belayServer({ runner: folders.runner, token, user: userName(), work: false });
  const http = await listen(server.fetch, { host: "127.0.0.1", port: PORT, orFree: true });
  return {
    url: `${http.url}#t=${encodeURIComponent(token)}`,
    async close() {
      await server.close({ timeoutMs: DRAIN_MS });
      http.close();
      await folders.close();
    },
  };
}
