// What stays, and below it a few live rows (a status, the line being typed) that are painted over. No alternate screen:
// what was said remains in the terminal's own scroll-back.
import { chop, width, wrap } from "./text.mjs";

const CSI = "\u001b[";
const styles = { plain: "", dim: "2", bold: "1", red: "31", green: "32", yellow: "33", cyan: "36" };

export class Screen {
  #out;
  #color;
  /** The row of text that may still grow. */
  #tail = "";
  /** `{ text, style }` each; the last may have a cursor. */
  #live = [];
  #painted = [];
  #cursorRow = 0;
  #closed = false;

  constructor(out, { color }) {
    this.#out = out;
    this.#color = color;
  }

  get columns() {
    return Math.max(2, (this.#out.columns || 80) - 1);
  }

  get rows() {
    return this.#out.rows || 24;
  }

  /** Text that goes on where the last one ended. */
  write(text) {
    const lines = (this.#tail + text).split("\n");
    const rows = lines.map((line) => wrap(line, this.columns));
    const last = rows.pop();
    this.#tail = last.pop();
    this.#paint([...rows.flat(), ...last].map((row) => ({ text: row, style: "plain" })));
  }

  /** A line of its own; ends the text before it. */
  line(text, style = "plain") {
    this.#paint([...this.#takeTail(), ...wrap(text, this.columns).map((row) => ({ text: row, style }))]);
  }

  endText() {
    this.#paint(this.#takeTail());
  }

  /**
   * The live rows: lines of one row each, and below them what is being typed, with the cursor in it.
   * @param {{ text: string, style?: string }[]} lines
   * @param {{ prompt: string, before: string, text: string }} [input]
   */
  live(lines, input) {
    this.#live = lines.map(({ text, style = "plain" }) => ({ text: chop(text, this.columns)[0], style }));
    if (input !== undefined) this.#live.push(...this.#inputRows(input));
    this.#paint([]);
  }

  /** Leaves the cursor below everything, with nothing live; after that nothing is drawn any more. */
  close() {
    this.#live = [];
    this.#paint(this.#takeTail());
    this.#closed = true;
  }

  #inputRows({ prompt, before, text }) {
    const rows = chop(prompt + text, this.columns).map((row) => ({ text: row, style: "plain" }));
    const until = chop(prompt + before, this.columns);
    const at = until.length - 1;
    rows[at].cursor = width(until[at]);
    // Of a long line the rows around the cursor are shown.
    const most = Math.max(1, Math.min(6, this.rows - 4));
    const from = Math.max(0, Math.min(at - most + 1, rows.length - most));
    return rows.slice(from, from + most);
  }

  #takeTail() {
    const tail = this.#tail;
    this.#tail = "";
    return tail === "" ? [] : [{ text: tail, style: "plain" }];
  }

  #paint(kept) {
    if (this.#closed) return;
    const rows = [...(this.#tail === "" ? [] : [{ text: this.#tail, style: "plain" }]), ...this.#live];
    let out = this.#erasing();
    for (const row of kept) out += `${this.#styled(row)}\r\n`;
    out += rows.map((row) => this.#styled(row)).join("\r\n");
    const last = rows.length - 1;
    const at = rows.findIndex((row) => row.cursor !== undefined);
    if (at >= 0 && at < last) out += `${CSI}${last - at}A`;
    if (at >= 0) out += `\r${rows[at].cursor > 0 ? `${CSI}${rows[at].cursor}C` : ""}`;
    out += `${CSI}?25${at >= 0 || rows.length === 0 ? "h" : "l"}`;
    this.#painted = rows;
    this.#cursorRow = at >= 0 ? at : Math.max(0, last);
    this.#out.write(out);
  }

  /** Back to the first live row. A terminal that became narrower has broken the rows above the cursor into more. */
  #erasing() {
    const columns = this.#out.columns || 80;
    let up = 0;
    for (const [index, { text, cursor }] of this.#painted.entries()) {
      if (index > this.#cursorRow) break;
      const taken = Math.max(1, Math.ceil(width(text) / columns));
      if (index < this.#cursorRow) up += taken;
      else up += Math.max(0, Math.ceil((cursor ?? width(text)) / columns) - 1);
    }
    return `\r${up > 0 ? `${CSI}${up}A` : ""}${CSI}J`;
  }

  #styled({ text, style }) {
    const code = styles[style];
    return this.#color && code !== "" ? `${CSI}${code}m${text}${CSI}0m` : text;
  }
}
