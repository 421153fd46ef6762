import { emptyThread } from "@belay/client";
import type { Interrupt } from "@belay/core";
import fc from "fast-check";
import { expect, test } from "vitest";
import { width } from "../terminal/width.ts";
import { en } from "../texts/en.ts";
import { zh } from "../texts/zh.ts";
import { openDialog } from "../view/dialog.ts";
import { editorOf } from "../view/editor.ts";
import { firstView, type View } from "../view/view.ts";
import { liveRows } from "./live-rows.ts";

const diff = Array.from({ length: 60 }, (_, at) => `+line ${at} of what would be written`).join("\n");
const around = {
  texts: en,
  modelName: "anthropic/claude-sonnet-4-5",
  previewOf: () => ({ kind: "diff" as const, path: "a.txt", diff }),
};
const request = (id: string, more: object = {}) =>
  ({
    id,
    kind: "approval",
    tool: "write",
    args: { path: id },
    reason: `Create ${id}?`,
    raisedAt: 0,
    by: "a",
    address: "a",
    ...more,
  }) as Interrupt;
const first = firstView({ columns: 80, rows: 24 }, 1_000);
const textOf = (view: View, texts = en) =>
  liveRows(view, { ...around, texts }).rows.map((row) => row.map(({ text }) => text).join(""));

test("any view leaves one row of the screen free, no row is too wide, and the cursor is in one of them", () => {
  const words = fc.string({ unit: "grapheme", maxLength: 300 });
  const views = fc.record({
    columns: fc.integer({ min: 20, max: 120 }),
    rows: fc.integer({ min: 12, max: 50 }),
    draft: words,
    line: words,
    calls: fc.array(words, { maxLength: 8 }),
    mail: fc.array(words, { maxLength: 8 }),
    requests: fc.nat(6),
    running: fc.boolean(),
    popup: fc.constantFrom(undefined, { kind: "help" as const, cursor: 0 }, { kind: "help" as const, cursor: 9 }),
    chinese: fc.boolean(),
  });
  fc.assert(
    fc.property(views, ({ columns, rows, draft, line, calls, mail, requests, running, popup, chinese }) => {
      const view = openDialog({
        ...first,
        columns,
        rows,
        popup,
        draft: editorOf(draft.replaceAll("\r", "")),
        state: running ? "running" : "paused",
        stream: { messageId: "m", attempt: 1, length: 0, line, from: {}, begun: false },
        thread: {
          ...emptyThread,
          draft: {
            ...emptyThread.draft,
            progress: calls.map((text, at) => ({
              callId: `${at}`,
              tool: "shell",
              address: "",
              data: [{ text: `${text}\n${text}` }],
            })),
          },
        },
        calls: calls.map((label, at) => ({
          id: `${at}`,
          tool: "shell",
          label,
          startedAt: 0,
        })),
        mail: mail.map((text, at) => ({ id: `${at}`, kind: at % 2 === 0 ? "steer" : "queue", text })),
        requests: Array.from({ length: requests }, (_, at) => request(`file-${at}.txt`)),
      });
      const live = liveRows(view, { ...around, texts: chinese ? zh : en });
      expect(live.rows.length).toBeLessThan(rows);
      for (const row of live.rows) {
        const text = row.map((span) => span.text).join("");
        expect(width(text), text).toBeLessThanOrEqual(columns);
        expect(text).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
      }
      if (live.cursor === undefined) return;
      expect(live.cursor.y).toBeLessThan(live.rows.length);
      expect(live.cursor.x).toBeLessThanOrEqual(columns);
    }),
    { numRuns: 400 },
  );
});

test("however small the terminal, the person sees the request, a part of it, and the answer that Enter gives", () => {
  for (const rows of [6, 8, 10, 12, 16, 24]) {
    const asked = {
      ...first,
      rows,
      columns: 40,
      state: "paused" as const,
      requests: ["a", "b", "c"].map((id) => request(id)),
    };
    const { dialog, ...view } = openDialog(asked);
    for (const [cursor, answer] of ["❯ y", "❯ s", "❯ e", "❯ n"].entries()) {
      const lines = textOf({ ...view, dialog: { ...dialog!, cursor } });
      expect(lines.length).toBeLessThan(rows);
      expect(lines.filter((line) => line.startsWith("╭─ Create a? ─"))).toHaveLength(1);
      expect(lines.some((line) => /^│ ( *\d+ \+line|\d+–\d+ of )/.test(line))).toBe(true);
      expect(lines.some((line) => line.startsWith(`│ ${answer}`))).toBe(true);
    }
  }
});

test("a deadline shows the time that is left, and the default outcome", () => {
  const expires = (more: object) =>
    openDialog({ ...first, state: "paused", requests: [request("a", { expiresAt: 91_000, ...more })] });
  expect(textOf(expires({})).join("\n")).toContain("⏱ 1 min 30 s left, then it is rejected");
  expect(textOf(expires({ onExpire: "approve" })).join("\n")).toContain("then it is approved");
});

test("the status is true: state, time and what ESC does at the left, model and context at the right while there is room", () => {
  const running: View = {
    ...first,
    state: "running",
    startedAt: 0,
    now: 75_000,
    contextTokens: 12_345,
    contextMost: 150_000,
  };
  expect(textOf(running).at(-1)).toMatch(
    /^\S ask · thinking · 1 min 15 s · esc to stop {2,}claude-sonnet-4-5 · 8 % context$/,
  );
  expect(textOf({ ...running, columns: 60 }).at(-1)).toMatch(/esc to stop {2,}8 % context$/);
  expect(textOf({ ...running, stopping: 1 }).at(-1)).toMatch(/ask · stopping… · 1 min 15 s · esc again to force/);
  expect(textOf({ ...running, stopping: 2 }).at(-1)).toMatch(/forcing the stop…/);
  expect(textOf({ ...first, state: "paused", pauseType: "user_interrupt" }).at(-1)).toContain(
    "stopped · ⏎ to continue",
  );
  expect(textOf({ ...first, state: "paused", pauseType: "crash" }).at(-1)).toContain("cut off by a crash");
  expect(textOf({ ...running, columns: 40 }).at(-1)).toContain("esc to stop");
  // Y10: the words of the screen after a stop.
  expect(textOf({ ...first, state: "paused", pauseType: "user_interrupt" }, zh).at(-1)).toContain("执行已暂停");
});
