// All threads, as a list to choose from: the last changed first, each with its first input.

import { allThreads } from "../all-threads.ts";
import { titleOf } from "../commands/titles.ts";
import { readNote } from "../data/thread-notes.ts";
import type { BelaySetup } from "../setup.ts";
import type { Texts } from "../texts/texts.ts";
import { emptyEditor } from "../view/editor.ts";
import type { Popup, ThreadItem } from "../view/view.ts";

const MOST_THREADS = 50;

async function threadItems({ runner, dataFolder }: BelaySetup, texts: Texts): Promise<readonly ThreadItem[]> {
  const rows = (await allThreads(runner)).filter(({ damaged }) => damaged !== true).slice(0, MOST_THREADS);
  const now = Date.now();
  return Promise.all(
    rows.map(async (row) => {
      const { threadId, updatedAt, state } = row;
      const title = (await titleOf(runner, row)) ?? texts.picker.untitled;
      const folder = readNote(dataFolder, threadId)?.folder.split("/").at(-1) ?? "";
      return { id: threadId, title, detail: [ago(now - updatedAt), state, folder].filter(Boolean).join(" · ") };
    }),
  );
}

function ago(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes}m`;
  return minutes < 1_440 ? `${Math.floor(minutes / 60)}h` : `${Math.floor(minutes / 1_440)}d`;
}

/** All of them to choose from. `must`: there is no thread behind the list. */
export async function threadsPopup(setup: BelaySetup, texts: Texts, must = true): Promise<Popup> {
  return { kind: "threads", items: await threadItems(setup, texts), cursor: 0, query: emptyEditor, must };
}
