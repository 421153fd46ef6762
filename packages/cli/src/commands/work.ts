// belay work: moves the threads of this machine, each in its folder, and serves nothing. Beside `belay serve --work 0` it makes
// pages and work two processes.

import { EXIT } from "../headless/exit-codes.ts";
import { toldToEnd } from "../headless/told-to-end.ts";
import { peopleWords } from "../problem.ts";
import type { SetupOptions } from "../setup.ts";
import type { CommandIo, CommandOptions } from "./command.ts";
import { folderRunner } from "./folder-runner.ts";

export interface WorkOptions extends CommandOptions, SetupOptions {
  /** The number of threads that it moves at once in each folder. */
  readonly concurrency: number;
}

const DRAIN_MS = 10_000;

export async function work({ concurrency, ...options }: WorkOptions, io: CommandIo): Promise<number> {
  const end = toldToEnd(process, ["SIGINT", "SIGTERM", "SIGHUP"]);
  const onTrouble = (error: unknown) => void io.stderr.write(`${peopleWords(error, io.texts).join(" ")}\n`);
  const folders = await folderRunner({ ...options, unattended: false, onTrouble });
  try {
    const working = folders.runner.work({ concurrency, signal: end.signal });
    io.stdout.write(`${io.texts.commands.working(concurrency)}\n`);
    if (!end.signal.aborted) await new Promise((resolve) => end.signal.addEventListener("abort", resolve));
    await Promise.all([working, folders.runner.drain({ timeoutMs: DRAIN_MS })]);
    return end.code === EXIT.interrupted ? EXIT.done : (end.code ?? EXIT.done);
  } finally {
    await folders.close();
    end.end();
  }
}
