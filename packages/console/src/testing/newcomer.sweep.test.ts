// The newcomer's script on the program that `npm run console` starts: by mouse, by keys alone, on a phone of 360 px; in both
// languages and both themes. No reload and no address is typed: everything is found on the pages.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { demoProgram } from "../../../../scripts/console.mjs";
import { Newcomer, type Way } from "./newcomer-script.ts";
import { openBrowser, PATIENCE_MS, violations } from "./open-browser.ts";

let browser: Browser;
let child: ChildProcess;
let link: string;

beforeAll(async () => {
  // The build comes before: the start of a newcomer that has built is timed elsewhere.
  await demoProgram();
  const script = fileURLToPath(new URL("../../../../scripts/console.mjs", import.meta.url));
  child = spawn(process.execPath, [script, "--no-open", "--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
  let words = "";
  child.stdout!.on("data", (chunk) => {
    words += chunk;
  });
  while (!/http:\S+/.test(words)) await once(child.stdout!, "data");
  link = /http:\S+/.exec(words)![0];
  browser = await openBrowser();
}, 120_000);
afterAll(async () => {
  await browser?.close();
  child?.kill("SIGTERM");
});

const ways: readonly Way[] = [
  { hand: "mouse", language: "en", theme: "light" },
  { hand: "keys", language: "en", theme: "dark" },
  { hand: "finger", language: "zh", theme: "dark" },
  { hand: "keys", language: "zh", theme: "light" },
  { hand: "mouse", language: "zh", theme: "dark" },
  { hand: "finger", language: "en", theme: "light" },
];

test.each(ways.slice(0, inject("effort").newcomers))(
  "a newcomer, by $hand, in $language, $theme",
  async (way) => {
    const { hand, language, theme } = way;
    const context = await browser.newContext({
      viewport: hand === "finger" ? { width: 360, height: 740 } : { width: 1280, height: 800 },
      hasTouch: hand === "finger",
      locale: language === "zh" ? "zh-CN" : "en-GB",
      colorScheme: theme,
    });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(error.message));
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    await page.goto(link);
    await page.locator("main").waitFor();
    // Each begins with the tour as it was.
    await page.evaluate(() =>
      fetch("/v1/demo/reset", { method: "POST", headers: { "x-belay": "1", "content-type": "application/json" } }),
    );
    await page.reload();
    await page.locator("main h1").waitFor();
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe(theme);
    const newcomer = new Newcomer(page, way);
    for (const step of [
      "startsAndSeesItStream",
      "stopsAndReadsTheReceipt",
      "continuesFromThere",
      "approvesAnEditedCall",
      "answersAQuestion",
      "forksWithItsEffectsSeen",
    ] as const) {
      await newcomer[step]();
      const { width } = page.viewportSize()!;
      expect(await page.evaluate(() => document.documentElement.scrollWidth), step).toBe(width);
      expect(await violations(page), step).toEqual([]);
    }
    expect(errors).toEqual([]);
    await context.close();
  },
  180_000,
);
