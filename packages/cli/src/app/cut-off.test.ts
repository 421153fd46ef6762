// A call that was running when its process was killed.

import { setTimeout as sleep } from "node:timers/promises";
import { wireServer } from "@belay/testkit/wire";
import { test } from "vitest";
import { SEEN_MS, testTalks } from "../testing/talk.ts";
import { ENTER, ESC } from "../testing/terminal.ts";

const { talk } = testTalks(wireServer);

test("C1: after SIGKILL in an approved command, --continue reports it before any key; Enter asks for its outcome", async () => {
  const first = await talk([["I run it.", { call: "shell", id: "c1", args: { command: "echo $((40+2)); sleep 20" } }]]);
  first.ask("run it");
  await first.untilSeen("Yes, once");
  await sleep(SEEN_MS);
  first.press(`y${ENTER}`);
  await first.untilSeen(" 42 ");
  first.kill();
  await first.exited;
  const second = await talk([], {
    folder: first.folder,
    args: ["--continue"],
    ready: "This thread was cut off in the middle.",
  });
  await second.untilSeen("It was running: shell echo $((40+2)); sleep 20.");
  // The command outlived its program: what becomes of it is asked first.
  await second.untilSeen("What about it?");
  second.press(ESC);
  await second.untilGone("What about it?");
  second.press(ENTER);
  await second.untilSeen("shell was cut off by a crash. What became of it?");
  await sleep(SEEN_MS);
  second.press(ESC);
  await second.untilSeen("── stopped");
});
