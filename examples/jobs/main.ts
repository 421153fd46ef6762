// A process takes jobs in and starts nothing; another one does them. The first one follows them all.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createRunner } from "@belay/core";
import { open } from "./job.ts";

const folder = mkdtempSync(join(tmpdir(), "belay-example-"));
const file = join(folder, "jobs.db");

// region jobs
// Without agents: it records jobs, lists and follows them.
const front = createRunner({ store: open(file) });

for (const letter of ["a", "b", "c"]) {
  const threadId = `letter-${letter}`;
  await front.send(threadId, `Letter ${letter}`, { agent: "clerk", id: "job" });
  await front.label(threadId, { labels: { batch: "monday" } });
}
// The same id again is the same job: a front that is asked twice enqueues once.
await front.send("letter-a", "Letter a", { agent: "clerk", id: "job" });
// endregion

const queued = await front.threads({ label: { batch: "monday" } });
console.log(`${queued.items.length} jobs, ${queued.items.filter(({ state }) => state === "completed").length} done`);

const program = fileURLToPath(new URL("worker.ts", import.meta.url));
const worker = spawn(process.execPath, [...process.execArgv, program, file], { stdio: "inherit" });

// region follow
const isDone = async () => {
  const { items } = await front.threads({ label: { batch: "monday" }, state: "completed" });
  return items.length === 3;
};
// A hint may be lost: it says when to look, and the list has the truth.
for await (const _hint of front.changes()) if (await isDone()) break;
// endregion

const done = await front.threads({ label: { batch: "monday" } });
for (const { threadId, title, state } of done.items.toSorted((a, b) => (a.threadId < b.threadId ? -1 : 1)))
  console.log(`${threadId}: ${title}, ${state}`);
worker.kill("SIGTERM");
console.log(`the worker ended with ${(await once(worker, "exit"))[0]}`);
await front.close();
rmSync(folder, { recursive: true });
