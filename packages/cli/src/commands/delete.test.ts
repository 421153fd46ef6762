// A person deletes threads: real processes, and a real terminal for the question.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Home, testProgram } from "../testing/processes.ts";
import { bundledProgram, type Program } from "../testing/program.ts";
import { CTRL_D, ENTER } from "../testing/terminal.ts";

const program = testProgram();
let screens: Program;
beforeAll(async () => {
  screens = await bundledProgram();
});
afterAll(() => screens?.close());

const idOf = (stdout: string) => (JSON.parse(stdout) as { threadId: string }).threadId;

async function threadOf(home: Home, ...args: string[]): Promise<string> {
  return idOf((await home.belay(["-p", ...args, "--output-format", "json"])).stdout);
}

const threads = async (home: Home) =>
  (await home.belay(["threads", "--json"])).stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as { id: string }).id)
    .sort();

test("by the beginning of its id, all or none; without a terminal only by --yes", async () => {
  const home = program.home();
  const ids = [await threadOf(home, "help"), await threadOf(home, "think"), await threadOf(home, "long 1")].sort();
  const [a, b, c] = ids as [string, string, string];
  expect(await home.belay(["delete", a])).toEqual({
    code: 2,
    stdout: "",
    stderr: "Nothing was deleted: there is no terminal to ask on. --yes deletes without asking.\n",
  });
  expect(await home.belay(["delete", a, "nosuch", "--yes"])).toMatchObject({ code: 2, stdout: "" });
  expect(await threads(home)).toEqual(ids);
  expect(await home.belay(["delete", a.slice(0, -2), a, b, "--yes"])).toEqual({
    code: 0,
    stdout: `Deleted ${a}.\nDeleted ${b}.\n`,
    stderr: "",
  });
  expect(await threads(home)).toEqual([c]);
  expect(readdirSync(join(home.data, "notes"))).toEqual([`${c}.json`]);
  expect(await home.belay(["log", a])).toMatchObject({ code: 2 });
  expect((await home.belay(["delete", c, "--yes", "--json"])).stdout).toBe(`{"id":"${c}","deleted":true}\n`);
});

test("its open requests leave the inbox; T2: a fork keeps its past", async () => {
  const home = program.home();
  const parent = await threadOf(home, "think");
  const fork = await threadOf(home, "help", "--resume", parent, "--fork");
  const waits = await threadOf(home, "run true", "--ask", "pause");
  expect(await home.belay(["delete", parent, waits, "--yes"])).toMatchObject({ code: 0 });
  expect((await home.belay(["inbox"])).stderr).toBe("Nothing waits for an answer.\n");
  expect((await home.belay(["export", fork])).stdout).toContain("## Person\n\nthink\n");
  expect(await threads(home)).toEqual([fork]);
});

test("C3: one that is running stays, and the others go", async () => {
  const home = program.home();
  const idle = await threadOf(home, "think");
  const running = home.start(["-p", "long 400", "--output-format", "stream-json"], {
    env: { BELAY_DEMO_DELAY_MS: "50" },
  });
  const [, busy] = /"threadId":"(\w+)"/.exec(await running.said("text-delta"))!;
  const { code, stdout, stderr } = await home.belay(["delete", busy!, idle, "--yes"]);
  expect([code, stdout]).toEqual([1, `Deleted ${idle}.\n`]);
  expect(stderr).toContain(`Thread ${busy} is running in another terminal.`);
  expect(await threads(home)).toEqual([busy]);
});

test("on a terminal it lists the threads to delete, and only a plain yes is a yes", async () => {
  const home = program.home();
  const id = await threadOf(home, "think");
  const env = { BELAY_DATA: home.data, BELAY_CONFIG: home.config };
  for (const keys of [ENTER, `no${ENTER}`, `yes please${ENTER}`, CTRL_D]) {
    const terminal = screens.open(["delete", id], { cwd: home.folder, env });
    await terminal.until(/ think This thread goes for good, with all that was said\..* Type yes to delete:/);
    terminal.press(keys);
    await terminal.until("Nothing was deleted.");
    expect(await terminal.exited).toBe(1);
  }
  expect(await threads(home)).toEqual([id]);
  const terminal = screens.open(["delete", id], { cwd: home.folder, env });
  await terminal.until("Type yes to delete:");
  terminal.press(`yes${ENTER}`);
  await terminal.until(`Deleted ${id}.`);
  expect(await terminal.exited).toBe(0);
  expect(await threads(home)).toEqual([]);
});
