// belay answer gets a signal while the call that it approved runs in it.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { wireServer } from "@belay/testkit/wire";
import { expect, test } from "vitest";
import { asked, jsonLines } from "../testing/asked.ts";
import { type Home, testProgram } from "../testing/processes.ts";

const program = testProgram();

const inbox = async (home: Home) => jsonLines((await home.belay(["inbox", "--json"])).stdout);

/** It has a child of its own, and ends by nothing that can be refused. */
const STUBBORN = "trap '' TERM INT HUP; echo $$ > pid; while :; do sleep 1; done";

/** Approves the command that is asked for, with another in its place; `group` is that of its processes. */
async function running(home: Home, command: string) {
  const request = (await inbox(home)).find(({ tool }) => tool === "shell")!;
  const started = home.start(["answer", String(request.id), "yes", "--args", JSON.stringify({ command })]);
  const file = join(home.folder, "pid");
  while (!existsSync(file) || readFileSync(file, "utf8") === "") await sleep(10);
  return { ...started, group: -Number(readFileSync(file, "utf8")) };
}

async function untilGone(group: number): Promise<void> {
  for (;;) {
    try {
      process.kill(group, 0);
    } catch {
      return;
    }
    await sleep(10);
  }
}

const SIGNALS = [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const;

test.each(SIGNALS)(
  "%s: the command ends with all processes that it started, the stop is on record, and the exit code shows it",
  async (signal, code) => {
    const home = program.home();
    const { threadId } = await asked(home, "run date");
    const { child, ended, group } = await running(home, "echo so far; echo $$ > pid; sleep 600 & wait");
    child.kill(signal);
    expect(await ended).toMatchObject({ code, stdout: expect.stringContaining("approve: taken."), stderr: "" });
    await untilGone(group);
    const facts = jsonLines((await home.belay(["log", threadId, "--json"])).stdout);
    expect(facts.at(-1)).toMatchObject({ type: "state", state: "paused", pauseType: "user_interrupt" });
    expect(JSON.stringify(facts)).toContain("so far");
    expect(await home.belay(["-p", "--resume", threadId])).toMatchObject({ code: 0 });
  },
);

test.each(SIGNALS)("%s: another request of the same thread stays open, and its answer counts", async (signal, code) => {
  const wire = await wireServer();
  try {
    const home = program.home();
    wire.script([
      { call: "shell", id: "c1", args: { command: "date" } },
      { call: "write", id: "c2", args: { path: "made", text: "after all\n" } },
    ]);
    await home.belay(["-p", "go", "--ask", "pause", "--base-url", wire.url, "--model", "m"]);
    const { child, ended, group } = await running(home, STUBBORN);
    child.kill(signal);
    expect(await ended).toMatchObject({ code, stdout: expect.stringContaining("approve: taken."), stderr: "" });
    await untilGone(group);
    const request = (await inbox(home)).find(({ tool }) => tool === "write");
    expect(await home.belay(["answer", String(request?.id), "yes"])).toMatchObject({ code: 0 });
    expect(readFileSync(join(home.folder, "made"), "utf8")).toBe("after all\n");
  } finally {
    await wire.close();
  }
});

test("a second signal ends it at once, and the command with it", async () => {
  const home = program.home();
  await asked(home, "run date");
  const { child, ended, group } = await running(home, STUBBORN);
  const again = setInterval(() => child.kill("SIGTERM"), 20);
  expect(await ended).toEqual({ code: 143, stdout: "", stderr: "" });
  clearInterval(again);
  await untilGone(group);
});
