// belay threads: the threads that can be continued.

import type { Runner } from "@belay/core";
import { allThreads } from "../all-threads.ts";
import { readNote } from "../data/thread-notes.ts";
import { EXIT } from "../headless/exit-codes.ts";
import { writeJson } from "../headless/write-json.ts";
import type { CommandIo, CommandOptions } from "./command.ts";
import { type Desk, openDesk } from "./desk.ts";
import { ago, table } from "./table.ts";
import { titleOf } from "./titles.ts";

type ThreadRow = Awaited<ReturnType<Runner["threads"]>>["items"][number];

export interface ThreadsOptions extends CommandOptions {
  /** Only those of this folder. */
  readonly folder?: string;
  readonly limit: number;
}

export async function threads(options: ThreadsOptions, io: CommandIo): Promise<number> {
  const desk = await openDesk(options);
  try {
    const all = (await allThreads(desk.runner)).map((row) => ({
      row,
      folder: readNote(desk.dataFolder, row.threadId)?.folder,
    }));
    const here = all.filter(({ folder }) => options.folder === undefined || folder === options.folder);
    const shown = await describeThreads(
      desk,
      here.slice(0, options.limit).map(({ row }) => row),
    );
    if (options.json) {
      for (const each of shown) io.stdout.write(`${writeJson(each)}\n`);
      return EXIT.done;
    }
    const { commands, picker } = io.texts;
    if (shown.length === 0) io.stderr.write(`${picker.threadsNone}\n`);
    io.stdout.write(threadTable(shown, io));
    const left = here.length - shown.length;
    if (left > 0) io.stderr.write(`${commands.moreThreads(left)}\n`);
    return EXIT.done;
  } finally {
    await desk.close();
  }
}

export interface ThreadLine {
  readonly id: string;
  readonly state: string;
  readonly updatedAt: number;
  readonly folder: string | null;
  readonly title: string | null;
  readonly forkOf?: string;
}

export function describeThreads(desk: Desk, rows: readonly ThreadRow[]): Promise<ThreadLine[]> {
  return Promise.all(
    rows.map(async (row) => ({
      id: row.threadId,
      state: row.damaged ? "damaged" : row.pauseType === "crash" ? "crashed" : row.state,
      updatedAt: row.updatedAt,
      folder: readNote(desk.dataFolder, row.threadId)?.folder ?? null,
      title: row.damaged ? null : ((await titleOf(desk.runner, row)) ?? null),
      ...(row.parent && { forkOf: row.parent.threadId }),
    })),
  );
}

export function threadTable(lines: readonly ThreadLine[], { columns, texts }: CommandIo): string {
  const now = Date.now();
  const rows = lines.map(({ id, state, updatedAt, folder, title }) => [
    id,
    texts.log.word(state),
    ago(updatedAt, now),
    folder ?? "",
    title ?? texts.picker.untitled,
  ]);
  return table(rows, columns);
}
