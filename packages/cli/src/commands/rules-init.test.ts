import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Home, testProgram } from "../testing/processes.ts";

const program = testProgram();
const init = (home: Home, env = {}) => home.belay(["rules", "init"], { env });
const thereIn = (home: Home) => ({
  code: 1,
  stdout: `${join(home.config, "permissions.json")} is there already.\n`,
  stderr: "",
});

test("of several at once one makes the rules, and to the others they are there already", async () => {
  const home = program.home();
  const all = await Promise.all(Array.from({ length: 4 }, () => init(home)));
  const [made, ...others] = all.sort((a, b) => a.code! - b.code!);
  expect(made).toMatchObject({ code: 0, stderr: "" });
  expect(others).toEqual(others.map(() => thereIn(home)));
});

test("rules that somebody makes in the last moment are there already, and stay", async () => {
  const home = program.home();
  const faster = join(home.folder, "faster.cjs");
  const script = `
    const fs = require("node:fs");
    const { writeFileSync } = fs;
    fs.writeFileSync = (file, ...rest) => {
      if (String(file).endsWith("permissions.json")) writeFileSync(file, '{ "rules": [] }');
      return writeFileSync(file, ...rest);
    };
    require("node:module").syncBuiltinESMExports();
  `;
  writeFileSync(faster, script);
  expect(await init(home, { NODE_OPTIONS: `--require=${faster}` })).toEqual(thereIn(home));
  expect(readFileSync(join(home.config, "permissions.json"), "utf8")).toBe('{ "rules": [] }');
});

test("a link that leads nowhere is there already", async () => {
  const home = program.home();
  mkdirSync(home.config);
  symlinkSync(join(home.folder, "nowhere"), join(home.config, "permissions.json"));
  expect(await init(home)).toEqual(thereIn(home));
});
