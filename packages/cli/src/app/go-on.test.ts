import type { Message } from "@belay/core";
import { expect, test } from "vitest";
import { isSaid } from "./go-on.ts";

const says = (text: string, origin: Message["origin"] = "person"): Message => ({
  id: text,
  role: origin === "model" ? "assistant" : "user",
  parts: [{ type: "text", text }],
  at: 0,
  origin,
});

test("input is recorded if a message of a person has its text, alone or joined with others; messages of other senders do not count", () => {
  const messages = [says("begin"), says("go on", "model"), says("one"), says("two\nlines")];
  expect(isSaid(messages, "one")).toBe(true);
  expect(isSaid(messages, "one\ntwo\nlines")).toBe(true);
  expect(isSaid(messages, "go on")).toBe(false);
  expect(isSaid(messages, "on")).toBe(false);
  expect(isSaid([], "one")).toBe(false);
});
