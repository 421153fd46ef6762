// belay serve: the threads of this machine over HTTP, for pages and programs. It serves only this machine unless it has a
// token.

import { randomBytes } from "node:crypto";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { hostname, networkInterfaces } from "node:os";
import { join } from "node:path";
import { belayServer } from "@belay/server";
import { inDataFolder } from "../data/folders.ts";
import { EXIT } from "../headless/exit-codes.ts";
import { toldToEnd } from "../headless/told-to-end.ts";
import { peopleWords, problem } from "../problem.ts";
import type { SetupOptions } from "../setup.ts";
import { userName } from "../user-name.ts";
import type { CommandIo, CommandOptions } from "./command.ts";
import { folderRunner } from "./folder-runner.ts";
import { isLoopback, type Listening, listen, openBrowser } from "./listen.ts";

export interface ServeOptions extends CommandOptions, SetupOptions {
  readonly port: number;
  readonly host: string;
  readonly token?: string;
  readonly open?: boolean;
  /** The number of threads that the worker moves at once in each folder; 0: no worker. */
  readonly work: number;
}

const LEAST_TOKEN = 16;
const DRAIN_MS = 10_000;
/** The speed of the demo for a person that watches. */
const DEMO_DELAY_MS = 30;

export async function serve(options: ServeOptions, io: CommandIo): Promise<number> {
  const { host, port, work } = options;
  const isOwn = isLoopback(host);
  if (options.token !== undefined ? options.token.length < LEAST_TOKEN : !isOwn) throw problem("SERVE_OPEN", { host });
  const end = toldToEnd(process, ["SIGINT", "SIGTERM", "SIGHUP"]);
  const onTrouble = (error: unknown) => void io.stderr.write(`${peopleWords(error, io.texts).join(" ")}\n`);
  // Without a worker of its own it is a front: what is sent waits for `belay work`.
  const start = work > 0 ? "here" : "worker";
  const folders = await folderRunner({ ...options, unattended: false, delayMs: DEMO_DELAY_MS, onTrouble, start });
  const token = options.token ?? tokenIn(folders.setup.dataFolder);
  const server = belayServer({
    runner: folders.runner,
    token,
    user: userName(),
    work: work > 0 && { concurrency: work },
    allowedHosts: isOwn ? [] : namesOf(host),
  });
  let http: Listening | undefined;
  try {
    http = await listen(server.fetch, { host, port });
    const url = `${http.url}#t=${encodeURIComponent(token)}`;
    io.stdout.write(`${io.texts.commands.serving(url)}\n`);
    io.stderr.write(`${io.texts.commands.servingEnds}\n`);
    if (options.open) openBrowser(url);
    if (!end.signal.aborted) await new Promise((resolve) => end.signal.addEventListener("abort", resolve));
    return end.code === EXIT.interrupted ? EXIT.done : (end.code ?? EXIT.done);
  } finally {
    await server.close({ timeoutMs: DRAIN_MS });
    http?.close();
    await folders.close();
    end.end();
  }
}

/** The token of this machine's servers, made once. Only its owner may read it. */
export function tokenIn(dataFolder: string): string {
  const file = join(dataFolder, "server-token");
  return inDataFolder(dataFolder, () => {
    try {
      const token = readFileSync(file, "utf8").trim();
      chmodSync(file, 0o600);
      if (token.length >= LEAST_TOKEN) return token;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
    const token = randomBytes(32).toString("base64url");
    writeFileSync(file, `${token}\n`, { mode: 0o600 });
    chmodSync(file, 0o600);
    return token;
  });
}

/** The names under which other machines may know an address; of "every address", those of this machine. */
function namesOf(host: string): readonly string[] {
  if (host !== "0.0.0.0" && host !== "::") return [host.includes(":") ? `[${host}]` : host];
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  return [hostname(), ...addresses.map(({ address, family }) => (family === "IPv6" ? `[${address}]` : address))];
}
