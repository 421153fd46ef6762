// A command, in the folder. It runs in a process group of its own: a stop, the end of the call and a time-out end all of it.
// A stop and a time-out also end processes that have left the group; at the end of the call the result names those.

import { StringDecoder } from "node:string_decoder";
import { tool } from "@belay/core";
import { noteCommand } from "../data/running-commands.ts";
import type { Judge } from "../permissions/judge.ts";
import { approvalUnlessAllowed } from "./approval.ts";
import { OutputTail } from "./output-tail.ts";
import { count, object, text } from "./schema.ts";

const TIMEOUT_S = 120;
const MOST_S = 3_600;
/** The interval at which output of a command is passed on. */
const TELL_EVERY_MS = 50;
/** How long a command that has run out of time may take to end. */
const GRACE_MS = 1_000;

interface Command {
  readonly command: string;
  readonly timeoutSeconds?: number;
}

/** `dataFolder`: running commands are recorded there, so that a crash does not lose sight of them. */
export function shellTool(root: string, judge: Judge, dataFolder?: string) {
  return tool({
    name: "shell",
    version: `in ${root}`,
    description: `Runs a command of the shell in the folder and gives what it writes, stdout and stderr together, and its exit code. It gets no input. It ends after ${TIMEOUT_S} seconds unless timeoutSeconds says otherwise, and so does all that it started in the background; a process that leaves its process group (setsid) outlives it, and is named.`,
    input: object<Command>(
      { command: text("As for sh -c.", { minLength: 1, maxLength: 20_000 }) },
      { timeoutSeconds: count("When to end it.", MOST_S) },
    ),
    serial: true,
    needsApproval: (args) =>
      approvalUnlessAllowed(judge, "shell", args, () => ({
        reason: "Run this command?",
        context: { command: args.command, folder: root },
      })),
    async *execute({ command, timeoutSeconds = TIMEOUT_S }, ctx) {
      const tail = new OutputTail();
      // Through one pipe its words keep their order.
      const script = `exec 2>&1; ${command}`;
      const child = ctx.spawn(script, [], { shell: true, cwd: root, env: environment(), input: "" });
      const { threadId, callId } = ctx;
      const forget =
        dataFolder === undefined || child.pid === undefined
          ? () => {}
          : noteCommand(dataFolder, { threadId, callId, command, pid: child.pid });
      let wake = () => {};
      // Pieces may be cut inside a character. Messages of the shell before it joins the pipes come by the other pipe.
      for (const stream of [child.stdout, child.stderr]) {
        const decoder = new StringDecoder("utf8");
        stream.on("data", (chunk: Buffer) => {
          tail.add(decoder.write(chunk));
          wake();
        });
      }
      let ended = false;
      const output = child.output.finally(() => {
        ended = true;
        wake();
      });
      output.catch(() => {});
      // After a stop its last words are not waited for: a process that has left it may hold its pipes.
      const exit = child.exit.finally(() => {
        if (ctx.isInterrupted()) ended = true;
        wake();
      });
      exit.catch(() => {});
      let timedOut = false;
      const timer = setTimeout(() => {
        timedOut = true;
        child.kill("SIGTERM");
        setTimeout(() => child.kill("SIGKILL"), GRACE_MS).unref();
      }, timeoutSeconds * 1_000);
      try {
        while (!ended) {
          await new Promise<void>((resolve) => {
            wake = resolve;
            // Output without a listener waits to be reported.
            if (ended || tail.waits) resolve();
          });
          if (tail.waits) yield { text: tail.take() };
          if (!ended) await pause(TELL_EVERY_MS, ctx.signal);
        }
        if (tail.waits) yield { text: tail.take() };
        const { code, signal } = await (ctx.isInterrupted() ? exit : output);
        // Stopped by a person it has no result of its own, also if it caught the signal: its output is kept.
        if (signal !== null || code !== 0) ctx.checkInterrupt();
        const left = child.strays().map(({ pid, command }) => `[still running: ${pid} ${command}]\n`);
        return tail.all() + left.join("") + ending(code, signal, timedOut ? timeoutSeconds : undefined);
      } finally {
        clearTimeout(timer);
        forget();
      }
    },
  });
}

/** A stop ends it early. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
    if (signal.aborted) done();
  });
}

function ending(code: number | null, signal: string | null, seconds: number | undefined): string {
  if (seconds !== undefined) {
    return `[ended after ${seconds} seconds; give timeoutSeconds for more, or run less at once]`;
  }
  return signal === null ? `[exit code ${code}]` : `[ended by ${signal}]`;
}

/** Without the keys of this program, and without variables that make commands wait at a terminal. */
function environment(): Record<string, string | undefined> {
  const { ANTHROPIC_API_KEY: _, OPENAI_API_KEY: __, BELAY_API_KEY: ___, ...rest } = process.env;
  return { ...rest, TERM: "dumb", PAGER: "cat", GIT_PAGER: "cat", GIT_TERMINAL_PROMPT: "0", BELAY: "1" };
}
