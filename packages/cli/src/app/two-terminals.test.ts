// Two terminals that show one thread.

import { existsSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type WireReply, wireServer } from "@belay/testkit/wire";
import { describe, expect, test } from "vitest";
import { SEEN_MS, testTalks, write } from "../testing/talk.ts";
import { CTRL_C, CTRL_D, ENTER, ESC } from "../testing/terminal.ts";

const { talk } = testTalks(wireServer);

describe("two terminals on one thread", { timeout: 60_000 }, () => {
  test("R6: an answer in one resumes the run once; the other shows it, without an error", async () => {
    const questions = ["Which floor?", "Which door?", "Which key?", "Which light?"];
    // Whichever of them resumes, the model says the next of these.
    const script: WireReply[] = questions.map((question, at) => [
      { call: "ask_user", id: `q${at}`, args: { question, options: ["this one", "that one"] } },
    ]);
    script.push(["That is all."]);
    const replies = script.map(() => () => script.shift()!);
    const first = await talk(replies);
    first.ask("ask me");
    await first.untilSeen("Which floor?");
    const second = await talk(replies, {
      folder: first.folder,
      args: ["--continue"],
      ready: "Which floor?",
    });
    for (const question of questions) {
      await Promise.all([first.untilSeen(`╭─ ${question}`), second.untilSeen(`╭─ ${question}`)]);
      await sleep(SEEN_MS);
      (question === "Which door?" ? second : first).press(`1${ENTER}`);
    }
    for (const terminal of [first, second]) {
      await terminal.untilSeen("That is all.");
      await terminal.untilSeen("· ready");
    }
    // The second terminal has read it by now.
    await sleep(SEEN_MS);
    for (const terminal of [first, second]) expect(terminal.text()).not.toContain("✗");
    expect(first.wire.requests.length + second.wire.requests.length).toBe(5);
  });

  test("a run stopped in one terminal and resumed in the other can be resumed in the first again: its input is accepted", async () => {
    const first = await talk([["One ", { stall: true }], ["Four."]]);
    first.ask("begin");
    await first.untilSeen("One");
    first.press(ESC);
    await first.untilSeen("── stopped");
    const second = await talk([["Two."], ["Three ", { stall: true }]], {
      folder: first.folder,
      args: ["--continue"],
      ready: "Enter alone to continue",
    });
    second.ask("go on there");
    await first.untilSeen("Two.");
    await first.untilSeen("· ready");
    await second.untilSeen("· ready");
    // The second stops it once more: the first terminal has read another pause.
    second.ask("and once more");
    await second.untilSeen("Three");
    second.press(ESC);
    await first.untilSeen("Enter alone to continue");
    first.ask("go on here");
    await first.untilSeen("Four.");
    await first.untilSeen("· ready");
    expect(first.text()).not.toContain("✗");
  });

  test("the rewind list of one terminal has the messages of the other, and their effects", async () => {
    const first = await talk([["One."]]);
    first.ask("begin");
    await first.untilSeen("One.");
    await first.untilSeen("· ready");
    const second = await talk([["I write.", write("a.txt")], ["Written."]], {
      folder: first.folder,
      args: ["--continue"],
      rules: { rules: [{ tool: "write", effect: "allow" }] },
    });
    await second.untilSeen("› begin");
    second.ask("write it there");
    await first.untilSeen("Written.");
    await first.untilSeen("· ready");
    first.press(ESC);
    await first.untilSeen("Esc again");
    first.press(ESC);
    await first.untilSeen(/begin ❯ write it there Done since then, and not undone: 1 call · write a.txt/);
  });

  test("C3: a thread that runs elsewhere cannot be chosen: the list is there again, and another one can be", async () => {
    const first = await talk([["One."]]);
    first.ask("an earlier thread");
    await first.untilSeen("One.");
    await first.untilSeen("· ready");
    const busy = await talk([["Two ", { stall: true }]], { folder: first.folder });
    busy.ask("a thread that runs");
    await busy.untilSeen("Two");
    const third = await talk([["Three."]], { folder: first.folder, args: ["--resume"], ready: "Which thread?" });
    await third.untilSeen("❯ a thread that runs");
    third.press(ENTER);
    await third.untilSeen("is running in another terminal");
    await third.untilSeen("Which thread?");
    third.press("earlier");
    await third.untilSeen("❯ an earlier thread");
    third.press(ENTER);
    await third.untilSeen("One.");
    await third.untilSeen("Ask, or tell it");
    third.ask("go on");
    await third.untilSeen("Three.");
  });

  test("a thread that is chosen from the list continues in its own folder: its calls run there", async () => {
    const first = await talk([["I run it.", { call: "shell", id: "c1", args: { command: "pwd > where" } }]]);
    first.ask("say where");
    await first.untilSeen("Yes, once");
    first.press(CTRL_D);
    await first.exited;
    const env = { BELAY_DATA: first.env.BELAY_DATA };
    const other = await talk([["Done."]], { args: ["--resume"], env, ready: "❯ say where" });
    other.press(ENTER);
    await other.untilSeen("Yes, once");
    await other.untilSeen(/· ~\/folder-\w+ .*· ~\/folder-\w+ /);
    await sleep(SEEN_MS);
    other.press(`y${ENTER}`);
    await other.untilSeen("Done.");
    expect(readFileSync(join(first.folder, "where"), "utf8").trim()).toBe(realpathSync(first.folder));
    expect(existsSync(join(other.folder, "where"))).toBe(false);
    // The terminal is the program's as before.
    other.press(CTRL_D);
    expect(await other.exited).toBe(0);
  });

  test("Ctrl-C in the list of threads quits as Esc does: no prompt is below the list", async () => {
    const first = await talk([["One."]]);
    first.ask("an earlier thread");
    await first.untilSeen("One.");
    await first.untilSeen("· ready");
    const second = await talk([], { folder: first.folder, args: ["--resume"], ready: "Which thread?" });
    await second.untilSeen("an earlier thread");
    second.press(CTRL_C);
    expect(await second.exited).toBe(0);
  });
});
