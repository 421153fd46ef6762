// belay delete: threads that are to be gone, with all of their past. A person sees which, and says yes, unless that was said
// before.

import { createInterface } from "node:readline";
import { allThreads } from "../all-threads.ts";
import { forgetThread } from "../data/thread-notes.ts";
import { EXIT } from "../headless/exit-codes.ts";
import { errorLines } from "../headless/run-headless.ts";
import { writeJson } from "../headless/write-json.ts";
import { problem } from "../problem.ts";
import type { CommandIo, CommandOptions } from "./command.ts";
import { openDesk } from "./desk.ts";
import { findId } from "./find.ts";
import { describeThreads, threadTable } from "./threads.ts";

export interface DeleteCommand extends CommandOptions {
  readonly threads: readonly string[];
  readonly yes?: boolean;
}

export async function deleteThreads(options: DeleteCommand, io: CommandIo): Promise<number> {
  const desk = await openDesk(options);
  try {
    const rows = await allThreads(desk.runner);
    const ids = rows.map(({ threadId }) => threadId);
    // All of them are known before one is gone.
    const chosen = new Set(options.threads.map((given) => findId("thread", ids, given)));
    if (options.yes !== true) {
      if (!process.stdin.isTTY) throw problem("DELETE_UNCONFIRMED", {});
      const shown = await describeThreads(
        desk,
        rows.filter(({ threadId }) => chosen.has(threadId)),
      );
      io.stderr.write(`${threadTable(shown, io)}${io.texts.commands.deletes(chosen.size)}`);
      if (!(await saysYes())) {
        io.stderr.write(`${io.texts.commands.deletedNone}\n`);
        return EXIT.failed;
      }
    }
    let left = 0;
    for (const id of chosen) {
      try {
        await desk.runner.delete(id);
        forgetThread(desk.dataFolder, id);
        io.stdout.write(`${options.json ? writeJson({ id, deleted: true }) : io.texts.commands.deleted(id)}\n`);
      } catch (error) {
        // A thread that a process runs stays; the others are deleted.
        left += 1;
        io.stderr.write(`${errorLines(error, io.texts)}\n`);
      }
    }
    return left === 0 ? EXIT.done : EXIT.failed;
  } finally {
    await desk.close();
  }
}

/** Only a plain yes is a yes; the end of the input is none. */
async function saysYes(): Promise<boolean> {
  for await (const line of createInterface({ input: process.stdin })) return /^(?:yes|y)$/i.test(line.trim());
  return false;
}
