// The stop button, in a real terminal, against a model server that records aborted requests.

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { wireServer } from "@belay/testkit/wire";
import { describe, expect, test } from "vitest";
import { testTalks } from "../testing/talk.ts";
import { CTRL_D, CTRL_S, CTRL_U, ENTER, ESC, TAB } from "../testing/terminal.ts";

const { talk } = testTalks(wireServer, "deaf-app");

const GO_ON = "Enter alone to continue";

const anyShell = { rules: [{ tool: "shell", effect: "allow" }] };
const shell = (command: string, id = "c1") => ({ call: "shell", id, args: { command } });
/** Says "begun"; the line that shows the command does not, so that a wait for it waits for the command. */
const BEGUN = "echo be''gun";

/** Everything that runs and has `mark` in its command line. */
function running(mark: string): string[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
      return line.includes(mark) ? [line] : [];
    } catch {
      return [];
    }
  });
}

async function untilNoneRuns(mark: string): Promise<void> {
  for (const started = Date.now(); running(mark).length > 0; await sleep(10)) {
    if (Date.now() - started > 10_000) throw new Error(`still running: ${running(mark).join("\n")}`);
  }
}

/** H1, as this provider has it: each call has one result, directly after its message, and no result is without its call. */
function isAnswered(messages: readonly { role: string; tool_calls?: { id: string }[]; tool_call_id?: string }[]): void {
  const open: string[] = [];
  for (const { role, tool_calls = [], tool_call_id = "" } of messages) {
    if (role === "tool") expect(open.splice(open.indexOf(tool_call_id) >>> 0, 1)).toEqual([tool_call_id]);
    else expect(open).toEqual([]);
    open.push(...tool_calls.map(({ id }) => id));
  }
  expect(open).toEqual([]);
}

describe("ESC", () => {
  test("D41, D44, Y12: at text: the socket is closed, the words that were shown stay, the draft stays, Enter alone continues", async () => {
    const terminal = await talk([["One two three ", { stall: true }], ["four five."]]);
    terminal.ask("count");
    await terminal.untilSeen("One two three");
    await terminal.untilSeen(/(answering|thinking) · \d+ s · esc to stop/);
    terminal.press("my draft");
    await terminal.untilSeen("› my draft");
    terminal.press(ESC);
    await terminal.untilSeen("stopped · ⏎ to continue");
    expect(await (await terminal.wire.arrived(1)).ended).toBe("closed");
    expect(terminal.view().join("\n")).not.toContain("esc to stop");
    expect(await terminal.untilSeen("── stopped")).toContain("› my draft");
    terminal.press("\u0015");
    await terminal.untilSeen(GO_ON);
    terminal.press(ENTER);
    await terminal.untilSeen("… four five.");
    await terminal.untilSeen("· ready");
    const { messages } = (await terminal.wire.arrived(2)).body;
    expect(JSON.stringify(messages)).toContain("One two three");
    terminal.press(CTRL_D);
    expect(await terminal.exited).toBe(0);
  });

  test("D44: a new instruction after a stop makes the model reason again, with the history", async () => {
    const terminal = await talk([["The folder has ", { stall: true }], ["Security first."]]);
    terminal.ask("look around");
    await terminal.untilSeen("The folder has");
    terminal.press(ESC);
    await terminal.untilSeen(GO_ON);
    terminal.ask("focus on security");
    await terminal.untilSeen("Security first.");
    const said = JSON.stringify((await terminal.wire.arrived(2)).body.messages);
    expect([said.includes("look around"), said.includes("The folder has"), said.includes("focus on security")]).toEqual(
      [true, true, true],
    );
  });

  test("at a stream that has stalled before its first word", async () => {
    const terminal = await talk([{ stall: true }, ["Here I am."]]);
    terminal.ask("hello");
    await terminal.wire.arrived(1);
    await terminal.untilSeen("thinking");
    terminal.press(ESC);
    await terminal.untilSeen(GO_ON);
    expect(await (await terminal.wire.arrived(1)).ended).toBe("closed");
    terminal.press(ENTER);
    await terminal.untilSeen("Here I am.");
  });

  test("in a shell command: no child survives, and the line names the stopped calls", async () => {
    const mark = `31${process.pid}7`;
    const terminal = await talk(
      [["Running.", shell(`${BEGUN}; (sleep ${mark} & sleep ${mark}; wait)`)], ["Stopped."]],
      {
        rules: anyShell,
      },
    );
    terminal.ask("run it");
    await terminal.untilSeen("begun");
    expect(running(`sleep ${mark}`).length).toBeGreaterThan(0);
    terminal.press(ESC);
    const seen = await terminal.untilSeen(/── stopped .*(Stopped|Left behind, still running): shell echo be''gun/);
    expect(seen).toMatch(/· stopped( \d+ s)? └ begun ──/);
    await untilNoneRuns(`sleep ${mark}`);
    terminal.press(ENTER);
    await terminal.untilSeen("Stopped.");
    const told = (await terminal.wire.arrived(2)).body.messages.find(({ role }: { role: string }) => role === "tool");
    expect(told.content).toMatch(/interrupted|stopped/i);
    expect(told.content).toContain("begun");
  });

  test("in a command that ignores signals: the prompt appears all the same; a second ESC forces", async () => {
    const mark = `32${process.pid}7`;
    const deaf = `trap '' TERM INT HUP; ${BEGUN}; sleep ${mark}; sleep ${mark}; sleep ${mark}`;
    const terminal = await talk([["Running.", shell(deaf)], ["On."]], { rules: anyShell });
    terminal.ask("run it");
    await terminal.untilSeen("begun");
    terminal.press(ESC);
    terminal.press(ESC);
    await terminal.untilSeen(GO_ON);
    terminal.ask("go on without it");
    await terminal.untilSeen("On.");
    await untilNoneRuns(mark);
  });

  test("one ESC, in a command that ignores signals: the prompt appears, the line names the outcome, no child survives", async () => {
    const mark = `33${process.pid}7`;
    const deaf = `trap '' TERM INT HUP; ${BEGUN}; while :; do sleep ${mark}; done`;
    const terminal = await talk([["Running.", shell(deaf)], ["On."]], { rules: anyShell });
    terminal.ask("run it");
    await terminal.untilSeen("begun");
    terminal.press(ESC);
    await terminal.untilSeen(GO_ON);
    expect(await terminal.untilSeen("── stopped")).toMatch(/(Stopped|Left behind, still running): shell trap/);
    await untilNoneRuns(mark);
    terminal.ask("go on without it");
    await terminal.untilSeen("On.");
    isAnswered((await terminal.wire.arrived(2)).body.messages);
  });

  test("S5: two ESCs at once, in a command: if it is left behind, its end is shown, also without output", async () => {
    const mark = `34${process.pid}7`;
    const terminal = await talk([["Running.", shell(`${BEGUN}; sleep ${mark}`)], ["On."]], { rules: anyShell });
    terminal.ask("run it");
    await terminal.untilSeen("begun");
    terminal.press(ESC);
    terminal.press(ESC);
    const told = await terminal.untilSeen(/── stopped .*(Stopped|Left behind, still running): shell/);
    if (told.includes("Left behind")) await terminal.untilSeen("ended after all");
    await untilNoneRuns(mark);
    terminal.ask("go on without it");
    await terminal.untilSeen("On.");
    isAnswered((await terminal.wire.arrived(2)).body.messages);
  });

  test("S5: one ESC, in a tool that is deaf altogether: the prompt appears, the thread lives, and the late end is shown", async () => {
    const call = { call: "deaf", id: "c1", args: { file: "end" } };
    const terminal = await talk([["Waiting.", call], ["Without it, then."], ["So it is done."]], { main: "deaf-app" });
    terminal.ask("wait for it");
    await terminal.untilSeen(/deaf .*\d+ s/);
    terminal.press("my draft");
    await terminal.untilSeen("› my draft");
    terminal.press(ESC);
    await terminal.untilSeen("stopped · ⏎ to continue");
    expect(await terminal.untilSeen(/── stopped .*Left behind, still running: deaf end\./)).toContain("› my draft");
    terminal.press(CTRL_U);
    await terminal.untilSeen(GO_ON);
    terminal.ask("go on without it");
    await terminal.untilSeen("Without it, then.");
    await terminal.untilSeen("· ready");
    const second = (await terminal.wire.arrived(2)).body.messages;
    isAnswered(second);
    expect(second.find(({ role }: { role: string }) => role === "tool").content).toMatch(/interrupted/i);
    expect(JSON.stringify(second)).toContain("go on without it");
    expect(terminal.text()).not.toContain("ended after all");

    writeFileSync(join(terminal.folder, "end"), "");
    await terminal.untilSeen("deaf end ended after all");
    terminal.ask("and now?");
    await terminal.untilSeen("So it is done.");
    const third = (await terminal.wire.arrived(3)).body.messages;
    isAnswered(third);
    expect(JSON.stringify(third).split("I heard nothing, and I am done.").length).toBe(2);
    terminal.press(CTRL_D);
    expect(await terminal.exited).toBe(0);
  });

  test("S5: the late end of a deaf tool is shown at once, on a prompt that waits", async () => {
    const call = { call: "deaf", id: "c1", args: { file: "end" } };
    const terminal = await talk([["Waiting.", call], ["Good."]], { main: "deaf-app" });
    terminal.ask("wait for it");
    await terminal.untilSeen(/deaf .*\d+ s/);
    terminal.press(ESC);
    await terminal.untilSeen(GO_ON);
    writeFileSync(join(terminal.folder, "end"), "");
    await terminal.untilSeen("deaf end ended after all");
    terminal.press(ENTER);
    await terminal.untilSeen("Good.");
    const told = (await terminal.wire.arrived(2)).body.messages;
    isAnswered(told);
    // It replaced the first result of the call.
    expect(told.find(({ role }: { role: string }) => role === "tool").content).toContain("I am done.");
  });

  test("with queued input: the queue is held, and one key sends it", async () => {
    const terminal = await talk([["Working ", { stall: true }], ["Did both."]]);
    terminal.ask("first");
    await terminal.untilSeen("Working");
    terminal.press(`second${TAB}`);
    await terminal.untilSeen("queued: second");
    terminal.press(`third${TAB}`);
    await terminal.untilSeen("queued: third");
    terminal.press(ESC);
    await terminal.untilSeen("held: second");
    expect(await terminal.untilSeen("ctrl-s sends the queue")).toContain("held: third");
    await sleep(200);
    expect(terminal.wire.requests.length).toBe(1);
    terminal.press(CTRL_S);
    await terminal.untilSeen("Did both.");
    await terminal.untilGone("held:");
    const said = (await terminal.wire.arrived(2)).body.messages.filter(({ role }: { role: string }) => role === "user");
    expect(said.map(({ content }: { content: string }) => JSON.stringify(content))).toEqual([
      expect.stringContaining("first"),
      expect.stringContaining("second"),
      expect.stringContaining("third"),
    ]);
  });

  test("Y13: during a dialog: the request is withdrawn, nothing runs, and the run continues on Enter", async () => {
    const write = { call: "write", id: "c1", args: { path: "a.txt", text: "hello" } };
    const terminal = await talk([["I write.", write], ["Then not."]]);
    terminal.ask("write it");
    await terminal.untilSeen("Yes, once");
    terminal.press(ESC);
    await terminal.untilSeen("Never began: write a.txt.");
    await terminal.untilGone("Yes, once");
    terminal.press(`y${ENTER}`);
    await terminal.untilSeen("› y");
    terminal.press(`\u007f${ENTER}`);
    await terminal.untilSeen("Then not.");
    expect(existsSync(join(terminal.folder, "a.txt"))).toBe(false);
  });

  test("while pasting: an ESC or Enter inside of a paste stops nothing and sends nothing", async () => {
    const terminal = await talk([["Speaking ", { stall: true }]]);
    terminal.ask("go");
    await terminal.untilSeen("Speaking");
    terminal.press(`${ESC}[200~one ${ESC}[A two`);
    await sleep(100);
    terminal.press(`\r\nthree \u0003 ${ESC}`);
    await sleep(100);
    terminal.press(`${ESC}[201~`);
    await terminal.untilSeen(/› one two three/);
    expect(await terminal.untilSeen("esc to stop")).not.toContain("── stopped");
    terminal.press(ESC);
    await terminal.untilSeen("── stopped");
  });

  test("arrow keys split over packets move the cursor, and stop nothing", async () => {
    const terminal = await talk([["Speaking ", { stall: true }]], { env: { BELAY_ESC_MS: "9999" } });
    terminal.ask("go");
    await terminal.untilSeen("Speaking");
    terminal.press("ac");
    await terminal.untilSeen("› ac");
    for (const byte of `${ESC}[D`) {
      terminal.press(byte);
      await sleep(3);
    }
    terminal.press("b");
    await terminal.untilSeen("› abc");
    expect(await terminal.untilSeen("esc to stop")).not.toContain("── stopped");
  });

  test("Y11: with nothing running it interrupts nothing: it clears the draft, and twice opens the way back", async () => {
    const terminal = await talk([["Once."], ["Twice."]]);
    terminal.ask("say it");
    await terminal.untilSeen("Once.");
    await terminal.untilSeen("· ready");
    terminal.press("draft");
    await terminal.untilSeen("› draft");
    terminal.press(ESC);
    await terminal.untilSeen("Ask, or tell it");
    terminal.press(ESC);
    await terminal.untilSeen("Esc again to rewind");
    terminal.press(ESC);
    await terminal.untilSeen("Rewind to before which message? ❯ say it");
    expect(terminal.text()).not.toContain("── stopped");
    terminal.press(ENTER);
    await terminal.untilSeen("A new thread begins here");
    await terminal.untilSeen("› say it");
    terminal.press(ENTER);
    await terminal.untilSeen("Twice.");
    const { messages } = (await terminal.wire.arrived(2)).body;
    expect(JSON.stringify(messages)).not.toContain("Once.");
  });
});
