// The pictures in the docs, in a real browser. `npx vitest run packages/console/src/testing/docs-pictures --update` takes those of
// the console anew; those of the terminal are drawn by packages/cli/src/app/screens.test.ts.

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openBrowser, PATIENCE_MS } from "./open-browser.ts";
import { type OpenConsole, openConsole } from "./open-console.ts";

const docs = fileURLToPath(new URL("../../../../docs/screens", import.meta.url));
const drawings = readdirSync(docs).filter((name) => name.endsWith(".svg"));

/** The page of each picture, and the words on it that the docs write about. */
const pictures: Record<string, { path: string; words: readonly string[] }> = {
  "console-threads": { path: "/threads", words: ["Running", "Crashed", "At node", "Stopped", "Completed", "Asks"] },
  "console-card": { path: "/inbox", words: ["Deploy 1.4 to production?", "Approvals", "Deadline", "2 changes"] },
  "console-thread": { path: "/threads/transfer", words: ["Stopped by anna", "late", "held", "Continue from here"] },
  "console-graph": { path: "/threads/offer-ann/graph", words: ["Offer for Ann Huber", "stopped before", "Run send"] },
  "console-fork": { path: "/threads/zugspitze/fork", words: ["Not undone by going back", "book", "Only fork"] },
};

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser?.close());

test.each(drawings)("docs/screens/%s keeps every space of the screen in a browser", async (name) => {
  const page = await browser.newPage();
  await page.goto(pathToFileURL(join(docs, name)).href);
  const lost = await page.evaluate(() =>
    [...document.querySelectorAll("text")]
      .map((row) => ({ words: row.textContent ?? "", shown: row.getNumberOfChars() }))
      .filter(({ words, shown }) => words.length !== shown),
  );
  expect(lost).toEqual([]);
  // Without the rule for white space the same rows do lose some: the comparison can fail.
  const without = await page.evaluate(() => {
    document.querySelector("style")!.remove();
    return [...document.querySelectorAll("text")].some((row) => row.getNumberOfChars() !== row.textContent!.length);
  });
  expect(without).toBe(true);
  await page.close();
});

describe("pictures of the console", () => {
  let console_: OpenConsole;
  beforeAll(async () => {
    console_ = await openConsole();
  });
  afterAll(() => console_?.[Symbol.asyncDispose]());

  test("docs/screens has the pictures that are taken here, and no other", () => {
    const taken = readdirSync(docs).filter((name) => name.endsWith(".png"));
    expect(taken.sort()).toEqual(Object.keys(pictures).map((name) => `${name}.png`).sort()); // biome-ignore format: one line
  });

  test.each(Object.entries(pictures))("%s shows the words that the docs write about", async (name, { path, words }) => {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: "light" });
    await page.goto(console_.url + path);
    await page.waitForSelector(".app");
    if (name === "console-card") await page.getByText("Deploy 1.4 to production?").first().click();
    for (const word of words)
      await page.getByText(word).filter({ visible: true }).first().waitFor({ timeout: PATIENCE_MS });
    const file = join(docs, `${name}.png`);
    if (isUpdate() || !existsSync(file)) {
      await page.waitForTimeout(700);
      await page.screenshot({ path: file });
    }
    await page.close();
  });
});

/** Tells whether vitest runs with `--update`. */
function isUpdate(): boolean {
  const state = expect.getState() as { snapshotState?: { snapshotUpdateState?: string } };
  return state.snapshotState?.snapshotUpdateState === "all";
}
