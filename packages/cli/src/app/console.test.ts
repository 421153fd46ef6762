// /console: the pages inside the terminal's own process.

import { connect } from "@belay/client";
import { wireServer } from "@belay/testkit/wire";
import { expect, test } from "vitest";
import { testTalks } from "../testing/talk.ts";
import { CTRL_D } from "../testing/terminal.ts";

const { talk } = testTalks(wireServer);

test("/console prints a link whose page streams the run of the terminal, stops it, and ends with the terminal", async () => {
  const terminal = await talk([["The first half ", { stall: true }, "never said"]]);
  await terminal.untilSeen("console: /console");
  terminal.ask("/console");
  await terminal.untilSeen("The console is at");
  const [, url, token] = /(http:\/\/127\.0\.0\.1:\d+)\/#t=([\w-]+)/.exec(terminal.text().replace(/\s*\n\s*/g, ""))!;
  const page = connect({ url: url!, token: token! });
  terminal.ask("begin");
  await terminal.untilSeen("The first half");
  const [row] = (await page.threads()).items;
  const thread = page.open(row!.threadId);
  let said = "";
  for await (const event of thread.events()) {
    if (event.type !== "text-delta") continue;
    said += event.text;
    if (said.includes("half")) break;
  }
  // The page reads the text while it streams in the terminal: one process, one run.
  expect(said).toContain("The first half");
  const receipt = await thread.interrupt();
  expect(receipt.partialText).toContain("The first half");
  await terminal.untilSeen("── stopped");
  // Asked again, it is the same console.
  terminal.ask("/console");
  await terminal.untilSeen(/The console is at.*The console is at/);
  expect(new Set(terminal.text().match(/127\.0\.0\.1:\d+\/#/g)).size).toBe(1);
  terminal.press(CTRL_D);
  await terminal.exited;
  await expect(fetch(url!)).rejects.toThrow();
});
