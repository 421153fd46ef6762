// The blocks that the feed of a thread writes to its stream: their order, and which of them are sent at once.

import type { BelayEvent } from "@belay/core";
import { expect, test } from "vitest";
import type { Call, Outlet } from "../http/route.ts";
import type { Role } from "../login/login.ts";
import { type FeedOptions, threadFeed } from "./thread-feed.ts";

const place = { at: 5, threadId: "t", runId: "r", segment: 1, attempt: 1, agentName: "a", runPath: "a" };
const said = (offset: number, text: string, seq: number) =>
  ({ ...place, type: "text-delta", messageId: "m", offset, text, seq }) as BelayEvent;
const events = [
  { ...place, type: "state", state: "initialized", seq: 1 },
  { ...place, type: "run-start", seq: 2 },
  { ...place, type: "state", state: "running", seq: 3 },
  said(0, "A ", 3),
  said(2, "rope.", 3),
  {
    ...place,
    type: "message",
    message: { id: "m", role: "assistant", parts: [{ type: "text", text: "A rope." }] },
    seq: 4,
  },
  { ...place, type: "state", state: "completed", seq: 5 },
] as unknown as readonly BelayEvent[];

/** Returns what is written: the types of blocks, the texts of pieces, and `flush`. */
async function written(
  options: Partial<FeedOptions>,
  redacts = false,
  role: Role = "viewer",
): Promise<readonly string[]> {
  const all: string[] = [];
  const outlet: Outlet = {
    signal: new AbortController().signal,
    write: (words) => void all.push(/event: (\S+)/.exec(words)![1]!),
    writeText: (delta) => void all.push(delta.text),
    flush: () => void all.push("flush"),
  };
  const { after = 0 } = options;
  const runner = {
    async *events() {
      yield* events.filter(({ seq }) => seq > after || (seq === after && after > 0));
    },
  };
  const site = { redacts, redact: (value: unknown) => value };
  const call = { runner, site, login: { user: "anna", role } } as unknown as Call;
  const feed = { threadId: "t", after, head: 3, reset: false, drafts: true, ...options };
  await threadFeed(call, feed, outlet);
  return all;
}

test("a replay is sent as soon as it is over, and a change of state as soon as it happens", async () => {
  expect(await written({})).toEqual([
    ...["state", "run-start", "state", "live", "flush"],
    ...["A ", "rope.", "message", "state", "flush"],
  ]);
});

test("a reader at the head or beyond it is live at once", async () => {
  expect((await written({ after: 5, head: 5 })).slice(0, 2)).toEqual(["live", "flush"]);
  expect((await written({ after: 5, head: 5, reset: true })).slice(0, 3)).toEqual(["reset", "live", "flush"]);
});

test("without drafts a reader gets facts only", async () => {
  const facts = ["state", "run-start", "state", "live", "flush", "message", "state", "flush"];
  expect(await written({ drafts: false })).toEqual(facts);
  expect(await written({}, true)).toEqual(facts);
});

test("with `redact` each piece of text is a block of its own, for admins only", async () => {
  expect(await written({}, true, "admin")).toEqual([
    ...["state", "run-start", "state", "live", "flush"],
    ...["text-delta", "text-delta", "message", "state", "flush"],
  ]);
});
