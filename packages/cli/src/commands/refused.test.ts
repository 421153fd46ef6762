// A refusal of the system is reported with its subject and a remedy: no command ends with a bare ENOENT.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testProgram } from "../testing/processes.ts";

const program = testProgram();

const HINT = "Name a file in an existing, writable folder with room.";

test("a page that cannot be written names its file and why, and is a failure", async () => {
  const home = program.home();
  await home.belay(["-p", "hello"]);
  const [id = ""] = (await home.belay(["threads"])).stdout.split(" ");
  const plain = join(home.folder, "plain");
  writeFileSync(plain, "");
  const places = [
    [join(home.folder, "no/such/page.md"), "ENOENT"],
    [home.folder, "EISDIR"],
    [join(plain, "page.md"), "ENOTDIR"],
    ["", "ENOENT"],
    ...(existsSync("/dev/full") ? [["/dev/full", "ENOSPC"] as const] : []),
  ] as const;
  for (const [place, why] of places) {
    const { code, stdout, stderr } = await home.belay(["export", id, "-o", place]);
    expect([code, stdout], place).toEqual([1, ""]);
    expect(stderr.startsWith(`${JSON.stringify(place)} cannot be written: ${why}: `), stderr).toBe(true);
    expect(stderr.endsWith(`. ${HINT}\n`), stderr).toBe(true);
  }
  const chinese = await home.belay(["export", id, "-o", home.folder, "--lang", "zh"]);
  expect(chinese.stderr).toMatch(/^无法写入 .*EISDIR.*。 请指定/);
  const rules = await home.belay(["rules", "init", "--config", plain]);
  expect([rules.code, rules.stderr]).toEqual([
    1,
    expect.stringContaining(`${plain}/permissions.json" cannot be written`),
  ]);
});

test("a file of threads that is none is named, and left as it is", async () => {
  const home = program.home();
  const file = join(home.data, "threads.db");
  mkdirSync(home.data);
  writeFileSync(file, "this is no database, and it was somebody's");
  for (const args of [["threads"], ["inbox"], ["rules"], ["-p", "hello"]]) {
    const { code, stderr } = await home.belay(args);
    expect([code, stderr], args.join(" ")).toEqual([
      1,
      `${file} cannot be read: file is not a database. Nothing was overwritten. Look whether it is the right file; else restore it from a backup.\n`,
    ]);
  }
  expect(readFileSync(file, "utf8")).toBe("this is no database, and it was somebody's");
});

test("every command reports a current folder that was removed", async () => {
  const home = program.home();
  const gone = join(home.folder, "gone");
  const cases = [
    ...[["-p", "hello"], ["threads", "--here"], ["mcp"], ["rules", "explain", "read"]].map((args) => ({
      args,
      env: {},
    })),
    // Their paths begin there.
    ...[["threads"], ["inbox"], ["-p", "hello"]].map((args) => ({ args: [...args, "--data", "rel"], env: {} })),
    { args: ["threads"], env: { BELAY_DATA: "rel" } },
    { args: ["threads"], env: { BELAY_DATA: "", XDG_DATA_HOME: "rel" } },
    { args: ["rules", "init"], env: { BELAY_CONFIG: "rel" } },
    { args: ["rules", "--config", "rel"], env: {} },
  ];
  for (const { args, env } of cases) {
    mkdirSync(gone);
    const { code, stderr } = await home.belay(args, { cwd: gone, env, first: 'rmdir "$PWD"' });
    expect([code, stderr], args.join(" ")).toEqual([
      2,
      expect.stringMatching(/^The folder that you are in no longer exists: .*\. Change to an existing folder\.\n$/),
    ]);
  }
});
