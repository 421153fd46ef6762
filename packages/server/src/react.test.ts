// The hooks in React, drawn into a document, over a real server.

import { approve, type Client, connect } from "@belay/client";
import { agent, createRunner, humanApproval, jsonSchema, tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { Window } from "happy-dom";
import { expect, test } from "vitest";
import { startServer } from "./testing.ts";

const window = new Window();
const browser = { window, document: window.document, navigator: window.navigator };
for (const [name, value] of Object.entries(browser)) {
  Object.defineProperty(globalThis, name, { value, configurable: true });
}
const { createElement } = await import("react");
const { createRoot } = await import("react-dom/client");
const { useInbox, useThread } = await import("@belay/client/react");

const pay = tool({
  name: "pay",
  description: "Pays.",
  input: jsonSchema<{ euros: number }>({ type: "object", properties: { euros: { type: "number" } } }),
  needsApproval: ({ euros }) => humanApproval(`Pay ${euros} €?`),
  execute: ({ euros }) => `${euros} paid`,
});

/** Draws a component and returns the last value that its hook gave. */
function drawn<T>(hook: () => T): { readonly now: T; readonly seen: readonly T[]; unmount(): void } {
  const seen: T[] = [];
  const root = createRoot(window.document.createElement("div") as unknown as Element);
  const Shown = () => {
    seen.push(hook());
    return null;
  };
  root.render(createElement(Shown));
  return {
    seen,
    get now() {
      return seen.at(-1)!;
    },
    unmount: () => root.unmount(),
  };
}

const textOf = (messages: readonly { parts: readonly { type: string; text?: string }[] }[]) =>
  messages.map(({ parts }) => parts.map(({ text = "" }) => text).join(""));

test("useThread shows text as it streams, stops and resumes; a thread that did not exist is followed from its first run", async () => {
  const model = scriptedModel([[{ text: ["A belay ", "has a rope,"] }, { stall: true }], "The device."]);
  await using server = await startServer({ runner: createRunner({ agent: agent({ name: "guide", model }) }) });
  const belay = connect({ url: server.url, token: server.server.token });
  const page = drawn(() => useThread(belay, "t"));
  await expect.poll(() => page.now?.connection).toBe("closed");
  expect(page.now.error).toMatchObject({ code: "THREAD_UNKNOWN" });
  await page.now.send("What is a belay?");
  await expect.poll(() => textOf(page.now.messages)).toEqual(["What is a belay?", "A belay has a rope,"]);
  expect(page.now.state).toBe("running");
  await page.now.interrupt();
  await expect.poll(() => page.now.pauseType).toBe("user_interrupt");
  await page.now.resume({ input: "Only the device." });
  await expect.poll(() => textOf(page.now.messages).at(-1)).toBe("The device.");
  await expect.poll(() => page.now.state).toBe("completed");
  page.unmount();
});

test("useInbox hides an answered item at once, and shows it again with the reason when the answer is refused", async () => {
  const model = scriptedModel([[{ call: "pay", args: { euros: 9 } }], "Done."]);
  const runner = createRunner({ agent: agent({ name: "support", model, tools: [pay] }) });
  await using server = await startServer({ runner });
  const belay: Client = connect({ url: server.url, token: server.server.token });
  const page = drawn(() => useInbox(belay, { threadId: "t" }));
  await (await belay.open("t").run("Pay.")).result;
  await expect.poll(() => page.now.items.length).toBe(1);
  const [item] = page.now.items;
  const refused = page.now.answer(item!, approve({ args: { euros: "nine" } }));
  await expect(refused).rejects.toMatchObject({ code: "ANSWER_INVALID" });
  await expect.poll(() => page.now.error?.code).toBe("ANSWER_INVALID");
  expect(page.seen.map(({ items }) => items.length).slice(-3)).toEqual([1, 0, 1]);
  expect(page.now.error).toMatchObject({ code: "ANSWER_INVALID", status: 422 });
  expect(await page.now.answer(item!, approve())).toMatchObject({ open: 0 });
  await expect.poll(() => [page.now.items.length, page.now.counts.open]).toEqual([0, 0]);
  page.unmount();
});

test("a page with a thread and an inbox has one connection", async () => {
  const model = scriptedModel(["Hi."]);
  await using server = await startServer({ runner: createRunner({ agent: agent({ name: "guide", model }) }) });
  const streams = new Set<string>();
  const counting: typeof fetch = async (input, init) => {
    const path = new URL(String(input)).pathname;
    const isStream = path.endsWith("/events") || path.endsWith("/changes");
    if (isStream) {
      streams.add(path);
      init?.signal?.addEventListener("abort", () => streams.delete(path));
    }
    return fetch(input, init);
  };
  const belay = connect({ url: server.url, token: server.server.token, fetch: counting });
  await (await connect({ url: server.url, token: server.server.token }).open("t").run("Go.")).result;
  const inbox = drawn(() => useInbox(belay));
  await expect.poll(() => [...streams]).toEqual(["/v1/changes"]);
  const thread = drawn(() => useThread(belay, "t"));
  await expect.poll(() => [...streams]).toEqual(["/v1/threads/t/events"]);
  thread.unmount();
  await expect.poll(() => [...streams]).toEqual(["/v1/changes"]);
  inbox.unmount();
  await expect.poll(() => [...streams]).toEqual([]);
});
