// A thread whose only call does two steps and asks two people. Its process answers, too, and may be killed at any of
// its points; the next process resumes.

import { appendFileSync, closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { agent, createRunner, humanApproval, humanInput } from "@belay/core";
import { onPoint } from "@belay/core/inside";
import { scriptedModel } from "@belay/core/testing";
import { goOnToTheEnd, toolOf } from "../session/asking-tool.ts";
import type { Life } from "./life.ts";
import { openStore } from "./open-store.ts";

/** `past` an ask, a step (`did`) or the end of the code. */
export interface AskingEffect {
  readonly what: "did" | "past" | "caught" | "returned";
  readonly key: string;
  readonly pid: number;
}

export interface Asking extends Life {
  readonly by: "answer" | "resume";
}

export async function liveAsking({ folder, killAt, by, where, leaseTtlMs }: Asking): Promise<void> {
  let points = 0;
  const passed = (name: string): void => {
    points += 1;
    if (points !== killAt) return;
    appendFileSync(join(folder, "death"), `${points} ${name}`);
    process.kill(process.pid, "SIGKILL");
  };
  const { store, close } = await openStore(where ?? join(folder, "threads.db"), passed);
  onPoint(passed);
  const model = scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === "tool") ? "done" : [{ call: "order", id: "o" }],
  );
  const definition = agent({ name: "helper", model, tools: [order(folder)] });
  const runner = createRunner({ agent: definition, store, ...(leaseTtlMs && { leaseTtlMs }) });
  const session = await runner.open("thread");
  await goOnToTheEnd(session, by);
  await runner.close();
  await close();
  if (killAt === 0) console.log(`points ${points}`);
}

/** Runs to the first question and lets go of nothing: there is nothing left to do. */
export async function leaveWaiting({ folder }: { readonly folder: string }): Promise<void> {
  const { store } = await openStore(join(folder, "threads.db"));
  const model = scriptedModel([[{ call: "order", id: "o" }]]);
  const session = await createRunner({ agent: agent({ name: "helper", model, tools: [order(folder)] }), store }).open(
    "t",
  );
  console.log(`result ${(await session.run("go").result).status}`);
}

function order(folder: string) {
  const effect = (what: AskingEffect["what"], key: string) => {
    const file = openSync(join(folder, "effects"), "a");
    writeSync(file, `${JSON.stringify({ what, key, pid: process.pid } satisfies AskingEffect)}\n`);
    fsyncSync(file);
    closeSync(file);
    return key;
  };
  return toolOf(
    "order",
    async (ctx) => {
      try {
        const one = await ctx.step("one", () => effect("did", "one"));
        const name = await ctx.ask(humanInput("Whose order?"));
        effect("past", "ask#0");
        const two = await ctx.step("two", () => effect("did", "two"));
        const { approved } = await ctx.ask(humanApproval("Really?"));
        effect("past", "ask#1");
        effect("returned", "order");
        return `${one} ${name} ${two} ${approved}`;
      } catch (error) {
        effect("caught", String(error));
        throw error;
      }
    },
    { onCrash: "retry" },
  );
}
