// A worker whose agent talks until it is stopped, or works in many short steps: for front ends that follow and stop it.

import { agent, createRunner, jsonSchema, type Model, messageText, tool } from "@belay/core";
import { createWorker } from "@belay/core/dispatch";
import { type EngineSettings, openDispatcher } from "./open-dispatcher.ts";
import { openStore } from "./open-store.ts";

export interface TalkingWorker {
  readonly where: string;
  readonly engine: EngineSettings;
  readonly leaseTtlMs: number;
}

/** Calls that an input "steps" makes, one after the other. */
export const STEPS = 30;
const STEP_MS = 50;
const WORD_MS = 5;

export async function talkingWorker({ where, engine, leaseTtlMs }: TalkingWorker): Promise<void> {
  const { store, close } = await openStore(where);
  const dispatcher = await openDispatcher(engine, store);
  const runner = (tenant: string) => createRunner({ agent: talker(), store, tenant, leaseTtlMs, dispatcher });
  const worker = createWorker({ store, runner, dispatcher, concurrency: 8, sweepMs: 500, log: () => {} });
  process.on("SIGTERM", () => void worker.drain({ timeoutMs: 5_000 }));
  console.log("works");
  await worker.work();
  await dispatcher.close();
  await close();
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function talker() {
  const step = tool({
    name: "step",
    description: "",
    input: jsonSchema({ type: "object" }),
    onCrash: "fail",
    execute: async () => {
      await sleep(STEP_MS);
      return "stepped";
    },
  });
  const usage = { inputTokens: 1, outputTokens: 1 };
  const model: Model = {
    id: "talker",
    provider: "test",
    async *stream({ messages }, { signal }) {
      const asked = messages.findLastIndex(({ role }) => role === "user");
      if (messageText(messages[asked]!) === "talk") {
        while (!signal.aborted) {
          yield { type: "text", text: "word " };
          await sleep(WORD_MS);
        }
        return;
      }
      const steps = messages.slice(asked).filter(({ role }) => role === "assistant").length;
      if (steps < STEPS) yield { type: "call", id: `step-${messages.length}`, tool: "step", args: {} };
      else yield { type: "text", text: "done" };
      yield { type: "finish", finish: steps < STEPS ? "tool-calls" : "stop", usage };
    },
  };
  return agent({ name: "talker", model, tools: [step], maxTurns: STEPS + 5 });
}
