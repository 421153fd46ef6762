// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { parseBlock } from "./read-stream.ts";

test.each([
  ['id: 4\nevent: message\ndata: {"seq":4}', { id: "4", event: "message", data: '{"seq":4}' }],
  ["event: live\ndata: {}", { id: undefined, event: "live", data: "{}" }],
  ["data: a\ndata: b", { id: undefined, event: "message", data: "a\nb" }],
  [": ping", undefined],
  ["retry: 1000", undefined],
])("reads the block %j", (text, block) => {
  expect(parseBlock(text)).toEqual(block);
});
