// A list over everything, as rows.

import { sanitizeLine } from "../terminal/sanitize.ts";
import { fit, type Row, width, wrap } from "../terminal/width.ts";
import type { Texts } from "../texts/texts.ts";
import { foundHistory, foundThreads, helpEntries } from "../view/popup.ts";
import { LEFT_CHOICES, type Popup } from "../view/view.ts";

interface Drawn {
  readonly rows: readonly Row[];
  readonly cursor?: { readonly x: number; readonly y: number };
}

export function popupRows(popup: Popup, columns: number, room: number, texts: Texts): Drawn {
  switch (popup.kind) {
    case "help": {
      const all = helpEntries(texts);
      const longest = Math.max(...all.map(([key]) => width(key)));
      const entries = all.map(([key, does]) =>
        wrap([{ text: `  ${key.padEnd(longest)}  `, style: "accent" }, { text: does }], columns, longest + 4),
      );
      const rows = entries.flat();
      const shown = Math.max(1, room - 2);
      const from = Math.max(0, Math.min(entries.slice(0, popup.cursor).flat().length, rows.length - shown));
      const title: Row = [{ text: texts.help.title, style: "heading" }];
      const close = dimmed(fit(rows.length > shown ? `↑↓ · ${texts.help.close}` : texts.help.close, columns));
      return { rows: [title, ...rows.slice(from, from + shown), close].slice(0, room) };
    }
    case "left": {
      const lines = popup.commands.split("\n");
      const most = Math.max(1, room - LEFT_CHOICES.length - 2);
      const told = lines.slice(0, most).map((line): Row => [{ text: fit(`  ${line}`, columns), style: "stop" }]);
      const list = listRows(
        LEFT_CHOICES.map((choice) => texts.left.choices[choice]),
        popup.cursor,
        columns,
        Math.max(1, Math.min(LEFT_CHOICES.length, room - told.length - 1)),
      );
      const title: Row = [{ text: fit(texts.left.question, columns), style: "ask" }];
      return { rows: [title, ...told, ...list, dimmed(fit(texts.left.keys, columns))].slice(0, room) };
    }
    case "rewind": {
      const item = popup.items[popup.cursor];
      const effects = item === undefined || item.calls.length === 0 ? [] : item.calls.slice(-5);
      const told: Row[] = [
        dimmed(effects.length === 0 ? texts.picker.noEffects : texts.picker.effects(item!.calls.length)),
        ...effects.map((call): Row => [{ text: fit(`  · ${sanitizeLine(call, 200)}`, columns), style: "stop" }]),
      ];
      const labels = popup.items.map(({ text }) => sanitizeLine(text, 200));
      const list = listRows(labels, popup.cursor, columns, Math.max(1, room - told.length - 2));
      const title: Row = [{ text: texts.picker.rewind, style: "heading" }];
      return { rows: [title, ...list, ...told, dimmed(fit(texts.picker.rewindKeys, columns))] };
    }
    case "threads": {
      const found = foundThreads(popup).map(({ title, detail }) => ({
        text: sanitizeLine(title, 200) || texts.picker.untitled,
        detail,
      }));
      const { threads, threadsNone, threadsKeys } = texts.picker;
      return searchRows(popup, found, { title: threads, none: threadsNone, keys: threadsKeys }, columns, room);
    }
    case "history": {
      const { history, historyNone, historyKeys } = texts.picker;
      const words = { title: history, none: historyNone, keys: historyKeys };
      return searchRows(popup, foundHistory(popup), words, columns, room);
    }
    default:
      return popup satisfies never;
  }
}

/** Returns a list that the typed text filters: a title with the query, the rows, the keys. */
function searchRows(
  { cursor, query }: Extract<Popup, { query: unknown }>,
  found: readonly { readonly text: string; readonly detail: string }[],
  words: { readonly title: string; readonly none: string; readonly keys: string },
  columns: number,
  room: number,
): Drawn {
  const labels = found.map(({ text, detail }) => {
    const side = `  ${sanitizeLine(detail, 60)}`;
    const most = Math.max(8, columns - 2 - width(side));
    const label = fit(sanitizeLine(text, 400), most);
    return `${label}${" ".repeat(Math.max(0, most - width(label)))}${side}`;
  });
  const list = found.length === 0 ? [dimmed(words.none)] : listRows(labels, cursor, columns, Math.max(1, room - 3));
  const lead = `${words.title} › `;
  return {
    rows: [[{ text: lead, style: "heading" }, { text: query.text }], ...list, dimmed(fit(words.keys, columns))],
    cursor: { x: Math.min(columns, width(lead) + width(query.text.slice(0, query.cursor))), y: 0 },
  };
}

/** The rows around the chosen one. */
function listRows(labels: readonly string[], cursor: number, columns: number, room: number): Row[] {
  const from = Math.max(0, Math.min(cursor - Math.floor(room / 2), labels.length - room));
  return labels.slice(from, from + room).map((label, index): Row => {
    const here = from + index === cursor;
    return [{ text: fit(`${here ? "❯" : " "} ${label}`, columns), ...(here && { style: "chosen" }) }];
  });
}

function dimmed(text: string): Row {
  return [{ text, style: "dim" }];
}
