// Pictures of each page, for people: `npm run console -- --check` writes them to a folder. Without a folder nothing is done.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openBrowser } from "./open-browser.ts";
import { type OpenConsole, openConsole } from "./open-console.ts";

const folder = process.env.BELAY_SHOTS;

const pages: readonly (readonly [name: string, path: string])[] = [
  ["inbox", "/inbox"],
  ["threads", "/threads"],
  ["thread-running", "/threads/plan"],
  ["thread-late", "/threads/transfer"],
  ["thread-completed", "/threads/zugspitze"],
  ["thread-asks", "/threads/deploy"],
  ["thread-crashed", "/threads/import"],
  ["thread-failed", "/threads/digest"],
  ["timeline", "/threads/transfer/timeline"],
  ["graph", "/threads/offer-ann/graph"],
  ["facts", "/threads/transfer/facts?fact=5"],
  ["fork", "/threads/zugspitze/fork"],
  ["agents", "/agents/support"],
  ["permissions", "/permissions"],
  ["unknown", "/threads/no-such-thread"],
];

const looks = [
  ["light", 1280, 800],
  ["dark", 1280, 800],
  ["light", 360, 740],
] as const;

describe.skipIf(folder === undefined)("pictures of the console", () => {
  let browser: Browser;
  let full: OpenConsole;
  let empty: OpenConsole;
  beforeAll(async () => {
    mkdirSync(folder!, { recursive: true });
    browser = await openBrowser();
    full = await openConsole();
    empty = await openConsole({ tour: false });
  });
  afterAll(async () => {
    await browser?.close();
    await full?.[Symbol.asyncDispose]();
    await empty?.[Symbol.asyncDispose]();
  });

  async function shoot(page: Page, url: string, name: string): Promise<void> {
    await page.goto(url);
    await page.waitForSelector(".app");
    await page.waitForTimeout(700);
    await page.screenshot({ path: join(folder!, `${name}.png`) });
  }

  test.each(looks)("%s at %i px", async (theme, width, height) => {
    const page = await browser.newPage({ viewport: { width, height }, colorScheme: theme });
    const errors: string[] = [];
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    page.on("pageerror", (error) => errors.push(error.message));
    for (const [name, path] of pages) await shoot(page, full.url + path, `${name}.${theme}.${width}`);
    const { items } = await page.evaluate(
      async () => (await (await fetch("/v1/inbox")).json()) as { items: { id: string; threadId: string }[] },
    );
    for (const { id, threadId } of items)
      await shoot(page, `${full.url}/inbox/${id}`, `card-${threadId}.${theme}.${width}`);
    for (const [name, path] of [
      ["empty-inbox", "/inbox"],
      ["empty-threads", "/threads"],
    ] as const)
      await shoot(page, empty.url + path, `${name}.${theme}.${width}`);
    await page.close();
    expect(errors.filter((words) => !/404/.test(words))).toEqual([]);
  });
});
