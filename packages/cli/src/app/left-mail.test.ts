// Inputs of a run that died before it read them: the next process shows them, gives them back, or delivers them.

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { type WireReply, wireServer } from "@belay/testkit/wire";
import { describe, expect, test } from "vitest";
import { testTalks } from "../testing/talk.ts";
import { ALT_UP, CTRL_D, CTRL_S, ENTER, ESC, TAB } from "../testing/terminal.ts";

const { program, talk } = testTalks(wireServer);

const GO_ON = "Enter alone to continue";

/** A process that is killed with a steer and two inputs for the next run unread; the next one is opened on its thread. */
async function killed(replies: readonly WireReply[], how: "continue" | "resume", before?: string) {
  const first = await talk([["Working ", { stall: true }]]);
  first.ask("begin");
  await first.untilSeen("Working");
  first.press(`mind the rope${ENTER}`);
  await first.untilSeen("pending: mind the rope");
  first.press(`then one${TAB}`);
  await first.untilSeen("queued: then one");
  first.press(`then two${TAB}`);
  await first.untilSeen("queued: then two");
  if (before !== undefined) {
    first.press(before);
    await first.untilSeen("held: then two");
  }
  first.kill();
  await first.exited;
  const args = how === "continue" ? ["--continue"] : ["--resume", onlyThread(join(first.folder, ".data"))];
  const opened = await talk(replies, { folder: first.folder, args, ready: GO_ON });
  await opened.untilSeen("held: then two");
  return opened;
}

/** Returns its id, as another terminal gets it. */
function onlyThread(dataFolder: string): string {
  const rows = execFileSync(process.execPath, [program().main, "threads", "--json", "--data", dataFolder], {
    encoding: "utf8",
  });
  return (JSON.parse(rows) as { id: string }).id;
}

const saidBy = (body: { messages: { role: string; content: unknown }[] }) =>
  body.messages.filter(({ role }) => role === "user").map(({ content }) => JSON.stringify(content));

describe("inputs that an earlier process got and never read", () => {
  test("--continue shows it; Enter alone delivers the steer to the resumed run, and the queue to the runs after it", async () => {
    const terminal = await killed([["Minded."], ["First."], ["Second."]], "continue");
    const seen = await terminal.untilSeen("pending: mind the rope");
    expect(seen).toMatch(/pending: mind the rope.*held: then one.*held: then two.*ctrl-s sends the queue · alt-up/);
    expect(terminal.wire.requests).toEqual([]);
    terminal.press(ENTER);
    await terminal.untilSeen("Second.");
    expect(saidBy((await terminal.wire.arrived(1)).body).slice(0, 2)).toEqual([
      expect.stringContaining("begin"),
      expect.stringContaining("mind the rope"),
    ]);
    expect(saidBy((await terminal.wire.arrived(3)).body)).toEqual(
      ["begin", "mind the rope", "then one", "then two"].map((text) => expect.stringContaining(text)),
    );
    expect(await terminal.untilSeen("· ready")).not.toMatch(/pending:|queued:|held:/);
    terminal.press(CTRL_D);
    expect(await terminal.exited).toBe(0);
  });

  test("--resume with its id shows it; Alt-Up takes it back, the last first, and Ctrl-S sends the rest of the queue", async () => {
    const terminal = await killed([["Both."]], "resume");
    terminal.press(ALT_UP);
    await terminal.untilSeen("› then two");
    await terminal.untilGone("held: then two");
    terminal.press("\u0015");
    terminal.press(CTRL_S);
    await terminal.untilSeen("Both.");
    expect(await terminal.untilSeen("· ready")).not.toMatch(/pending:|queued:|held:/);
    expect(saidBy((await terminal.wire.arrived(1)).body).join()).not.toContain("then two");
    expect(saidBy((await terminal.wire.arrived(1)).body).join()).toMatch(/begin.*then one/);
  });

  test("also if a stop held it before", async () => {
    const terminal = await killed([["On."], ["One."], ["Two."]], "continue", ESC);
    expect(await terminal.untilSeen("pending: mind the rope")).toContain("stopped · ⏎ to continue");
    terminal.press(ENTER);
    await terminal.untilSeen("Two.");
    expect(await terminal.untilSeen("· ready")).not.toMatch(/pending:|queued:|held:/);
  });
});
