// The stop leaves nothing behind: processes that left their group, commands that outlived a crash, keys that came in pieces,
// pastes without an end, streams that break. In a real terminal, against a model server that records aborts.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type WireReply, wireServer } from "@belay/testkit/wire";
import { describe, expect, test } from "vitest";
import { SEEN_MS, testTalks } from "../testing/talk.ts";
import { ENTER, ESC } from "../testing/terminal.ts";

const { talk } = testTalks(wireServer);

const anyShell = { rules: [{ tool: "shell", effect: "allow" }] };
const shell = (command: string, id = "c1") => ({ call: "shell", id, args: { command } });
const DOWN = `${ESC}[B`;

/** The number that a command writes into a file, once it has. */
async function pidIn(file: string): Promise<number> {
  while (!existsSync(file) || !readFileSync(file, "utf8").endsWith("\n")) await sleep(10);
  return Number(readFileSync(file, "utf8"));
}

function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

async function untilDead(pid: number): Promise<void> {
  for (const started = Date.now(); isAlive(pid); await sleep(10)) {
    if (Date.now() - started > 10_000) throw new Error(`${pid} is still running`);
  }
}

describe.runIf(process.platform === "linux")("TS1: Esc ends a child that left its process group", () => {
  test.each([
    ["setsid", "setsid sh -c 'echo $$ > pid; sleep 300' & wait"],
    ["nohup and setsid", "nohup setsid sh -c 'echo $$ > pid; sleep 300' >/dev/null 2>&1 & wait"],
    ["setsid, deaf to SIGTERM", `setsid sh -c "trap '' TERM; echo \\$\\$ > pid; while :; do sleep 1; done" & wait`],
    ["setsid without environment", "env -i setsid sh -c 'echo $$ > pid; sleep 300' & wait"],
  ])("%s", async (_, command) => {
    const terminal = await talk([[shell(command)], ["Done."]], { rules: anyShell });
    terminal.ask("run it");
    const pid = await pidIn(join(terminal.folder, "pid"));
    expect(isAlive(pid)).toBe(true);
    terminal.press(ESC);
    await terminal.untilSeen("── stopped");
    expect(isAlive(pid)).toBe(false);
    expect(await terminal.untilSeen("1 stopped")).not.toContain("still running");
  });

  test("a process that outlives a finished command is named, on the screen and to the model", async () => {
    const command = "setsid sh -c 'echo $$ > pid; sleep 300' >/dev/null 2>&1 & sleep 0.3; exit 1";
    const terminal = await talk([[shell(command)], ["Done."]], { rules: anyShell });
    terminal.ask("run it");
    const pid = await pidIn(join(terminal.folder, "pid"));
    try {
      await terminal.untilSeen("Done.");
      expect(JSON.stringify((await terminal.wire.arrived(2)).body.messages)).toContain(`[still running: ${pid} sh -c`);
      expect(terminal.text()).toContain(`[still running: ${pid} sh -c`);
    } finally {
      process.kill(pid, "SIGKILL");
    }
  });
});

describe.runIf(process.platform === "linux")(
  "TS2: after kill -9 a command that still runs is said, with its pid",

  () => {
    const command = "setsid sh -c 'echo $$ > stray; sleep 300' >/dev/null 2>&1 & echo $$ > pid; sleep 300";

    async function crashed() {
      const first = await talk([[shell(command)]], { rules: anyShell });
      first.ask("run it");
      const pid = await pidIn(join(first.folder, "pid"));
      const stray = await pidIn(join(first.folder, "stray"));
      // The command may be quicker than the record of it.
      const running = join(first.env.BELAY_DATA, "running");
      const isNoted = () => existsSync(running) && readdirSync(running).some((name) => name.endsWith(".json"));
      while (!isNoted()) await sleep(10);
      first.kill();
      await first.exited;
      const reply: WireReply = ["Continued."];
      const second = await talk([reply], {
        folder: first.folder,
        args: ["--continue"],
        rules: anyShell,
        ready: "What about it?",
      });
      await second.untilSeen(`pid ${pid} · ${command.slice(0, 30)}`);
      const end = () => {
        for (const each of [pid, stray]) if (isAlive(each)) process.kill(each, "SIGKILL");
      };
      return { second, pid, stray, end };
    }

    test("stop it: it ends with all that it started", async () => {
      const { second, pid, stray, end } = await crashed();
      try {
        await second.untilSeen("❯ Wait until it ends");
        second.press(DOWN);
        await second.untilSeen("❯ Stop it");
        second.press(ENTER);
        await second.until(`Stopped: pid ${pid}`);
        expect([pid, stray].map(isAlive)).toEqual([false, false]);
      } finally {
        end();
      }
    });

    test("leave it: the command keeps running, and the question for the outcome of the call comes as before", async () => {
      const { second, pid, end } = await crashed();
      try {
        second.press(ESC);
        await second.untilGone("What about it?");
        await sleep(100);
        expect(isAlive(pid)).toBe(true);
        second.press(ENTER);
        await second.untilSeen("Run it again");
      } finally {
        end();
      }
    });

    test("wait: its end is shown", async () => {
      const { second, pid, end } = await crashed();
      try {
        await second.untilSeen("❯ Wait until it ends");
        await sleep(SEEN_MS);
        second.press(ENTER);
        await second.until("Waiting until it ends.");
        expect(isAlive(pid)).toBe(true);
        end();
        await untilDead(pid);
        await second.until(`Has ended: pid ${pid}`);
      } finally {
        end();
      }
    });
  },
);

describe("keys in pieces", () => {
  test.each([
    [5, {}],
    [50, {}],
    [200, { SSH_TTY: "/dev/pts/9" }],
  ])("TS4: an arrow key split by %d ms moves the cursor and stops nothing", async (ms, env) => {
    const terminal = await talk([["Speaking ", { stall: true }]], { env });
    terminal.ask("go");
    await terminal.untilSeen("Speaking");
    terminal.press("ac");
    await terminal.untilSeen("› ac");
    terminal.press(ESC);
    await sleep(ms);
    terminal.press("[D");
    await sleep(20);
    terminal.press("b");
    await terminal.untilSeen("› abc");
    expect(await terminal.untilSeen("esc to stop")).not.toContain("── stopped");
    terminal.press(ESC);
    await terminal.untilSeen("── stopped");
  });

  test("TS4: a late rest of an arrow key is not typed", async () => {
    const terminal = await talk([["Once."]]);
    terminal.press("draft");
    await terminal.untilSeen("› draft");
    terminal.press(ESC);
    await terminal.untilSeen("Ask, or tell it");
    terminal.press("[A");
    terminal.press("x");
    await terminal.untilSeen("› x");
    expect(terminal.text()).not.toContain("[A");
  });

  test("TS4: a terminal with the kitty protocol is asked for it, and gets its own keys back", async () => {
    const terminal = await talk([["Speaking ", { stall: true }]]);
    expect(terminal.raw).toContain(`${ESC}[>1u${ESC}[?u`);
    terminal.press(`${ESC}[?1u`);
    terminal.ask("go");
    await terminal.untilSeen("Speaking");
    terminal.press(ESC);
    await sleep(300);
    terminal.press("[D");
    expect(await terminal.untilSeen("esc to stop")).not.toContain("── stopped");
    terminal.press(`${ESC}[27u`);
    await terminal.untilSeen("── stopped");
    terminal.press(`${ESC}[100;5u`);
    await terminal.exited;
    expect(terminal.raw).toContain(`${ESC}[<u`);
  });

  test("TS5: Esc in a paste without an end stops, and the paste is kept", async () => {
    const terminal = await talk([["Speaking ", { stall: true }]]);
    terminal.ask("go");
    await terminal.untilSeen("Speaking");
    terminal.press(`${ESC}[200~half a paste`);
    await sleep(50);
    const pressed = performance.now();
    terminal.press(ESC);
    await terminal.untilSeen("── stopped");
    expect(performance.now() - pressed).toBeLessThan(3_000);
    expect((await terminal.wire.arrived(1)).closedAt).toBeDefined();
    await terminal.untilSeen("› half a paste");
  });
});

describe("a stream that breaks", () => {
  test("TS6: it is tried again, with a count-down; its words are marked as void", async () => {
    const terminal = await talk([["Half of ", { wait: 200 }, { drop: true }], ["The whole answer."]]);
    terminal.ask("speak");
    await terminal.untilSeen(/retrying in \d s \(the stream broke, 2 of 4\)/);
    await terminal.untilSeen("The whole answer.");
    await terminal.untilSeen("that answer begins again");
    await terminal.untilSeen("· ready");
  });

  test("TS6: a 429 counts down by its retry-after, and Esc ends the wait", async () => {
    const terminal = await talk([{ status: 429, headers: { "retry-after": "30" } }, ["Never."]]);
    terminal.ask("speak");
    await terminal.untilSeen(/retrying in (30|29|28) s \(429, 2 of 4\)/);
    terminal.press(ESC);
    await terminal.untilSeen("── stopped");
    expect(terminal.wire.requests).toHaveLength(1);
  });
});

describe("Esc closes the socket", () => {
  const phases: readonly (readonly [string, WireReply])[] = [
    ["before the first byte", { stall: true }],
    ["in reasoning", [{ reasoning: "I wonder" }, { stall: true }]],
    ["in text", ["Some words ", { stall: true }]],
    [
      "in the arguments of a call",
      [{ ...shell("echo never"), args: '{"command": "echo', unfinished: true }, { stall: true }],
    ],
    ["after a whole call, before the finish", ["I run. ", shell("echo never"), { stall: true }]],
  ];
  test.each(phases)("%s, at 40 × 10 in a resize storm", async (_, reply) => {
    const terminal = await talk([reply, ["Then this."]], { columns: 40, rows: 10, rules: anyShell, ready: "› " });
    terminal.ask("go");
    const request = await terminal.wire.arrived(1);
    await terminal.untilSeen("esc to stop");
    for (let at = 0; at < 20; at += 1) terminal.resize(40 + (at % 5) * 7, 10 + (at % 3));
    await sleep(150);
    const pressed = performance.now();
    terminal.press(ESC);
    for (let at = 0; at < 10; at += 1) terminal.resize(40 + (at % 5) * 7, 10 + (at % 3));
    terminal.resize(40, 10);
    expect(await request.ended).toBe("closed");
    expect(request.closedAt! - pressed).toBeLessThan(3_000);
    await terminal.untilSeen("⏎ to continue");
    terminal.press("now this");
    await terminal.untilSeen("› now this");
    terminal.press(ENTER);
    await terminal.untilSeen("Then this.");
    expect(terminal.wire.requests).toHaveLength(2);
  });
});
