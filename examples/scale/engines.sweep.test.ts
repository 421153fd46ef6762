import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, inject, test } from "vitest";
import { bundledDoors } from "../../scripts/bundled-doors.mjs";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const { everyVariant } = inject("effort");

test.each(everyVariant ? ["bullmq", "dbos", "restate"] : ["dbos"])(
  "on %s its output equals that without an engine",
  async (engine) => {
    const { PATH, HOME, TMPDIR } = process.env;
    const env = { PATH, HOME, TMPDIR, NO_COLOR: "1", ...(await bundledDoors()) };
    const given = ["--import", "tsx", here("main.ts"), "--engine", engine];
    const { stdout } = await promisify(execFile)(process.execPath, given, {
      cwd: here("../.."),
      env,
      timeout: 150_000,
    });
    expect(stdout).toBe(readFileSync(here("output.txt"), "utf8"));
  },
);
