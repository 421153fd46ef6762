import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Home, testProgram } from "../testing/processes.ts";

const program = testProgram();
const init = (home: Home, env = {}) => home.belay(["rules", "init"], { env });
const thereIn = (home: Home) => ({
  code: 1,
  stdout: `${join(home.config, "permissions.json")} already exists.\n`,
  stderr: "",
});

test("of several at once one makes the rules, and to the others they are there already", async () => {
  const home = program.home();
  const all = await Promise.all(Array.from({ length: 4 }, () => init(home)));
  const [made, ...others] = all.sort((a, b) => a.code! - b.code!);
  expect(made).toMatchObject({ code: 0, stderr: "" });
  expect(others).toEqual(others.map(() => thereIn(home)));
});

/** Runs before the last step of making the rules. */
function before(home: Home, lastStep: string) {
  const file = join(home.folder, "before.cjs");
  const script = `
    const fs = require("node:fs");
    const { linkSync } = fs;
    fs.linkSync = (from, file) => { ${lastStep}; return linkSync(from, file); };
    require("node:module").syncBuiltinESMExports();
  `;
  writeFileSync(file, script);
  return { NODE_OPTIONS: `--require=${file}` };
}

test("rules that another process makes in the last moment stay", async () => {
  const home = program.home();
  const env = before(home, `fs.writeFileSync(file, '{ "rules": [] }')`);
  expect(await init(home, env)).toEqual(thereIn(home));
  expect(readFileSync(join(home.config, "permissions.json"), "utf8")).toBe('{ "rules": [] }');
  expect(readdirSync(home.config)).toEqual(["permissions.json"]);
});

test("on a disk without room no rules are made, and nothing is left that would be read as rules", async () => {
  const home = program.home();
  // As much as a full disk: files are made, and nothing can be written to them.
  const onFull = () => home.belay(["rules", "init"], { first: "ulimit -f 0" });
  const full = await onFull();
  expect(full).toMatchObject({ code: 1, stdout: "" });
  expect(full.stderr).toContain(`${JSON.stringify(join(home.config, "permissions.json"))} cannot be written`);
  expect(readdirSync(home.config)).toEqual([]);
  expect(await home.belay(["-p", "hello"])).toMatchObject({ code: 0 });
  expect(await init(home)).toMatchObject({ code: 0 });
  expect(await onFull()).toEqual(thereIn(home));
});

test("on a disk that has no links they are made all the same, for their owner only, and never over others", async () => {
  const home = program.home();
  const refused = `throw Object.assign(new Error("not supported"), { code: "ENOTSUP" })`;
  expect(await init(home, before(home, refused))).toMatchObject({ code: 0, stderr: "" });
  expect(readdirSync(home.config)).toEqual(["permissions.json"]);
  expect(statSync(join(home.config, "permissions.json")).mode & 0o777).toBe(0o600);
  expect(await home.belay(["rules"])).toMatchObject({ code: 0 });

  const other = program.home();
  const faster = before(other, `fs.writeFileSync(file, '{ "rules": [] }'); ${refused}`);
  expect(await init(other, faster)).toEqual(thereIn(other));
  expect(readFileSync(join(other.config, "permissions.json"), "utf8")).toBe('{ "rules": [] }');
});

test("a link that leads nowhere already exists", async () => {
  const home = program.home();
  mkdirSync(home.config);
  symlinkSync(join(home.folder, "nowhere"), join(home.config, "permissions.json"));
  expect(await init(home)).toEqual(thereIn(home));
});
