// Under the prompt, while a command is typed: the commands that begin like it.

import { fit, type Row, width } from "../terminal/width.ts";
import type { Texts } from "../texts/texts.ts";
import { paletteOf } from "../view/slash.ts";
import type { View } from "../view/view.ts";

const MOST = 8;

export function paletteRows(view: View, columns: number, room: number, { slash }: Texts): Row[] {
  const names = paletteOf(view);
  const most = Math.max(0, Math.min(MOST, room));
  if (names.length === 0 || most === 0) return [];
  const cursor = Math.min(view.slashAt, names.length - 1);
  const from = Math.max(0, Math.min(cursor - most + 1, names.length - most));
  const longest = Math.max(...names.map((name) => width(name)));
  return names.slice(from, from + most).map((name, at): Row => {
    const here = from + at === cursor;
    return [
      { text: here ? "❯ " : "  ", style: "chosen" },
      { text: `/${name}${" ".repeat(longest - width(name))}`, style: here ? "chosen" : "soft" },
      { text: fit(`  ${slash.does[name]}`, columns - longest - 3), style: "dim" },
    ];
  });
}
