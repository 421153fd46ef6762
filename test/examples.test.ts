import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { bundledDoors } from "../scripts/bundled-doors.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const examples = join(root, "examples");
// `start` is a program for a person at a terminal.
const folders = existsSync(examples)
  ? readdirSync(examples).filter((name) => name !== "start" && existsSync(join(examples, name, "main.ts")))
  : [];

let doors: Readonly<Record<string, string>>;
beforeAll(async () => {
  doors = await bundledDoors();
});

test.concurrent.for(folders)(
  "%s runs without any key and prints what its output.txt says",
  async (name, { expect }) => {
    const { code, stdout, stderr } = await runExample(join(examples, name, "main.ts"));
    expect(code, stderr).toBe(0);
    const output = join(examples, name, "output.txt");
    if (existsSync(output)) expect(stdout).toBe(readFileSync(output, "utf8"));
  },
);

test("each example has a number of its own", () => {
  const numbers = folders.map((name) => name.split("-")[0]);
  expect(numbers).toEqual([...new Set(numbers)]);
});

/** A process of its own, as a reader would start it, with no key in its environment. */
function runExample(file: string): Promise<{ code: number | string; stdout: string; stderr: string }> {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: process.env.TMPDIR, NO_COLOR: "1", ...doors };
  const options = { cwd: root, env, timeout: 150_000 };
  return new Promise((resolve) => {
    const child = execFile(process.execPath, ["--import", "tsx", file], options, (error, stdout, stderr) =>
      resolve({ code: error ? (error.code ?? error.signal ?? "failed") : 0, stdout, stderr }),
    );
    child.stdin?.end();
  });
}
