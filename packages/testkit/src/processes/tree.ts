// A tree of agents in one process, which answers the requests, one alone and the others together,
// stops it once in mid-text, and may be killed at any of its points; the next process resumes.

import { appendFileSync, closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { createRunner, type ModelEvent } from "@belay/core";
import { isRequest, onPoint } from "@belay/core/inside";
import { promptProblems } from "@belay/core/testing";
import { mixedAnswer, mixedTree } from "../trees/mixed-tree.ts";
import type { Life } from "./life.ts";
import { openStore } from "./open-store.ts";

export interface TreeEffect {
  readonly address: string;
  readonly pid: number;
}

const MOST_ROUNDS = 40;

export async function liveTree({ folder, killAt, where }: Life): Promise<void> {
  let points = 0;
  let stopped = false;
  const passed = (name: string): void => {
    points += 1;
    if (points !== killAt) return;
    appendFileSync(join(folder, "death"), `${points} ${name}`);
    process.kill(process.pid, "SIGKILL");
  };
  const { store, close } = await openStore(where ?? join(folder, "threads.db"), passed);
  const root = mixedTree({
    effect: (address) => writeEffect(folder, { address, pid: process.pid }),
    asked: ({ messages }) => {
      for (const problem of promptProblems(messages)) appendFileSync(join(folder, "problems"), `${problem}\n`);
    },
  });
  const runner = createRunner<unknown, unknown>({ agent: root, store });
  const session = await runner.open("thread");
  onPoint((name, detail) => {
    passed(name);
    const event = (detail as { readonly value?: ModelEvent } | undefined)?.value;
    if (name !== "model:event" || event?.type !== "text" || event.text !== "end " || stopped) return;
    stopped = true;
    void session.interrupt();
  });
  // A sender that is not sure of the delivery sends again, under the same id.
  let run = session.pauseType === undefined ? session.run("hi", { id: "hi" }) : session.resume();
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const result = await run.result;
    if (result.status !== "interrupted") {
      console.log(`ends ${JSON.stringify(result.status === "completed" ? result.output : result)}`);
      break;
    }
    const open = () => session.interrupts.filter(isRequest);
    const first = open()[killAt % Math.max(1, open().length)];
    if (first !== undefined) await session.answer(first.id, mixedAnswer(first));
    run = session.resume({ answers: Object.fromEntries(open().map((request) => [request.id, mixedAnswer(request)])) });
  }
  await runner.close();
  await close();
  console.log(`points ${points}`);
}

function writeEffect(folder: string, effect: TreeEffect): void {
  const file = openSync(join(folder, "effects"), "a");
  writeSync(file, `${JSON.stringify(effect)}\n`);
  fsyncSync(file);
  closeSync(file);
}
