import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { bundledDoors } from "../../scripts/bundled-doors.mjs";

test("the chat page runs, stops, continues, is loaded again and approves, in a real browser", async () => {
  const program = fileURLToPath(new URL("./check.mjs", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program], {
    env: { ...process.env, ...(await bundledDoors()) },
    timeout: 120_000,
  });
  expect(stdout).toContain("The page ran, stopped, continued, was loaded again, and approved.");
});
