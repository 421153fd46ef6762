// Stands for the package of that name when the program is bundled: that one takes a tenth of a second to get ready for every
// emoji there is, and two opinions on how wide a row is would be one too many.

import { width } from "../terminal/width.ts";

const ESC = "\u001b";
const sequences = new RegExp(`${ESC}\\[[0-9;:?]*[a-zA-Z]`, "g");

export default function stringWidth(text: string): number {
  return width(text.includes(ESC) ? text.replace(sequences, "") : text);
}
