import { openKit } from "@belay/testkit";
import { expect, test } from "vitest";
import { jsonSchema, type LogEntry, tool } from "../index.ts";
import type { Hooks } from "./hooks.ts";

const turns = [[{ text: "Let me see. " }, { call: "pay", args: { amount: 5 }, id: "c1" }], "done"] as const;

async function meddle(hooks: Hooks) {
  const ran: unknown[] = [];
  const logged: LogEntry[] = [];
  const pay = tool({
    name: "pay",
    description: "Pays",
    input: jsonSchema<{ amount: number }>({ type: "object", properties: { amount: { type: "number" } } }),
    execute: (args) => {
      ran.push(args);
      return { card: "4711" };
    },
  });
  const log = (entry: LogEntry) => void logged.push(entry);
  const kit = await openKit([...turns], { tools: [pay], agent: { hooks }, runner: { log } });
  const result = await kit.session.run("Pay five.").result;
  return { ...kit, result, ran, logged };
}

/** Changes everything within its argument. */
function scribble(value: unknown): void {
  if (typeof value !== "object" || value === null || value instanceof AbortSignal) return;
  for (const [key, item] of Object.entries(value)) {
    scribble(item);
    (value as Record<string, unknown>)[key] = "scribbled";
  }
}

const before = ["beforeReply", "beforeModel", "beforeTool"] as const;
const after = ["afterModel", "afterTool"] as const;

test.each(before)("W5: a %s hook that writes into its argument fails, and has changed nothing", async (name) => {
  const { result, session } = await meddle({
    [name]: ({ signal: _signal, ...given }: object & { signal: unknown }) => scribble(Object.values(given)),
  });
  expect(result).toMatchObject({ status: "failed", error: { code: "HOOK_FAILED" } });
  expect(JSON.stringify(session.messages)).not.toContain("scribbled");
});

test.each(after)(
  "W5: an %s hook that writes into its arguments changes nothing, and the log gets the error",
  async (name) => {
    const plain = await meddle({});
    const { result, session, ran, logged, requests } = await meddle({
      [name]: ({ signal: _signal, ...given }: object & { signal: unknown }) => scribble(Object.values(given)),
    });
    expect(result.status).toBe("completed");
    expect(ran).toEqual([{ amount: 5 }]);
    expect(logged.map(({ error }) => error.code)).toContain("HOOK_FAILED");
    const said = (messages: typeof session.messages) => messages.map(({ role, parts }) => ({ role, parts }));
    expect(said(session.messages)).toEqual(said(plain.session.messages));
    expect(requests.map(({ messages }) => said(messages))).toEqual(
      plain.requests.map(({ messages }) => said(messages)),
    );
  },
);
