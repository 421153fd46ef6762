// The tour: real runs that rest where there is something to see. Nothing is written into the store but by running.

import { spawn } from "node:child_process";
import type { Runner } from "@belay/core";

type AnyRunner = Runner<unknown, unknown>;

/** Runs until the thread rests, whatever that means for it. */
async function until(runner: AnyRunner, threadId: string, agent: string, input: string, by: string): Promise<void> {
  const run = await runner.start(threadId, input, { agent, by });
  await run.result;
}

/** Seeds all threads but the one that streams. `crash` ends a child process in the middle of an import. */
export async function seed(runner: AnyRunner, crash: () => Promise<void>): Promise<void> {
  await Promise.all([
    until(runner, "refund-b", "support", "Refund order B, please.", "anna").then(() => runner.label("refund-b", { title: "Refund for order B", labels: { team: "support" } })),
    until(runner, "deploy", "ops", "Ship 1.4 once the canary has been clean for half an hour.", "carla").then(async () => {
      await runner.label("deploy", { title: "Deploy 1.4 to production", labels: { env: "prod" } });
      const { items } = await runner.inbox({ threadId: "deploy" });
      await runner.answer(items[0]!.id, { type: "approve", note: "canary looked fine" }, { by: "ben" });
    }),
    until(runner, "room", "office", "Find a room for six on Thursday.", "dora").then(() => runner.label("room", { title: "Find a room for Thursday" })),
    until(runner, "offer-ann", "offer", "Offer for Ann Huber", "anna").then(() => runner.label("offer-ann", { title: "Offer for Ann" })),
    until(runner, "digest", "writer", "Write the weekly digest.", "ben").then(() => runner.label("digest", { title: "Weekly digest" })),
    zugspitze(runner),
    lateTransfer(runner),
    crash().then(() => runner.label("import", { title: "Import customers.csv" })),
  ]);
}

/** Three questions and two effects: something to go back in. */
async function zugspitze(runner: AnyRunner): Promise<void> {
  await until(runner, "zugspitze", "guide", "Which hut is on the way?", "anna");
  await until(runner, "zugspitze", "guide", "The steep way, then. Book the hut.", "anna");
  await runner.label("zugspitze", { title: "Zugspitze in two days" });
}

/** A stop while the bank does not listen: the transfer ends after the stop, and the mail is held. */
async function lateTransfer(runner: AnyRunner): Promise<void> {
  const run = await runner.start("transfer", "Transfer the refund of order B and write to the customer.", { agent: "support", by: "anna" });
  await runner.label("transfer", { title: "Pay back order B" });
  for await (const event of run) {
    if (event.type !== "tool-start") continue;
    await runner.interrupt("transfer", { by: "anna", reason: "leave C out" });
    break;
  }
  await run.result;
}

/** The long answer: it streams while the visitor looks. */
export async function stream(runner: AnyRunner): Promise<void> {
  await runner.start("plan", "Plan two days on the Zugspitze for the two of us.", { agent: "guide", by: "anna" });
  await runner.label("plan", { title: "Plan two days on the Zugspitze" });
}

/** Runs `program` again as a child that imports and is killed half-way. */
export function crashIn(program: readonly string[], folder: string): () => Promise<void> {
  return () =>
    new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [...program, "--crash", folder], { stdio: ["ignore", "ignore", "pipe"] });
      let words = "";
      child.stderr.on("data", (chunk) => {
        words += chunk;
      });
      child.on("error", reject);
      child.on("exit", (_code, signal) => (signal === "SIGKILL" ? resolve() : reject(new Error(`The import did not crash: ${words}`))));
    });
}
