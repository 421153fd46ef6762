import { Writable } from "node:stream";
import type { WriteStream } from "node:tty";
import xterm from "@xterm/headless";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { en } from "../texts/en.ts";
import { update } from "../view/update.ts";
import { firstView, type Happening, type View } from "../view/view.ts";
import { InkScreen } from "./screen.tsx";

// Time stands still: a second drawing in the same moment is written a moment later.
beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }));
afterEach(() => void vi.useRealTimers());

const size = { columns: 60, rows: 20 };

/** Returns the screen of a terminal after all writes. */
function emulated() {
  const terminal = new xterm.Terminal({
    cols: size.columns,
    rows: size.rows,
    allowProposedApi: true,
    convertEol: true,
  });
  let parsed = Promise.resolve();
  const stdout = new Writable({
    write(chunk, _, done) {
      parsed = new Promise((resolve) => terminal.write(chunk, resolve));
      done();
    },
  });
  const rows = async () => {
    await parsed;
    const { active } = terminal.buffer;
    const all = Array.from({ length: active.length }, (_, at) => active.getLine(at)?.translateToString(true) ?? "");
    return all.slice(0, active.baseY + active.cursorY + 1);
  };
  return { stdout: Object.assign(stdout, { ...size, isTTY: true }) as unknown as WriteStream, rows };
}

test("D40: closed right after a drawing, it leaves the transcript, and no live row; the rows above stay untouched", async () => {
  const { stdout, rows } = emulated();
  stdout.write("$ belay\n");
  const take = (view: View, ...happenings: Happening[]) =>
    happenings.reduce((last, happening) => update(last, happening, en).view, view);
  const note: Happening = { type: "note", text: "This was said.", tone: "dim" };
  const first = take(firstView(size, 0), note);
  const around = { texts: en, previewOf: () => undefined, modelName: "test" };
  const screen = new InkScreen(stdout, first, around, { theme: "dark", depth: "256" });
  screen.draw(first);
  const list: Happening = { type: "popup", popup: { kind: "help", cursor: 0 } };
  for (const view of [take(first, list), first, take(first, { type: "ending" })]) screen.draw(view);
  screen.close(take(first, { type: "ending" }));
  vi.advanceTimersByTime(50);
  vi.useRealTimers();
  expect(await rows()).toEqual(["$ belay", "  This was said.", ""]);
});
