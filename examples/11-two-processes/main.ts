// Two processes share a store. A runs an agent; B, this one, follows it, steers it, stops it, and resumes it.
import { fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { guideOn } from "./guide.ts";
import { openStore } from "./stores.ts";

const folder = mkdtempSync(join(tmpdir(), "belay-example-"));
const file = join(folder, "threads.db");
const threadId = `tea-${randomUUID()}`;

const owner = fileURLToPath(new URL("owner.ts", import.meta.url));
const child = fork(owner, [file, threadId], { stdio: ["ignore", "pipe", "inherit", "ipc"] });
const exited = once(child, "exit");
/** Returns the next line of A. */
const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
const hear = async () => console.log((await lines.next()).value);

const { store, close } = await openStore(file);
const runner = guideOn(store);

// region remote
// Everything that is on record, from the beginning, and then as it comes.
for await (const event of runner.events(threadId)) {
  if (event.type === "tool-start") {
    await hear();
    console.log("B  sees a call begin, and steers");
    await runner.steer(threadId, "And where is it from?");
    child.send("found");
  }
  if (event.type === "input-consumed") {
    console.log("B  sees that it was heard");
    break;
  }
}

await hear();
const receipt = await runner.interrupt(threadId, { by: "B" });
console.log(`B  stopped it in the middle of ${JSON.stringify(receipt.partialText)}`);
await hear();
await exited;

// A is gone. This process resumes its thread.
const session = await runner.open(threadId);
for await (const event of session.resume({ input: "Only what it is, please." })) {
  if (event.type === "text-delta") console.log(`B  ${event.text}`);
}
// endregion

await runner.close();
await close();
rmSync(folder, { recursive: true });
