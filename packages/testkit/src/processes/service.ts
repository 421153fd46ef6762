// A service as people run one: a worker on all threads of a store that drains on SIGTERM. One of its tools kills it,
// another waits until the test releases it; each leaves a line in a file that survives the process.

import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { agent, createRunner, jsonSchema, type Model, messageText, tool } from "@belay/core";
import { openStore } from "./open-store.ts";

export interface Service {
  readonly where: string;
  readonly folder: string;
  /** How long it drains. */
  readonly timeoutMs: number;
}

export async function service({ where, folder, timeoutMs }: Service): Promise<void> {
  const { store, close } = await openStore(where);
  const runner = createRunner({ agent: servingAgent(folder, opened()), store });
  process.once("SIGTERM", async () => {
    console.log("draining");
    await runner.drain({ timeoutMs });
    console.log("drained");
    await worked;
    await close();
    process.exit(0);
  });
  const worked = runner.work({ concurrency: 4, pollMs: 20 });
  console.log("works");
}

/** Sent on stdin. */
function opened(): Promise<unknown> {
  const input = createInterface({ input: process.stdin });
  return new Promise((resolve) => input.on("line", (line) => line === "open" && resolve(undefined)));
}

/** Calls the tool that the question names, if it names one, and then answers. */
export function servingAgent(folder: string, gate: Promise<unknown>, isDeadly = true) {
  const input = jsonSchema<object>({ type: "object" });
  const leave = (name: string, threadId: string) => appendFileSync(join(folder, name), `${threadId}\n`);
  const deadly = tool({
    ...{ name: "deadly", description: "", input, repeatable: true },
    execute: async (_args, { threadId }) => {
      leave("deadly", threadId);
      if (!isDeadly) return "survived";
      process.kill(process.pid, "SIGKILL");
      return new Promise(() => {});
    },
  });
  const wait = tool({
    ...{ name: "wait", description: "", input, graceMs: 20 },
    execute: async (_args, { threadId }) => {
      leave("wait", threadId);
      console.log("waits");
      await gate;
      return "through the gate";
    },
  });
  return agent({ name: "service", model, tools: [deadly, wait] });
}

const model: Model = {
  id: "service",
  async *stream({ messages }) {
    const asked = messages.findLastIndex(({ role, origin }) => role === "user" && origin === "person");
    const question = messageText(messages[asked]!);
    const isNew = asked === messages.length - 1;
    if (isNew && /^(deadly|wait)$/.test(question)) {
      yield { type: "call", id: `${question}-${asked}`, tool: question, args: {} };
      yield { type: "finish", finish: "tool-calls" };
    } else {
      yield { type: "text", text: `answered ${question}` };
      yield { type: "finish", finish: "stop" };
    }
  },
};
