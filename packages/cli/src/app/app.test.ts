// The app in a real terminal: steering, approvals, questions, resuming after a kill, other terminals.

import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { wireServer } from "@belay/testkit/wire";
import { describe, expect, test } from "vitest";
import { openDatabase } from "../data/open-database.ts";
import { SEEN_MS, testTalks, write } from "../testing/talk.ts";
import { ALT_UP, CTRL_D, CTRL_U, ENTER, ESC } from "../testing/terminal.ts";

const { program, talk } = testTalks(wireServer);

const said = (body: { messages: unknown }) => JSON.stringify(body.messages);

describe("while it runs", () => {
  test("Enter steers: pending until it is read, and the model is not stopped", async () => {
    let go = () => {};
    const until = new Promise<void>((resolve) => (go = resolve));
    const terminal = await talk([
      ["I look. ", { until }, { call: "list", id: "c1", args: {} }],
      ["With security in mind."],
    ]);
    terminal.ask("look around");
    await terminal.untilSeen("I look.");
    terminal.ask("mind security");
    await terminal.untilSeen("pending: mind security");
    go();
    await terminal.untilSeen("With security in mind.");
    await terminal.untilGone("pending:");
    expect(await (await terminal.wire.arrived(1)).ended).toBe("answered");
    expect(said((await terminal.wire.arrived(2)).body)).toContain("mind security");
  });

  test("Alt-Up takes it back into the prompt, and it is not sent", async () => {
    let go = () => {};
    const until = new Promise<void>((resolve) => (go = resolve));
    const terminal = await talk([["I look. ", { until }, { call: "list", id: "c1", args: {} }], ["Done."]]);
    terminal.ask("look around");
    await terminal.untilSeen("I look.");
    terminal.ask("never mind");
    await terminal.untilSeen("pending: never mind");
    terminal.press(ALT_UP);
    await terminal.untilGone("pending:");
    await terminal.untilSeen("› never mind");
    go();
    await terminal.untilSeen("Done.");
    expect(said((await terminal.wire.arrived(2)).body)).not.toContain("never mind");
  });

  test("D38: keys typed during a run are on the prompt when the run has ended", async () => {
    let go = () => {};
    const until = new Promise<void>((resolve) => (go = resolve));
    const terminal = await talk([["Speaking. ", { until }, "The end."], ["Next."]]);
    terminal.ask("speak");
    await terminal.untilSeen("Speaking.");
    terminal.press("and then");
    await terminal.untilSeen("› and then");
    go();
    await terminal.untilSeen("The end.");
    await terminal.untilSeen(/› and then ─+ · ask · ready/);
    terminal.press(ENTER);
    await terminal.untilSeen("Next.");
    expect(await terminal.untilSeen("· ready")).toContain("› Ask, or tell it");
  });

  test("input typed before a stop is done resumes the stopped run", async () => {
    // The row of the command does not contain the output of the command.
    const deaf = "trap '' TERM INT HUP; echo be''gun; sleep 5; sleep 5";
    const terminal = await talk([["One", { call: "shell", id: "c1", args: { command: deaf } }], ["Two."]], {
      rules: { rules: [{ tool: "shell", effect: "allow" }] },
    });
    terminal.ask("count");
    await terminal.untilSeen("begun");
    terminal.press(ESC);
    await terminal.untilGone("esc to stop");
    terminal.press(`instead this${ENTER}`);
    await terminal.untilSeen("Two.");
    expect(said((await terminal.wire.arrived(2)).body)).toContain("instead this");
  });
});

describe("a request", () => {
  test("shows the difference that would be made; y and Enter make it, once", async () => {
    const terminal = await talk([["I write.", write("a.txt")], ["Written."]]);
    terminal.ask("write");
    await terminal.untilSeen("+hello");
    expect(existsSync(join(terminal.folder, "a.txt"))).toBe(false);
    await sleep(SEEN_MS);
    terminal.press(`y${ENTER}`);
    await terminal.untilSeen("Written.");
    expect(readFileSync(join(terminal.folder, "a.txt"), "utf8")).toBe("hello\n");
  });

  test("shows the exact command, with invisible characters spelt out", async () => {
    const command = "echo \u202egnp\u001b[1A; rm -rf ./nothing";
    const terminal = await talk([["I run.", { call: "shell", id: "c1", args: { command } }], ["Ran."]]);
    terminal.ask("run");
    await terminal.untilSeen("echo \\u{202e}gnp\\u{1b}[1A; rm -rf ./nothing");
    await sleep(SEEN_MS);
    terminal.press(`n${ENTER}`);
    await terminal.untilSeen("Why not?");
    terminal.press(`it is a trick${ENTER}`);
    await terminal.untilSeen("Ran.");
    expect(said((await terminal.wire.arrived(2)).body)).toContain("it is a trick");
  });

  test("e edits the arguments, and the history has both versions", async () => {
    const terminal = await talk([["I run.", { call: "shell", id: "c1", args: { command: "echo wrong" } }], ["Ran."]]);
    terminal.ask("run");
    await terminal.untilSeen("Yes, once");
    await sleep(SEEN_MS);
    terminal.press(`e${ENTER}`);
    await terminal.untilSeen("› echo wrong");
    terminal.press(`${CTRL_U}echo right${ENTER}`);
    await terminal.untilSeen("Ran.");
    expect(terminal.text()).toContain("✓ shell echo right");
    expect(said((await terminal.wire.arrived(2)).body)).toContain("right");
  });

  test("a shows the rule that it makes, and the next thread is not asked", async () => {
    const call = { call: "shell", id: "c1", args: { command: "echo ruled" } };
    const terminal = await talk([["I run.", call], ["Ran."], ["Again.", { ...call, id: "c2" }], ["Ran twice."]]);
    terminal.ask("run");
    await terminal.untilSeen("Yes, once");
    await sleep(SEEN_MS);
    terminal.press(`${ESC}[B${ESC}[B`);
    await terminal.untilSeen("makes the rule: allow shell echo ruled, in this folder");
    terminal.press(ENTER);
    await terminal.untilSeen("Ran.");
    terminal.ask("again");
    await terminal.untilSeen("Ran twice.");
  });

  test("keys count only after a moment, and not while a draft is being typed", async () => {
    let go = () => {};
    const until = new Promise<void>((resolve) => (go = resolve));
    const terminal = await talk([["I write.", { until }, write("a.txt")], ["Written."]]);
    terminal.ask("write");
    await terminal.untilSeen("I write.");
    terminal.press("yes pleas");
    await terminal.untilSeen("› yes pleas");
    go();
    await terminal.untilSeen("Send or clear what you are typing");
    await sleep(SEEN_MS);
    terminal.press("e");
    await terminal.untilSeen("› yes please");
    expect(existsSync(join(terminal.folder, "a.txt"))).toBe(false);
    // Cleared, and y at once: too early to have been meant for the request.
    terminal.press(`${CTRL_U}y`);
    await terminal.untilGone("› yes please");
    await terminal.untilSeen("› y");
    terminal.press(CTRL_U);
    await sleep(3 * SEEN_MS);
    expect(existsSync(join(terminal.folder, "a.txt"))).toBe(false);
    terminal.press(`y${ENTER}`);
    await terminal.untilSeen("Written.");
  });

  test("several at once are a list, answered in any order; the model is called once, with all of it", async () => {
    const calls = [write("a.txt"), write("b.txt"), write("c.txt")];
    const terminal = await talk([["I write three.", ...calls], ["All said."]]);
    terminal.ask("write");
    await terminal.untilSeen("3 requests open");
    await sleep(SEEN_MS);
    terminal.press("\u000e");
    await terminal.untilSeen(/❯ write b\.txt/);
    terminal.press(`y${ENTER}`);
    await terminal.untilSeen("2 requests open");
    await sleep(SEEN_MS);
    terminal.press(`n${ENTER}`);
    await terminal.untilSeen("Why not?");
    terminal.press(ENTER);
    await terminal.untilGone("requests open");
    await sleep(SEEN_MS);
    terminal.press(`y${ENTER}`);
    await terminal.untilSeen("All said.");
    expect(["a.txt", "b.txt", "c.txt"].map((name) => existsSync(join(terminal.folder, name)))).toEqual([
      false,
      true,
      true,
    ]);
    expect(terminal.wire.requests.length).toBe(2);
  });

  test("a question is answered there too, by a choice or in words", async () => {
    const ask = (question: string, options?: string[]) => ({
      call: "ask_user",
      id: question,
      args: { question, ...(options && { options }) },
    });
    const terminal = await talk([
      ["One thing.", ask("Which rope?", ["static", "dynamic"])],
      ["And another.", ask("How long?")],
      ["Thanks."],
    ]);
    terminal.ask("help me buy");
    await terminal.untilSeen("Which rope?");
    await sleep(SEEN_MS);
    terminal.press(`w${ENTER}`);
    await terminal.untilSeen("Enter answers, Esc back");
    terminal.press(ESC);
    await terminal.untilSeen("Something else, in your own words");
    terminal.press(`2${ENTER}`);
    await terminal.untilSeen("How long?");
    await terminal.untilSeen("Enter answers, Esc stops");
    await sleep(SEEN_MS);
    terminal.press(`sixty metres${ENTER}`);
    await terminal.untilSeen("Thanks.");
    const told = said((await terminal.wire.arrived(3)).body);
    expect([told.includes("dynamic"), told.includes("sixty metres")]).toEqual([true, true]);
  });
});

describe("resuming", () => {
  test("after SIGKILL, --continue has everything that was recorded, and Enter resumes", async () => {
    const first = await talk(
      [
        ["Noted.", write("a.txt")],
        ["Half an answer ", { stall: true }],
      ],
      {
        rules: { rules: [{ tool: "write", effect: "allow" }] },
      },
    );
    first.ask("remember the rope");
    await first.untilSeen("Half an answer");
    first.kill();
    await first.exited;
    const second = await talk([["A whole answer."]], {
      folder: first.folder,
      args: ["--continue"],
      ready: "cut off by a crash",
    });
    const seen = await second.untilSeen("Enter alone continues");
    expect(seen).toContain("› remember the rope");
    expect(seen).toContain("✓ write a.txt");
    second.press(ENTER);
    await second.untilSeen("A whole answer.");
    const told = said((await second.wire.arrived(1)).body);
    expect([told.includes("remember the rope"), told.includes("Noted.")]).toEqual([true, true]);
    expect(told.match(/remember the rope/g)?.length).toBe(1);
  });

  test("--resume lets one choose, --fork leaves the other thread as it is", async () => {
    const first = await talk([["About ropes."], ["About knots."]]);
    first.ask("tell me of ropes");
    await first.untilSeen("About ropes.");
    await first.untilSeen("· ready");
    first.press(CTRL_D);
    await first.exited;
    const second = await talk([["On the fork."]], {
      folder: first.folder,
      args: ["--resume", "--fork"],
      ready: "Which thread?",
    });
    await second.untilSeen("❯ tell me of ropes");
    second.press(ENTER);
    await second.untilSeen("This is a fork of");
    second.ask("and slings");
    await second.untilSeen("On the fork.");
    expect(said((await second.wire.arrived(1)).body)).toContain("About ropes.");
    second.press(CTRL_D);
    await second.exited;
    const third = await talk([], { folder: first.folder, args: ["--resume"], ready: "Which thread?" });
    await third.untilSeen(/tell me of ropes.*tell me of ropes/);
    third.press(ESC);
    expect(await third.exited).toBe(0);
  });

  test("a rewind lists the effects since, and undoes none of them", async () => {
    const terminal = await talk([["I write.", write("a.txt")], ["Written."], ["Otherwise."]], {
      rules: { rules: [{ tool: "write", effect: "allow" }] },
    });
    terminal.ask("write it");
    await terminal.untilSeen("Written.");
    await terminal.untilSeen("· ready");
    terminal.press(ESC);
    await terminal.untilSeen("Esc again to rewind");
    terminal.press(ESC);
    await terminal.untilSeen("Done since then, and not undone: 1 call · write a.txt");
    terminal.press(ENTER);
    await terminal.untilSeen("the old one is kept");
    await terminal.untilSeen("· write a.txt");
    expect(existsSync(join(terminal.folder, "a.txt"))).toBe(true);
  });
});

describe("another terminal", () => {
  const belay = (terminal: { folder: string; env: Readonly<Record<string, string | undefined>> }, ...args: string[]) =>
    new Promise<string>((resolve) => {
      const env = { ...program().env, ...terminal.env, PATH: process.env.PATH };
      execFile(process.execPath, [program().main, ...args], { cwd: terminal.folder, env }, (_, stdout, stderr) =>
        resolve(stdout + stderr),
      );
    });

  test("answers a request of this one: the call runs, the dialog closes, and the run continues here", async () => {
    const terminal = await talk([["I write.", write("a.txt")], ["Written."]]);
    terminal.ask("write");
    await terminal.untilSeen("Yes, once");
    const [item] = (await belay(terminal, "inbox", "--json")).trim().split("\n");
    await belay(terminal, "answer", (JSON.parse(item!) as { id: string }).id, "yes", "--no-mcp");
    await terminal.untilSeen("Written.");
    await terminal.untilSeen("· ready");
    expect(readFileSync(join(terminal.folder, "a.txt"), "utf8")).toBe("hello\n");
    expect(terminal.wire.requests.length).toBe(2);
  });

  test("cannot run a thread that runs here, and its error names the alternatives", async () => {
    const terminal = await talk([["One ", { stall: true }]]);
    terminal.ask("count");
    await terminal.untilSeen("One");
    expect(await belay(terminal, "-p", "hello", "--continue")).toMatch(
      /^Thread \S+ is running in another terminal\. Follow it with belay log/,
    );
    await terminal.untilSeen("esc to stop");
  });

  test("runs a thread that is open here: it is followed, and does not end with this one", async () => {
    const terminal = await talk([["First."], ["Second ", { stall: true }]]);
    terminal.ask("begin");
    await terminal.untilSeen("First.");
    await terminal.untilSeen("· ready");
    const args = ["--base-url", terminal.wire.url, "--model", "test", "--no-mcp"];
    const other = belay(terminal, "-p", "go on there", "--continue", ...args);
    await terminal.untilSeen("› go on there");
    await terminal.untilSeen("esc to stop");
    await terminal.wire.arrived(2);
    terminal.press(CTRL_D);
    expect(await terminal.exited).toBe(0);
    const [row] = (await belay(terminal, "threads", "--json")).trim().split("\n");
    const { id, state } = JSON.parse(row!) as { id: string; state: string };
    expect(state).toBe("running");
    expect(await belay(terminal, "interrupt", id)).toContain("Stopped.");
    expect(await other).toContain("Resume with: belay --resume");
  });

  test("P6: Esc in a terminal that watches a run of another one stops the run there, and both screens show it", async () => {
    const first = await talk([["One."], ["Two ", { stall: true }]]);
    first.ask("begin");
    await first.untilSeen("One.");
    await first.untilSeen("· ready");
    const second = await talk([], { folder: first.folder, args: ["--continue"] });
    // Before it is opened there it could be refused: its prompt comes first.
    await second.untilSeen("› begin");
    first.ask("count");
    await second.untilSeen("esc to stop");
    await first.untilSeen("Two");
    second.press(ESC);
    await first.untilSeen("── stopped");
    await second.untilSeen("── stopped");
    await second.untilSeen("Enter alone to continue");
    expect(await (await first.wire.arrived(2)).ended).toBe("closed");
  });

  test("interrupts a run of this one: the screen says so, and Enter resumes", async () => {
    const terminal = await talk([["One ", { stall: true }], ["two."]]);
    terminal.ask("count");
    await terminal.untilSeen("One");
    const [row] = (await belay(terminal, "threads", "--json")).trim().split("\n");
    const { id, threadId } = JSON.parse(row!) as { id?: string; threadId?: string };
    await belay(terminal, "interrupt", (threadId ?? id)!);
    await terminal.untilSeen("── stopped");
    expect(await (await terminal.wire.arrived(1)).ended).toBe("closed");
    terminal.press(ENTER);
    await terminal.untilSeen("… two.");
  });
});

describe("a store that takes nothing more", () => {
  test("F6: input that was sent and not recorded is on the prompt again, a steer too", async () => {
    const terminal = await talk([["Speaking ", { stall: true }], ["Well."]]);
    const db = await openDatabase(join(terminal.folder, ".data"));
    // The terminal keeps writing (its lease, at least): a command in between waits.
    db.exec("PRAGMA busy_timeout = 10000");
    const fill = (table: string) =>
      db.exec(`CREATE TRIGGER full_${table} BEFORE INSERT ON ${table} BEGIN SELECT RAISE(ABORT, 'no room'); END`);
    fill("entry");
    terminal.ask("a long question");
    await terminal.untilSeen("no room");
    await terminal.untilSeen("› a long question");
    db.exec("DROP TRIGGER full_entry");
    terminal.press(ENTER);
    await terminal.untilSeen("Speaking");
    fill("command");
    terminal.ask("mind the rope");
    await terminal.untilSeen("› mind the rope");
    db.exec("DROP TRIGGER full_command");
    db.close();
  });
});
