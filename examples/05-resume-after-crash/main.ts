// A process dies in the middle of a run, and another one resumes from the file. No finished step is repeated.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { open } from "./booking.ts";

const folder = mkdtempSync(join(tmpdir(), "belay-example-"));
const file = join(folder, "threads.db");

// The first process books the train, and is killed while it books the hotel.
const first = fileURLToPath(new URL("first.ts", import.meta.url));
const { stdout, stderr, signal } = spawnSync(process.execPath, [...process.execArgv, first, file], {
  encoding: "utf8",
});
process.stdout.write(stdout);
if (signal !== "SIGKILL") throw new Error(`It should have died: ${stderr}`);
console.log(`— the first process is dead (${signal}); this is the second`);

// region resume
const { runner, db } = await open(file);
const session = await runner.open("trip");
console.log(`the thread is ${session.state}, by a ${session.pauseType}`);

for await (const event of session.resume()) {
  if (event.type === "tool-start") console.log(`→ ${event.tool}`);
  if (event.type === "tool-end") console.log(`← ${event.tool}: ${event.held ? "cut off" : event.outcome}`);
  if (event.type === "text-delta") console.log(event.text);
}
// endregion

await runner.close();
db.close();
rmSync(folder, { recursive: true });
