// Sentences that are typed into a request, in a real terminal.

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { wireServer } from "@belay/testkit/wire";
import { describe, expect, inject, test } from "vitest";
import { SEEN_MS, testTalks } from "../testing/talk.ts";
import { ENTER } from "../testing/terminal.ts";

const { talk } = testTalks(wireServer);
const effort = inject("effort");

const run = (command: string) => ({ call: "shell", id: command, args: { command } });
const rulesOf = (data: string) => (existsSync(join(data, "rules")) ? readdirSync(join(data, "rules")) : []);

/** A hundred sentences, most of which begin with a letter that is a choice. */
const sentences = [
  "also check the tests",
  "yes but look first",
  "try it again",
  "not now",
  "and then stop",
  "please wait",
  "very good",
  "everything is fine",
  "any news",
  "no",
  "yet another thing",
  "the tests fail",
  "a moment",
  "too slow",
  "put it back",
  "stop that",
  "edit the other file",
  "yay",
  "at last",
  "eat that",
].flatMap((words, at) => ["", " please", " now", " ok", ` ${at}`].map((end) => words + end));

/** Longer than the time for which Enter belongs to sent words: the next sentence meets a request that reads its keys. */
const HEARD_MS = 1_100;

/** Types each of them into a request, with Enter at the end. */
async function typeInto(terminal: Awaited<ReturnType<typeof talk>>, words: readonly string[], pace: number) {
  terminal.ask("run it");
  await terminal.untilSeen("Yes, once");
  await sleep(SEEN_MS);
  for (const sentence of words) {
    for (const letter of pace === 0 ? [sentence] : sentence) {
      terminal.press(letter);
      await sleep(pace);
    }
    terminal.press(ENTER);
    await terminal.untilSeen(`pending: ${sentence}`);
    await sleep(HEARD_MS);
  }
}

describe("TC1: a sentence that is typed into a request", () => {
  test("grants nothing, at three speeds", { timeout: 240_000 }, async () => {
    const paces = [0, 25, 80];
    await Promise.all(
      paces.map(async (pace, nth) => {
        const terminal = await talk([["I run it.", run("touch ran")]]);
        // A prime: each share has sentences of every kind.
        const some = sentences.filter((_, at) => (at * 37) % sentences.length < effort.sentences);
        const own = some.filter((_, at) => at % paces.length === nth);
        await typeInto(terminal, own, pace);
        expect(await terminal.untilSeen("touch ran")).toContain("Yes, once");
        expect(existsSync(join(terminal.folder, "ran"))).toBe(false);
        expect(rulesOf(terminal.env.BELAY_DATA)).toEqual([]);
        expect(terminal.wire.requests.length).toBe(1);
      }),
    );
  });
});
