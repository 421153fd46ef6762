// belay threads: what there is to go on with.

import { readNote } from "../data/thread-notes.ts";
import { EXIT } from "../headless/exit-codes.ts";
import { writeJson } from "../headless/write-json.ts";
import type { CommandIo, CommandOptions } from "./command.ts";
import { openDesk } from "./desk.ts";
import { ago, table } from "./table.ts";
import { titleOf } from "./titles.ts";

export interface ThreadsOptions extends CommandOptions {
  /** Only those of this folder. */
  readonly folder?: string;
  readonly limit: number;
}

export async function threads(options: ThreadsOptions, io: CommandIo): Promise<number> {
  const desk = await openDesk(options);
  try {
    const all = (await desk.runner.threads()).map((row) => ({
      row,
      folder: readNote(desk.dataFolder, row.threadId)?.folder,
    }));
    const here = all.filter(({ folder }) => options.folder === undefined || folder === options.folder);
    const shown = await Promise.all(
      here.slice(0, options.limit).map(async ({ row, folder }) => ({
        id: row.threadId,
        state: row.damaged ? "damaged" : row.state === "running" && row.lease === undefined ? "crashed" : row.state,
        updatedAt: row.updatedAt,
        folder: folder ?? null,
        title: row.damaged ? null : ((await titleOf(desk.runner, row.threadId, row.head)) ?? null),
        ...(row.parent && { forkOf: row.parent.threadId }),
      })),
    );
    if (options.json) {
      for (const each of shown) io.stdout.write(`${writeJson(each)}\n`);
      return EXIT.done;
    }
    const now = Date.now();
    const { commands, log, picker } = io.texts;
    if (shown.length === 0) io.stderr.write(`${picker.threadsNone}\n`);
    const rows = shown.map(({ id, state, updatedAt, folder, title }) => [
      id,
      log.word(state),
      ago(updatedAt, now),
      folder ?? "",
      title ?? picker.untitled,
    ]);
    io.stdout.write(table(rows, io.columns));
    const left = here.length - shown.length;
    if (left > 0) io.stderr.write(`${commands.moreThreads(left)}\n`);
    return EXIT.done;
  } finally {
    await desk.close();
  }
}
