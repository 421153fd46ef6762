// Regular expressions of a model, matched in a thread that can be stopped. An endless one would block this process, and ESC
// with it; so they are matched in a thread of their own, which is ended when it takes too long.

import { Worker } from "node:worker_threads";
import { problem } from "../problem.ts";

export interface LineMatch {
  readonly line: number;
  readonly text: string;
}

/** Runs in the thread; it gets a text and gives the lines that match. */
const SOURCE = `
const { parentPort, workerData } = require("node:worker_threads");
const pattern = new RegExp(workerData.pattern, workerData.flags);
parentPort.on("message", ({ text, most }) => {
  const matches = [];
  const lines = text.split("\\n");
  for (let at = 0; at < lines.length && matches.length < most; at++) {
    if (pattern.test(lines[at])) matches.push({ line: at + 1, text: lines[at].slice(0, 300) });
  }
  parentPort.postMessage(matches);
});
`;

export class Matcher {
  readonly #pattern: string;
  readonly #worker: Worker;
  readonly #signal: AbortSignal;
  readonly #timeoutMs: number;
  #told: (matches: LineMatch[] | Error) => void = () => {};

  constructor(pattern: string, flags: string, signal: AbortSignal, timeoutMs = 3_000) {
    try {
      new RegExp(pattern, flags);
    } catch (error) {
      throw problem("PATTERN_INVALID", { pattern, reason: (error as Error).message }, error);
    }
    this.#pattern = pattern;
    this.#signal = signal;
    this.#timeoutMs = timeoutMs;
    this.#worker = new Worker(SOURCE, { eval: true, workerData: { pattern, flags } });
    this.#worker.on("message", (matches: LineMatch[]) => this.#told(matches));
    this.#worker.on("error", (error) => this.#told(error as Error));
  }

  /** One text at a time. */
  match(path: string, text: string, most: number): Promise<LineMatch[]> {
    return new Promise((resolve, reject) => {
      const settle = (end: () => void) => {
        clearTimeout(timer);
        this.#signal.removeEventListener("abort", stop);
        this.#told = () => {};
        end();
      };
      const stop = () => settle(() => reject(this.#signal.reason));
      const late = () => settle(() => reject(problem("PATTERN_SLOW", { pattern: this.#pattern, path })));
      const timer = setTimeout(late, this.#timeoutMs);
      if (this.#signal.aborted) return stop();
      this.#signal.addEventListener("abort", stop, { once: true });
      this.#told = (matches) => settle(() => (matches instanceof Error ? reject(matches) : resolve(matches)));
      this.#worker.postMessage({ text, most });
    });
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}
