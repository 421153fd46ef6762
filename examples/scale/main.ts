// PostgreSQL, two fronts and four workers, each a process, on the engine that you choose:
//
//   node --import tsx examples/scale/main.ts                    the loop: no engine
//   node --import tsx examples/scale/main.ts --engine dbos      or bullmq, restate
//
// It starts the servers that it needs, without containers. compose.yaml beside it is the same for containers.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connect } from "@belay/client";
import { approve, createRunner } from "@belay/core";
import { postgresStore } from "@belay/core/postgres";
import pg from "pg";
import { startEngine } from "../../scripts/services/engines.mjs";
import { ownPostgres } from "../../scripts/services/postgres.mjs";
import { openDispatcher, type Settings } from "./dispatch.ts";

const WORKERS = 4;
const chosen = process.argv.indexOf("--engine");
const engine = (chosen < 0 ? "loop" : process.argv[chosen + 1]) as Settings["engine"];

const database = await ownPostgres();
const own = engine === "loop" ? undefined : await startEngine(engine, WORKERS);
const settingsOf = (place?: number) => (own?.settings(place) ?? { engine }) as Settings;
const folder = mkdtempSync(join(tmpdir(), "belay-scale-"));
const killed = join(folder, "killed");

function start(program: string, place?: number): ChildProcess {
  const env = {
    ...process.env,
    DATABASE_URL: database.url,
    SETTINGS: JSON.stringify(settingsOf(place)),
    KILLED: killed,
  };
  return fork(fileURLToPath(new URL(program, import.meta.url)), { env, stdio: ["ignore", "ignore", "inherit", "ipc"] });
}

const pool = new pg.Pool({ connectionString: database.url });
const store = postgresStore(pool);
const dispatcher = await openDispatcher(settingsOf(), store);
const workers = Array.from({ length: WORKERS }, (_, place) => start("worker.ts", place));
await Promise.all(workers.map((worker) => once(worker, "message")));

// region front
// The front has no agents: it records commands, and follows threads that run in any worker.
const front = (tenant: string) => createRunner({ store, tenant, dispatcher, start: "worker" });
// endregion
const tenants = ["acme", "globex", "initech", "umbrella"].map(front);
const [acme] = tenants as [ReturnType<typeof front>];

/** The text of a thread so far, when it holds; resolves at the end of its run at the latest. */
async function read(runner: typeof acme, threadId: string, enough: (text: string) => boolean): Promise<string> {
  let text = "";
  for await (const event of runner.events(threadId)) {
    if (event.type === "text-delta") text = event.offset === 0 ? event.text : text + event.text;
    if (event.type === "message" && event.message.role === "assistant")
      text = event.message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
    if (event.type === "run-end" || enough(text)) break;
  }
  return text;
}
const never = () => false;

console.log("— 40 threads of four tenants");
const all = tenants.flatMap((runner, i) =>
  Array.from({ length: 10 }, (_, j) => ({ runner, threadId: `thread-${i}-${j}` })),
);
for (const { runner, threadId } of all) await runner.send(threadId, `Task of ${threadId}`, { agent: "clerk" });
const answers = await Promise.all(all.map(({ runner, threadId }) => read(runner, threadId, never)));
console.log(`  ${answers.filter((text, i) => text === `Done: Task of ${all[i]!.threadId}`).length} answers`);

console.log("— a worker streams, and the front stops it");
await acme.send("count", "Count.", { agent: "clerk" });
console.log(`  ${await read(acme, "count", (text) => text.includes("three"))}`);
const receipt = await acme.interrupt("count", { by: "front" });
console.log(`  stopped: ${receipt.accepted}`);

console.log("— an approval is answered at the front, and a worker pays");
await acme.send("bill", "Pay the bill.", { agent: "clerk" });
for (let open = true; open; ) {
  const { items } = await acme.inbox();
  for (const { id } of items) await acme.answer(id, approve({ by: "ann" }));
  open = items.length === 0;
  await new Promise((resolve) => setTimeout(resolve, 20));
}
console.log(`  ${await read(acme, "bill", (text) => text.includes("paid"))}`);

console.log("— a front of its own, over HTTP");
const other = start("front.ts");
const [door] = (await once(other, "message")) as [{ url: string; token: string }];
const page = connect(door).open("page");
console.log(`  sent as ${(await page.send("Count.", { agent: "clerk" })).how}`);
for await (const event of page.events())
  if (event.type === "text-delta" && event.text.includes("three")) {
    console.log(`  kept: ${(await page.interrupt()).partialText}`);
    break;
  }
other.kill("SIGTERM");
console.log(`  exit code ${(await once(other, "exit"))[0]}`);

console.log("— a worker is killed in the middle of an answer, and another one continues");
await acme.send("long", "Work long.", { agent: "clerk" });
await read(acme, "long", (text) => text.includes("I begin"));
writeFileSync(killed, "");
// A lease names its owner by place, process and time.
const pid = Number((await acme.look("long"))?.owner?.name.split("/")[1]);
const victim = workers.findIndex((worker) => worker.pid === pid);
workers[victim]!.kill("SIGKILL");
console.log(`  ${await read(acme, "long", (text) => text.startsWith("Done"))}`);

console.log("— SIGTERM: workers let go, and end");
const rest = workers.filter((_, i) => i !== victim);
for (const worker of rest) worker.kill("SIGTERM");
const codes = await Promise.all(
  rest.map(async (worker) => (worker.exitCode ?? (await once(worker, "exit"))[0]) as number),
);
console.log(`  exit codes ${codes.join(", ")}`);

await Promise.all(tenants.map((runner) => runner.close()));
await dispatcher.close();
await pool.end();
await own?.stop();
await database.stop();
rmSync(folder, { recursive: true });
