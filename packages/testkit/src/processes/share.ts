// Processes that share a store with a test, a SQLite file or the server of a URL: one that runs a thread as the test commands, one
// that races with others to resume it, one that opens a new file together with others, one that answers, one that asks and lists.

import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
import {
  agent,
  approve,
  createRunner,
  type Handle,
  jsonSchema,
  type RunResult,
  type Tool,
  type ToolContext,
  tool,
} from "@belay/core";
import { type ScriptedTurn, scriptedModel } from "@belay/core/testing";
import { openStore } from "./open-store.ts";

const anything = jsonSchema({ type: "object" });
let input: ReturnType<typeof createInterface> | undefined;

/** From its first call on the process stays alive until it exits by itself. */
function told(line: string): Promise<void> {
  input ??= createInterface({ input: process.stdin });
  return new Promise((resolve) =>
    input?.on("line", (said) => {
      if (said === line) resolve();
    }),
  );
}

export interface Share {
  /** The address of the store, for openStore. */
  readonly file: string;
  readonly threadId: string;
  readonly turns: readonly Exclude<ScriptedTurn, (...args: never) => unknown>[];
  readonly leaseTtlMs?: number;
  /** Resumes this often after a stop. */
  readonly resumes?: number;
}

/** Runs a thread. Its tool `gate` ignores a stop, and ends on the line `open`. */
export async function run(options: Share): Promise<void> {
  const { file, threadId, turns, leaseTtlMs, resumes = 0 } = options;
  const opened = told("open");
  const gate = tool({
    name: "gate",
    description: "",
    input: anything,
    graceMs: 20,
    execute: async () => {
      console.log("gate");
      await opened;
      return "through the gate";
    },
  });
  const model = scriptedModel(turns);
  const { store } = await openStore(file);
  const definition = agent({ name: "helper", model, tools: [gate] });
  const runner = createRunner({ agent: definition, store, ...(leaseTtlMs && { leaseTtlMs }) });
  const session = await runner.open(threadId);
  let started = session.run("go");
  let result: RunResult<string> | undefined;
  for (let round = 0; ; round++) {
    void say(started, round);
    result = await started.result;
    if (round === resumes || result.status !== "interrupted") break;
    started = session.resume();
  }
  console.log(`result ${result.status}${result.status === "failed" ? ` ${result.error.code}` : ""}`);
  await told("end");
  process.exit(0);
}

async function say(events: AsyncIterable<{ readonly type: string }>, round: number): Promise<void> {
  for await (const { type } of events) if (type === "text-delta") console.log(`text ${round}`);
}

export interface Race {
  readonly file: string;
  readonly handle: Handle;
  /** The file in which the tool `pay` leaves its trace. */
  readonly effects: string;
}

/** Resumes on its line, and prints the outcome. */
export async function race({ file, handle, effects }: Race): Promise<void> {
  const pay = tool({
    name: "pay",
    description: "",
    input: anything,
    execute: () => appendFileSync(effects, `${process.pid}\n`),
  });
  const { store } = await openStore(file);
  const definition = agent({ name: "helper", model: scriptedModel(["paid"]), tools: [pay] });
  const runner = createRunner({ agent: definition, store });
  console.log("ready");
  await told("go");
  try {
    const result = await (await runner.resume(handle)).result;
    console.log(`outcome ${result.status}`);
  } catch (error) {
    console.log(`outcome ${(error as { code?: string }).code ?? error}`);
  }
  process.exit(0);
}

/** Opens a file that may not exist yet, and writes a thread into it. */
export async function begin({ file, threadId }: { readonly file: string; readonly threadId: string }): Promise<void> {
  console.log("ready");
  await told("go");
  const { store } = await openStore(file);
  const definition = agent({ name: "helper", model: scriptedModel(["hello"]) });
  const session = await createRunner({ agent: definition, store }).open(threadId);
  console.log(`outcome ${(await session.run("hi").result).status}`);
  process.exit(0);
}

export interface AnswerAll {
  readonly file: string;
  readonly requests: readonly string[];
  readonly by: string;
  /** The file in which the tool `pay` leaves its trace. */
  readonly effects: string;
}

/** Needs approval, and leaves the id of its call in a file. */
export function payTool(effects: string): Tool<unknown> {
  const execute = (_args: unknown, { callId }: ToolContext) => appendFileSync(effects, `${callId}\n`);
  return tool({ name: "pay", description: "", input: anything, needsApproval: true, execute });
}

/** Approves all requests on its line, each process in an order of its own, and prints each reply. */
export async function answerAll({ file, requests, by, effects }: AnswerAll): Promise<void> {
  const definition = agent({ name: "helper", model: scriptedModel([]), tools: [payTool(effects)] });
  const { store } = await openStore(file);
  const runner = createRunner({ agent: definition, store });
  const first = Math.floor(Math.random() * requests.length);
  console.log("ready");
  await told("go");
  for (let i = 0; i < requests.length; i++) {
    const id = requests[(first + i) % requests.length]!;
    let outcome = "";
    // A sender that is not sure of the delivery sends again, under the same id.
    do {
      outcome = await runner.answer(id, approve({ by }), { id: by, waitMs: 60_000 }).then(
        () => "won",
        (error: { readonly code?: string; readonly message: string }) => `${error.code} ${error.message}`,
      );
    } while (outcome.startsWith("STORE_FAILED"));
    console.log(`answer ${JSON.stringify({ id, outcome })}`);
  }
  await runner.drain();
  console.log("end");
  process.exit(0);
}

export interface Ask {
  readonly file: string;
  /** Asks this often, each time in a thread of its own. */
  readonly times: number;
  /** Begins the names of its threads, requests and rules. */
  readonly prefix: string;
}

/** Raises requests on its line, and leaves rules behind; then prints the open requests and the rules. */
export async function ask({ file, times, prefix }: Ask): Promise<void> {
  const { store } = await openStore(file);
  const tenant = "default";
  const common = { expect: 0, count: 1, at: 1, body: "{}", agent: "helper", state: "paused", release: true } as const;
  console.log("ready");
  await told("go");
  for (let i = 0; i < times; i++) {
    const name = `${prefix}${i}`;
    const brings = { raise: [{ id: name, body: name }], remember: [{ id: name, at: i, body: name }] };
    const append = { ...common, ...brings, appendId: name, writer: { take: prefix, ttlMs: 60_000 }, rest: { from: 1 } };
    const appended = await store.append({ tenant, threadId: name }, append);
    if (!appended.ok) throw new Error(appended.why);
  }
  console.log("asked");
  await told("list");
  const [requests, rules] = [await store.requests(tenant), await store.rules(tenant)];
  console.log(`open ${requests.map(({ id }) => id).join(" ")}`);
  console.log(`rules ${rules.map(({ id }) => id).join(" ")}`);
  process.exit(0);
}
