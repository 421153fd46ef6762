// A process that runs one thread with a call that waits for "go" on stdin, beside a call that waits for an approval.

import { createInterface } from "node:readline";
import { agent, createRunner } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { toolOf } from "../session/asking-tool.ts";
import { openStore } from "./open-store.ts";

export interface Busy {
  readonly where: string;
  readonly leaseTtlMs: number;
}

export async function busy({ where, leaseTtlMs }: Busy): Promise<void> {
  const { store, close } = await openStore(where);
  const told = new Promise<void>((go) => createInterface({ input: process.stdin }).once("line", () => go()));
  const works = toolOf("works", () => {
    console.log("works");
    return told.then(() => "worked");
  });
  const pays = toolOf("pays", () => void console.log("paid"), { needsApproval: true });
  const turn = [
    { call: "works", id: "w" },
    { call: "pays", id: "p" },
  ];
  const helper = agent({ name: "helper", model: scriptedModel([turn, "done"]), tools: [works, pays] });
  const runner = createRunner({ agent: helper, store, leaseTtlMs });
  const result = await (await runner.open("thread")).run("go").result;
  console.log(`ended ${result.status}`);
  await runner.close();
  await close();
  process.exit();
}
