import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { service } from "@belay/testkit";
import { expect, test } from "vitest";
import { bundledDoors } from "../../scripts/bundled-doors.mjs";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

test.each([
  ["DATABASE_URL", "postgres"],
  ["REDIS_URL", "redis"],
] as const)("P18: with %s its output equals that on a SQLite file", async (name, server) => {
  const { PATH, TMPDIR } = process.env;
  const env = { PATH, TMPDIR, NO_COLOR: "1", [name]: await service(server), ...(await bundledDoors()) };
  const given = ["--import", "tsx", here("main.ts")];
  const { stdout } = await promisify(execFile)(process.execPath, given, { cwd: here("../.."), env, timeout: 150_000 });
  expect(stdout).toBe(readFileSync(here("output.txt"), "utf8"));
});
