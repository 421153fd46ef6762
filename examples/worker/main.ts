// A process that continues threads, and ends in good order on SIGTERM.
import { agent, createRunner, memoryStore } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";

// In earnest a database that several processes share.
const store = memoryStore();
const model = scriptedModel((_request, call) =>
  call === 0 ? [{ text: "I look" }, { stall: true }] : " for the drawer. Filed.",
);
const clerk = agent({ name: "clerk", model });

// A process that was cut off in the middle of its work.
const front = createRunner({ agent: clerk, store });
const run = await front.run("File this.", { id: "office" });
for await (const event of run) if (event.type === "text-delta") break;
await front.close();
const [left] = (await front.threads()).items;
console.log(`— left behind: ${left?.state}, ${left?.pauseType}`);

// region worker
const runner = createRunner({ agent: clerk, store });
const ending = new AbortController();

process.once("SIGTERM", () => {
  ending.abort(); // take on nothing more
  void runner.drain({ timeoutMs: 10_000 }); // release each thread at its next boundary; other workers continue it
});

const working = runner.work({ concurrency: 4, pollMs: 10, signal: ending.signal });
// endregion

for await (const event of runner.events("office")) {
  if (event.type === "message") {
    const text = event.message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
    console.log(`${event.message.role}${event.message.interrupted ? " (cut)" : ""}: ${text}`);
  }
  if (event.type === "run-end") break;
}
process.kill(process.pid, "SIGTERM");
await working;
console.log("— drained");
