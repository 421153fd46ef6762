// A worker on all due threads, until SIGKILL or SIGTERM. Each input is answered after some
// turns of two calls; their effects are left in a file that survives their process.

import { appendFileSync, closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { agent, createRunner, humanApproval, jsonSchema, type Model, messageText, tool } from "@belay/core";
import { createWorker } from "@belay/core/dispatch";
import { systemClock } from "@belay/core/store";
import { promptProblems } from "@belay/core/testing";
import { type EngineSettings, openDispatcher } from "./open-dispatcher.ts";
import { openStore } from "./open-store.ts";

export interface Worker {
  readonly where: string;
  readonly folder: string;
  readonly leaseTtlMs: number;
  /** How long a model takes, at most. */
  readonly modelMs: number;
  readonly engine: EngineSettings;
  /** Which build of the program it is: builds differ in the instructions and the tools of their agent. */
  readonly build: number;
  /** How far its clock is ahead. */
  readonly aheadMs: number;
}

/** A tenant that no worker has a runner for. */
export const ORPHAN = "orphan";

export interface WorkerEffect {
  readonly threadId: string;
  readonly runId: string;
  /** Its place in the run. */
  readonly address: string;
  readonly tool: string;
}

/** Turns with calls for each input. */
export const CALLING_TURNS = 3;

export async function worker(options: Worker): Promise<void> {
  const { where, folder, leaseTtlMs, modelMs, engine, build, aheadMs } = options;
  const { store, close } = await openStore(where);
  const dispatcher = await openDispatcher(engine, store);
  const clock = { ...systemClock, now: () => Date.now() + aheadMs };
  const agent = workingAgent(folder, modelMs, build);
  const runner = (tenant: string) =>
    tenant === ORPHAN ? undefined : createRunner({ agent, store, tenant, leaseTtlMs, dispatcher, clock });
  const working = createWorker({ store, runner, dispatcher, concurrency: 4, sweepMs: 1_000, log: () => {} });
  const ending = new AbortController();
  process.on("SIGTERM", () => {
    ending.abort();
    void working.drain({ timeoutMs: 5_000 });
  });
  console.log("works");
  await working.work({ signal: ending.signal });
  await working.drain();
  await dispatcher.close();
  await close();
}

export function workingAgent(folder: string, modelMs: number, build = 1) {
  const input = jsonSchema<object>({ type: "object" });
  const leaves = (name: string, options: object) =>
    tool({
      name,
      description: "",
      input,
      version: String(build),
      ...options,
      execute: async (_args, { address, runId, threadId }) => {
        write(join(folder, "effects"), { threadId, runId, address, tool: name });
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
        return { done: name };
      },
    });
  const soon = () => humanApproval("May it?", { expiresAt: Date.now() + 1_500 });
  const tools = [
    leaves("pay", { onCrash: "fail" }),
    leaves("look", { readOnly: true }),
    leaves("wire", { onCrash: "fail", needsApproval: true }),
    leaves("expire", { onCrash: "fail", needsApproval: soon }),
  ];
  return agent({ name: "worker", model: model(folder, modelMs), tools, instructions: `You are build ${build}.` });
}

function write(file: string, effect: WorkerEffect): void {
  const opened = openSync(file, "a");
  writeSync(opened, `${JSON.stringify(effect)}\n`);
  fsyncSync(opened);
  closeSync(opened);
}

/** The next step, from the history alone: the same in every process. */
function model(folder: string, modelMs: number): Model {
  const usage = { inputTokens: 1, outputTokens: 1 };
  return {
    id: "worker",
    provider: "worker",
    async *stream({ messages }) {
      for (const problem of promptProblems(messages)) appendFileSync(join(folder, "problems"), `${problem}\n`);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * modelMs));
      // A late result is in a note, which is no question.
      const asked = messages.findLastIndex(({ role, origin }) => role === "user" && origin === "person");
      const turns = messages.slice(asked).filter(({ role }) => role === "assistant").length;
      const [what = ""] = messageText(messages[asked]!).split(" ");
      if (what === "wire" || what === "expire") {
        if (turns === 0) yield { type: "call", id: `${what}-${messages.length}`, tool: what, args: {} };
        if (turns === 0) return yield { type: "finish", finish: "tool-calls", usage };
      }
      if (turns < CALLING_TURNS && what === "question") {
        for (const name of ["pay", "look"])
          yield { type: "call", id: `${name}-${messages.length}`, tool: name, args: {} };
        yield { type: "finish", finish: "tool-calls", usage };
      } else {
        yield { type: "text", text: `answered ${messageText(messages[asked]!)}` };
        yield { type: "finish", finish: "stop", usage };
      }
    },
  };
}
