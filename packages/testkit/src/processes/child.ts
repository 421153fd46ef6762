// A process under test, seen from the test: its output line by line, and the signals to send it.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

export interface Child {
  readonly pid: number;
  /** Everything it has said. */
  readonly lines: readonly string[];
  /** The first line, said or to come, that begins like this; rejects when the process ends without it. */
  said(beginning: string): Promise<string>;
  /** Writes a line to its stdin. */
  tell(line: string): void;
  signal(name: NodeJS.Signals): void;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
}

const MOST_MS = 100_000;
/** Node 22 says of its own SQLite that it is experimental; among the lines of a process that would pass for its words. */
const QUIET = "--disable-warning=ExperimentalWarning";

/** It is killed after `mostMs` in any case. */
export function startChild(bundle: string, program: string, options: object, mostMs = MOST_MS): Child {
  const child = spawn(process.execPath, [QUIET, bundle, program, JSON.stringify(options)], {
    stdio: ["pipe", "pipe", "pipe"],
    timeout: mostMs,
    killSignal: "SIGKILL",
  });
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  const wake = () => {
    for (const look of [...waiting]) look();
  };
  child.stdin.on("error", () => {});
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line);
    wake();
  });
  createInterface({ input: child.stderr }).on("line", (line) => lines.push(`stderr: ${line}`));
  let ended = false;
  const exited: Child["exited"] = new Promise((resolve) => {
    child.on("close", (code, signal) => {
      ended = true;
      wake();
      resolve({ code, signal });
    });
  });
  return {
    pid: child.pid!,
    lines,
    exited,
    tell: (line) => void child.stdin.write(`${line}\n`),
    signal: (name) => void child.kill(name),
    said: (beginning) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = lines.find((line) => line.startsWith(beginning));
          if (found === undefined && !ended) return;
          waiting.delete(look);
          if (found !== undefined) resolve(found);
          else reject(new Error(`It never said ${beginning}, but: ${lines.join(" · ")}`));
        };
        waiting.add(look);
        look();
      }),
  };
}

/** Does `work` for each item, a few at a time: the results in order. */
export async function inParallel<T, R>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const index = next++;
      results[index] = await work(items[index]!);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}
