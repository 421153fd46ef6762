// A tool asks a question in the middle of its work. Another process answers, and continues after the recorded steps.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = mkdtempSync(join(tmpdir(), "belay-example-"));
const file = join(folder, "threads.db");

for (const name of ["ask", "answer"]) {
  const program = fileURLToPath(new URL(`${name}.ts`, import.meta.url));
  const env = { ...process.env, NAME: `${name}.ts` };
  const { status } = spawnSync(process.execPath, [...process.execArgv, program, file], { env, stdio: "inherit" });
  if (status !== 0) throw new Error(`${name}.ts ended with ${status}`);
  if (name === "ask") console.log("— that process is gone");
}
rmSync(folder, { recursive: true });
