// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { mergeList } from "./merge-list.ts";
import type { ThreadRow } from "./shapes.ts";

const rows = (...ids: string[]) => ids.map((threadId) => ({ threadId }) as ThreadRow);
const list = (...pages: string[][]) => ({
  pages: pages.map((ids, at) => ({ items: rows(...ids), ...(at < pages.length - 1 && { next: `p${at + 1}` }) })),
  pageParams: pages.map((_, at) => (at === 0 ? undefined : `p${at}`)),
});
const ids = (merged: ReturnType<typeof mergeList>) =>
  merged.pages.map(({ items }) => items.map(({ threadId }) => threadId));

test("a thread that changed moves to the top, and is in the list once", () => {
  const merged = mergeList(list(["a", "b"], ["c", "d"]), { items: rows("d", "a"), next: "n" }, new Set(["d"]));
  expect(ids(merged)).toEqual([["d", "a", "b"], ["c"]]);
  expect(merged.pages.map(({ next }) => next)).toEqual(["p1", undefined]);
});

test("a thread that matches the filter no more leaves the list", () => {
  const merged = mergeList(list(["a", "b"], ["c", "d"]), { items: rows("a", "b"), next: "n" }, new Set(["c"]));
  expect(ids(merged)).toEqual([["a", "b"], ["d"]]);
});

test("one page that is all there is replaces every other", () => {
  expect(ids(mergeList(list(["a", "b"], ["c"]), { items: rows("c") }, new Set(["a"])))).toEqual([["c"]]);
});

test("more changes than a page holds begin the list anew, so that none between is missing", () => {
  const merged = mergeList(list(["a"], ["b"]), { items: rows("x", "y"), next: "n" }, new Set(["x", "y", "z"]));
  expect(ids(merged)).toEqual([["x", "y"]]);
  expect(merged.pages[0]?.next).toBe("n");
});
