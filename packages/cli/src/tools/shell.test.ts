// Real commands, in real process groups.
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, type BelayEvent, createRunner, type Tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { judgeBy } from "../permissions/judge.ts";
import { folderTools } from "./tools.ts";

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "belay-shell-")));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const permissions = { default: "allow" as const };

function shelling(args: { command: string; timeoutSeconds?: number }) {
  const tools: readonly Tool<unknown>[] = folderTools(
    root,
    judgeBy(permissions, () => tools),
  );
  const model = scriptedModel([[{ call: "shell", args }], "done"]);
  return createRunner({ agent: agent({ name: "belay", model, tools }), permissions }).open();
}

async function resultOf(args: Parameters<typeof shelling>[0]): Promise<unknown> {
  const session = await shelling(args);
  await session.run("go").result;
  return session.messages.flatMap(({ parts }) => parts).find((part) => part.type === "result")?.output;
}

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 10));
}

test("a command runs in the folder, without input, and returns its output and its exit code", async () => {
  expect(await resultOf({ command: "pwd; echo oops >&2; cat; exit 3" })).toBe(`${root}\noops\n[exit code 3]`);
  expect(await resultOf({ command: "no-such-command-here" })).toContain("[exit code 127]");
  expect(await resultOf({ command: "kill -9 $$" })).toBe("[ended by SIGKILL]");
});

test("it does not get the keys that this program was given", async () => {
  process.env.OPENAI_API_KEY = "sk-secret";
  try {
    expect(await resultOf({ command: "echo [$OPENAI_API_KEY]" })).toBe("[]\n[exit code 0]");
  } finally {
    delete process.env.OPENAI_API_KEY;
  }
});

test("its output is reported while it runs, and characters are whole", async () => {
  const goesOn = "until [ -e heard ]; do sleep 0.01; done";
  const session = await shelling({ command: `printf 'ä\\342'; ${goesOn}; printf '\\202\\254\\n'; echo end` });
  const run = session.run("go");
  const told: string[] = [];
  for await (const event of run as AsyncIterable<BelayEvent>) {
    if (event.type !== "tool-progress") continue;
    told.push((event.data as { text: string }).text);
    writeFileSync(join(root, "heard"), "");
  }
  expect(told.join("")).toBe("ä€\nend\n");
  expect(told.length).toBeGreaterThan(1);
});

test("a burst of output, and its last words, are reported too", async () => {
  const session = await shelling({
    command: "echo one; sleep 0.02; echo two; sleep 0.3; echo three; sleep 0.01; echo four",
  });
  let told = "";
  for await (const event of session.run("go") as AsyncIterable<BelayEvent>) {
    if (event.type === "tool-progress") told += (event.data as { text: string }).text;
  }
  expect(told).toBe("one\ntwo\nthree\nfour\n");
});

test("a long output keeps its beginning and its end", async () => {
  const output = String(await resultOf({ command: "seq 1 100000" }));
  expect(output.length).toBeLessThan(31_000);
  expect(output.startsWith("1\n2\n3\n")).toBe(true);
  expect(output).toMatch(/\[\d+ characters left out\]/);
  expect(output.endsWith("99999\n100000\n[exit code 0]")).toBe(true);
});

test("S1, P14: a stop ends the command and all its processes, and its output is kept", async () => {
  const session = await shelling({ command: "sleep 300 & echo $! > child; echo $$ > parent; echo begun; wait" });
  const run = session.run("go");
  const told = (async () => {
    for await (const event of run as AsyncIterable<BelayEvent>) if (event.type === "tool-progress") return;
  })();
  await until(() => existsSync(join(root, "parent")) && readFileSync(join(root, "parent"), "utf8").endsWith("\n"));
  const pids = ["child", "parent"].map((name) => Number(readFileSync(join(root, name), "utf8")));
  expect(pids.map(isAlive)).toEqual([true, true]);
  await told;
  expect(await session.interrupt()).toMatchObject({ accepted: true });
  await until(() => !pids.some(isAlive));
  const result = session.messages.flatMap(({ parts }) => parts).find((part) => part.type === "result");
  expect(result).toMatchObject({ outcome: "interrupted" });
  expect(JSON.stringify(result)).toContain("begun");
});

test("a command that takes too long is ended, also if it ignores signals, and the result says so", async () => {
  const output = await resultOf({
    command: "trap '' TERM; echo $$ > pid; echo on; while :; do sleep 0.1; done",
    timeoutSeconds: 3,
  });
  expect(output).toBe("on\n[ended after 3 seconds; give timeoutSeconds for more, or run less at once]");
  const pid = Number(readFileSync(join(root, "pid"), "utf8"));
  await until(() => !isAlive(pid));
});

test("background processes of a command end with it", async () => {
  expect(await resultOf({ command: "sleep 300 >/dev/null 2>&1 & echo $!" })).toMatch(/^\d+\n\[exit code 0\]$/);
  const output = String(await resultOf({ command: "sleep 300 >/dev/null 2>&1 & echo $!" }));
  await until(() => !isAlive(Number.parseInt(output, 10)));
});
