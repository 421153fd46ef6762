// Process A: runs the thread, without knowledge of other processes.
import { once } from "node:events";
import { guideOn } from "./guide.ts";
import { openStore } from "./stores.ts";

const [, , file = "", threadId = ""] = process.argv;
const { store, close } = await openStore(file);
const runner = guideOn(store, once(process, "message"));
const session = await runner.open(threadId);

const run = session.run("Tell me about tea.");
for await (const event of run) {
  if (event.type === "tool-start") console.log(`A  → ${event.tool}`);
  if (event.type === "text-delta") console.log(`A  ${event.text}`);
}
const result = await run.result;
console.log(
  `A  ${result.status}${result.status === "interrupted" ? `, by ${session.interrupts[0]?.by ?? "another process"}` : ""}`,
);

await runner.close();
await close();
process.disconnect();
