// Threads that a tour does not have: damaged ones, one with a changed agent, a model that fails in mid-answer, calls with
// hostile text. The store is a real SQLite file, damaged between two runners as a disk would.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { agent, createRunner, humanApproval, jsonSchema, type Model, type Runner, tool } from "@belay/core";
import { belayServer } from "@belay/server";
import { ensureConsole } from "../../../../scripts/build-console.mjs";
import { plannedModel } from "../demo/model.ts";
import { openStore } from "../demo/open-store.ts";
import { openSite, type Site } from "./open-site.ts";

export interface OddSite extends Site {
  readonly runner: Runner<unknown, unknown>;
  /** The arguments with which the tool `pay` ran. */
  readonly paid: readonly unknown[];
  /** The time between two words of a model. */
  setDelay(ms: number): void;
  /** Lets the first answer of `flaky` fail. */
  fail(): void;
}

export const HOSTILE = {
  html: '<img src=x onerror="window.hit=1"><script>window.hit=1</script>',
  link: "[pay](javascript:window.hit=1)",
  turned: "pay \u202Elive\u202C me\u200B\u2066",
  constructor: "prototype",
  osc: "\u001b]8;;https://evil.example\u0007click\u001b]8;;\u0007",
  line: "x".repeat(1_000_000),
};

const LEDGER = "The ledger has 41 rows, and row 7 is the one to look at.";

/** The second runner of a site has a newer model and one more tool. */
function agents(version: 1 | 2, pace: { ms: number }, paid: unknown[], fails: Promise<void>) {
  const pay = tool({
    name: "pay",
    description: "Pays.",
    input: jsonSchema<Record<string, unknown>>({ type: "object" }),
    needsApproval: true,
    execute: (args) => {
      paid.push(args);
      return { paid: true };
    },
  });
  // The names and reasons are as hostile as the arguments.
  const shout = tool({
    name: "shout",
    description: HOSTILE.html,
    input: jsonSchema<Record<string, unknown>>({ type: "object" }),
    needsApproval: () =>
      humanApproval(`${HOSTILE.turned} ${HOSTILE.html}`, {
        context: {
          path: `../${HOSTILE.turned}/${HOSTILE.html}.txt`,
          before: `${HOSTILE.html}\n`,
          after: `${HOSTILE.turned}\n`,
          note: HOSTILE.link,
        },
      }),
    execute: () => HOSTILE.html,
  });
  const count = tool({
    name: "count",
    description: "Counts.",
    input: jsonSchema<Record<string, unknown>>({ type: "object" }),
    execute: () => 41,
  });
  const plan = (question: string, turn: number) => {
    if (/hostile/.test(question) && turn === 0) {
      return {
        say: HOSTILE.html + HOSTILE.link,
        calls: [{ tool: "pay", args: HOSTILE }],
      };
    }
    if (/shouted/.test(question) && turn === 0)
      return {
        say: HOSTILE.turned,
        calls: [
          { tool: shout.name, args: { "<i>key</i>\u200B": HOSTILE.turned } },
          // No agent can have a tool of this name, but a model can ask for it.
          { tool: "no<b>\u202Etool", args: {} },
        ],
      };
    // The kernel refuses such a key, and says so to the model.
    if (/proto/.test(question) && turn === 0)
      return { say: "I try.", calls: [{ tool: "pay", args: JSON.parse('{"__proto__":{"admin":true}}') }] };
    const asks = /^pay (\d+)/.exec(question);
    if (asks !== null && turn === 0)
      return { say: "I pay.", calls: [{ tool: "pay", args: { euros: Number(asks[1]) } }] };
    if (/long/.test(question)) return { say: Array.from({ length: 400 }, (_, at) => `word${at}`).join(" ") };
    return { say: turn > 0 ? "Done." : LEDGER };
  };
  const model = plannedModel(version === 1 ? "demo-4" : "demo-5", plan, () => pace.ms);
  const clerk = agent({ name: "clerk", model, tools: version === 1 ? [pay, shout] : [pay, shout, count] });
  return [clerk, agent({ name: "flaky", model: flakyModel(pace, fails) })];
}

/** Fails in the middle of its first answer, as an overloaded provider does, when it is let. */
function flakyModel(pace: { ms: number }, fails: Promise<void>): Model {
  let tries = 0;
  return {
    id: "flaky",
    async *stream() {
      tries += 1;
      const words =
        tries === 1 ? ["The first ", "try said this."] : ["The second ", "try ", ...Array(400).fill("goes on ")];
      for (const text of words) {
        await sleep(pace.ms);
        yield { type: "text", text };
      }
      if (tries === 1) await fails;
      if (tries === 1) throw Object.assign(new Error("overloaded"), { statusCode: 529 });
      yield { type: "finish", finish: "stop", usage: { inputTokens: 1, outputTokens: 1 } };
    },
  };
}

export async function openOddSite(): Promise<OddSite> {
  await ensureConsole();
  const folder = mkdtempSync(join(tmpdir(), "belay-odd-"));
  const pace = { ms: 0 };
  const paid: unknown[] = [];
  let fail = () => {};
  const fails = new Promise<void>((resolve) => {
    fail = resolve;
  });
  const open = async (version: 1 | 2) => {
    const { store, close } = await openStore(folder);
    const runner = createRunner({ agents: agents(version, pace, paid, fails), store } as never) as unknown as Runner<
      unknown,
      unknown
    >;
    return { runner, close };
  };
  const first = await open(1);
  const run = (threadId: string, input: string) => first.runner.start(threadId, input, { agent: "clerk", by: "anna" });
  await (await run("ledger", "What does the ledger say?")).result;
  await (await run("ledger", "And the next one?")).result;
  await (await run("rowless", "What does the ledger say?")).result;
  await (await run("torn", "pay 7")).result;
  await (await run("hostile", "hostile")).result;
  await (await run("proto", "proto")).result;
  await (await run("shouted", "shouted")).result;
  await first.runner.label("hostile", { title: `${HOSTILE.turned} ${HOSTILE.html}` });
  pace.ms = 20;
  const drifting = await run("drifting", "long");
  await sleep(200);
  await first.runner.interrupt("drifting", { by: "anna", reason: "a new model comes" });
  await drifting.result;
  pace.ms = 0;
  await first.runner.close();
  first.close();
  await damage(folder);
  const second = await open(2);
  const auth = (request: Request) => ({
    user: /belay-demo-as=(\w+)/.exec(request.headers.get("cookie") ?? "")?.[1] ?? "anna",
    role: ["admin" as const],
  });
  const server = belayServer({ runner: second.runner as never, auth, work: false, rate: false });
  const site = await openSite(server);
  return {
    ...site,
    runner: second.runner,
    paid,
    fail,
    setDelay: (ms) => {
      pace.ms = ms;
    },
    async [Symbol.asyncDispose]() {
      await server.close({ timeoutMs: 500 });
      await site[Symbol.asyncDispose]();
      second.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** One letter of a recorded answer and one of an open request differ from the written ones. */
async function damage(folder: string): Promise<void> {
  const { db, close } = await openStore(folder);
  db.exec(
    "UPDATE entry SET body = replace(body, 'row 7', 'row 8') WHERE body LIKE '%And the next one%' OR body LIKE '%row 7%'",
  );
  db.exec(
    "UPDATE request SET body = replace(body, 'I pay', 'I pey') || ' ' WHERE thread IN (SELECT num FROM thread WHERE id = 'torn')",
  );
  db.exec("UPDATE thread SET updated_at = updated_at + 1 WHERE id = 'rowless'");
  close();
}
