// The record names the person that answered or stopped, by one rule, in the app and in the commands.

import { execFileSync } from "node:child_process";
import { userInfo } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { wireServer } from "@belay/testkit/wire";
import { expect, test } from "vitest";
import { SEEN_MS, testTalks, write } from "./testing/talk.ts";
import { CTRL_D, ESC } from "./testing/terminal.ts";

const { program, talk } = testTalks(wireServer);

const me = userInfo().username;
const ask = { call: "ask_user", id: "which", args: { question: "Which door?", options: ["this one"] } };

test("Q4: answers and stops in the app are by the person's name, in log and in both exports; the screen does not repeat it", async () => {
  const terminal = await talk([[write("a.txt"), write("b.txt")], [ask], ["Half ", { stall: true }]]);
  terminal.ask("make them");
  await terminal.untilSeen("2 requests open");
  for (const [request, keys] of [
    ["Create a.txt?", ["y", "\r"]],
    ["Create b.txt?", ["n", "\r", "not that\r"]],
    ["Which door?", ["1", "\r"]],
  ] as const) {
    await terminal.untilSeen(request);
    for (const key of keys) {
      await sleep(SEEN_MS);
      terminal.press(key);
    }
  }
  await terminal.untilSeen("Half");
  // The person in this terminal gave the answer.
  expect(terminal.text()).not.toContain(`approved by ${me}`);
  terminal.press(ESC);
  await terminal.untilSeen("── stopped");
  terminal.press(CTRL_D);
  const [, id = ""] = /belay --resume (\S+)/.exec(await terminal.until("Resume with: belay --resume")) ?? [];
  await terminal.exited;

  const env = { ...process.env, ...program().env, ...terminal.env, LANG: "en_US.UTF-8" };
  const belay = (...args: string[]) =>
    execFileSync(process.execPath, [program().main, ...args], { env, encoding: "utf8" });
  const log = belay("log", id);
  for (const how of ["approve", "reject", "respond"]) expect(log).toContain(` ${how} by ${me}\n`);
  expect(log).toMatch(new RegExp(`stop +by ${me}: direction_change\n`));
  expect(log).not.toContain("by user");
  const page = belay("export", id);
  expect(page).toContain(`→ ok · approved by ${me}\n`);
  expect(page).toContain(`→ rejected · rejected by ${me}\n`);
  expect(page).toContain(`→ ok · answered by ${me}\n`);
  expect(page).toContain(`(cut by ${me})`);
  const { facts } = JSON.parse(belay("export", id, "--format", "json")) as { facts: { type: string; by?: string }[] };
  expect(facts.flatMap(({ type, by }) => (type === "request-answered" ? [by] : []))).toEqual([me, me, me]);
});
