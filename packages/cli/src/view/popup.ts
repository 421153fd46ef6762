// Lists that lie over everything: earlier messages to rewind to, threads to open, earlier inputs, the keys.

import type { Key } from "../keys/decoder.ts";
import type { Texts } from "../texts/texts.ts";
import { edit, editorOf } from "./editor.ts";
import { slashNames } from "./slash.ts";
import { type HistoryItem, LEFT_CHOICES, type Popup, type Step, still, type ThreadItem, type View } from "./view.ts";

/** A popup without a field: typed text is meant for the part below. */
export function leavesPopup(popup: Popup, key: Key): boolean {
  if (key.name !== "text" && key.name !== "paste") return false;
  return popup.kind === "rewind" || popup.kind === "left" || (popup.kind === "help" && key.text !== "?");
}

export function onPopupKey(view: View, key: Key, texts: Texts): Step {
  const popup = view.popup!;
  switch (popup.kind) {
    case "help": {
      const cursor = moved(popup.cursor, helpEntries(texts).length, key);
      return still({ ...view, popup: cursor === undefined ? undefined : { ...popup, cursor } });
    }
    case "left": {
      const cursor = moved(popup.cursor, LEFT_CHOICES.length, key);
      if (cursor !== undefined) return still({ ...view, popup: { ...popup, cursor } });
      if (key.name !== "enter") return still(view);
      const choice = LEFT_CHOICES[popup.cursor]!;
      return { view: { ...view, popup: undefined }, effects: [{ do: "left", choice }] };
    }
    case "rewind": {
      const cursor = moved(popup.cursor, popup.items.length, key);
      if (cursor !== undefined) return still({ ...view, popup: { ...popup, cursor } });
      const item = popup.items[popup.cursor];
      if (key.name !== "enter" || item === undefined) return still(view);
      return { view: { ...view, popup: undefined }, effects: [{ do: "rewind", item }] };
    }
    case "threads": {
      const found = foundThreads(popup);
      const cursor = moved(popup.cursor, found.length, key);
      if (cursor !== undefined) return still({ ...view, popup: { ...popup, cursor } });
      const item = found[popup.cursor];
      if (key.name === "enter" && item !== undefined) {
        return { view: { ...view, popup: undefined }, effects: [{ do: "open", threadId: item.id }] };
      }
      const query = edit(popup.query, key);
      return still(query === undefined ? view : { ...view, popup: { ...popup, query, cursor: 0 } });
    }
    case "history": {
      const found = foundHistory(popup);
      const cursor = moved(popup.cursor, found.length, key);
      if (cursor !== undefined) return still({ ...view, popup: { ...popup, cursor } });
      const item = found[popup.cursor];
      // As in a shell: the same key looks further back.
      if (key.name === "ctrl-r") {
        return still({
          ...view,
          popup: { ...popup, cursor: Math.min(popup.cursor + 1, Math.max(0, found.length - 1)) },
        });
      }
      if (key.name === "enter" || key.name === "tab") {
        return still(item === undefined ? view : { ...view, popup: undefined, draft: editorOf(item.text) });
      }
      const query = edit(popup.query, key);
      return still(query === undefined ? view : { ...view, popup: { ...popup, query, cursor: 0 } });
    }
    default:
      return popup satisfies never;
  }
}

/** The keys, then the commands. */
export function helpEntries({ help, slash }: Texts): readonly (readonly [string, string])[] {
  return [...help.keys, ...slashNames.map((name) => [`/${name}`, slash.does[name]] as const)];
}

function moved(cursor: number, length: number, key: Key): number | undefined {
  const by = { up: -1, "ctrl-p": -1, down: 1, "ctrl-n": 1, "page-up": -10, "page-down": 10 }[key.name];
  if (by === undefined) return undefined;
  return Math.max(0, Math.min(length - 1, cursor + by));
}

/** Those that have every word that was typed. */
export function foundThreads({ items, query }: Extract<Popup, { kind: "threads" }>): readonly ThreadItem[] {
  return items.filter(({ id, title, detail }) => hasWords(`${id} ${title} ${detail}`, query.text));
}

export function foundHistory({ items, query }: Extract<Popup, { kind: "history" }>): readonly HistoryItem[] {
  return items.filter(({ text }) => hasWords(text, query.text));
}

function hasWords(text: string, query: string): boolean {
  const within = text.toLowerCase();
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => within.includes(word));
}
