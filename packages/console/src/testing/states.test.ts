// States that a tour does not show: damage, drift, superseded text, an end for good, hostile requests. Real browser, real store.

import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { HOSTILE, type OddSite, openOddSite } from "./odd-site.ts";
import { openBrowser, PATIENCE_MS, violations } from "./open-browser.ts";

let browser: Browser;
let site: OddSite;
let page: Page;
const errors: string[] = [];

beforeAll(async () => {
  [browser, site] = await Promise.all([openBrowser(), openOddSite()]);
});
afterAll(async () => {
  await browser?.close();
  await site?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  page.setDefaultTimeout(PATIENCE_MS);
  errors.length = 0;
  page.on("pageerror", (error) => errors.push(error.message));
  // The policy of the page reports what it refuses here, too.
  page.on("console", (message) => {
    if (message.type() === "error" && !/Failed to load resource/.test(message.text())) errors.push(message.text());
  });
});
afterEach(async () => {
  await page.close();
  expect(errors).toEqual([]);
});

describe("damage", () => {
  test("a thread with an unreadable row is in the list, with the way to repair it", async () => {
    await page.goto(`${site.url}/threads`);
    const row = page.getByRole("row", { name: /Damaged/ });
    await row.waitFor();
    expect(await row.innerText()).toMatch(/rowless[\s\S]*_CORRUPT[\s\S]*Repair…/);
    await row.getByRole("button", { name: "Repair…" }).click();
    await page.waitForURL(/\/threads\/rowless$/);
    expect(await violations(page)).toEqual([]);
  });

  test("an unreadable thread names the place, stays, and is repaired into a new one that names the loss", async () => {
    await page.goto(`${site.url}/threads/ledger`);
    await page.getByRole("heading", { name: "Thread ledger cannot be read to its end" }).waitFor();
    await page.getByText("damaged at 6").waitFor();
    // The lists are live beside it: a damaged thread is not a lost connection.
    expect(await page.getByText(/Not connected/).count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "Repair into a new thread" }).click();
    await page.getByText(/11 facts are lost, from fact 6 on/).waitFor();
    await page.getByText("What does the ledger say?").first().waitFor();
    expect(page.url()).not.toContain("ledger");
    await page.goto(`${site.url}/threads/ledger`);
    await page.getByRole("heading", { name: /cannot be read to its end/ }).waitFor();
  });

  test("a request that cannot be read has its row in the inbox, and counts in every number", async () => {
    await page.goto(`${site.url}/inbox`);
    const list = page.getByRole("navigation", { name: "Requests" });
    await list.getByText("A request cannot be read").waitFor();
    expect(await list.innerText()).toMatch(/thread torn[\s\S]*STORE_CORRUPT/);
    const count = Number(await page.locator(".count-person").innerText());
    expect(await page.title()).toBe(`(${count}) Belay`);
    expect(await page.getByRole("button", { name: /^Open/ }).innerText()).toBe(`Open\n${count}`);
    expect(await violations(page)).toEqual([]);
  });
});

test("the drift report is read before a run continues under another agent", async () => {
  await page.goto(`${site.url}/threads/drifting`);
  await page.getByRole("button", { name: /^Continue/ }).click();
  const dialog = page.getByRole("dialog");
  await dialog.waitFor();
  expect(await dialog.innerText()).toMatch(/demo-4.*demo-5[\s\S]*count/);
  expect(await violations(page)).toEqual([]);
  await dialog.getByRole("button", { name: /Not now/ }).click();
  // Nothing has happened yet.
  expect(await (await fetch(`${site.url}/v1/threads/drifting`)).json()).toMatchObject({ state: "paused", segment: 1 });
  await page.keyboard.press("c");
  await dialog.getByRole("button", { name: /Continue|Resume/ }).click();
  await page.getByText("word399").waitFor();
  await page.getByRole("region", { name: "Conversation" }).evaluate((region) => region.scrollTo(0, 0));
  await page.getByText("Resumed").first().waitFor();
  // It stays on record, in the conversation and in the rail.
  expect(await page.locator(".evt", { hasText: "demo-4" }).count()).toBe(1);
  expect(await page.getByRole("complementary").innerText()).toMatch(/demo-4.*demo-5/);
});

test("text of an attempt that failed is struck through until the answer is on record", async () => {
  site.setDelay(60);
  await fetch(`${site.url}/v1/threads`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-belay": "1" },
    body: JSON.stringify({ threadId: "flaky", agent: "flaky", input: "Say it." }),
  });
  await page.goto(`${site.url}/threads/flaky`);
  await page.getByText("try said this.").waitFor();
  site.fail();
  const struck = page.locator(".superseded");
  await struck.waitFor();
  expect(await struck.innerText()).toBe("The first try said this.");
  // The text beside it streams, and is drawn anew.
  await expect
    .poll(() => struck.evaluate((element) => getComputedStyle(element).textDecorationLine))
    .toBe("line-through");
  await page.getByText("The second try").waitFor();
  expect(await violations(page)).toEqual([]);
  site.setDelay(0);
  await page.getByText("Completed").first().waitFor();
  expect(await struck.count()).toBe(0);
});

test("terminate asks first, offers the stop instead, and ends the thread for good", async () => {
  site.setDelay(50);
  await site.runner.start("doomed", "a long one", { agent: "clerk", by: "anna" });
  await page.goto(`${site.url}/threads/doomed`);
  await page.getByText("word3").first().waitFor();
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: /^Terminate/ }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Stop instead" }).waitFor();
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press("Escape");
  expect((await site.runner.look("doomed"))?.state).toBe("running");
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: /^Terminate/ }).click();
  await dialog.getByRole("button", { name: /^Terminate/ }).click();
  await page.locator(".badge", { hasText: "Terminated" }).waitFor();
  expect(await page.locator(".composer textarea").count()).toBe(0);
  await page.locator(".composer").getByRole("link", { name: "Fork" }).waitFor();
  expect(await violations(page)).toEqual([]);
  site.setDelay(0);
});

/** Opens a page that shows hostile text: it runs nothing, and is no wider than the window, on a phone too. */
async function fits(path: string): Promise<void> {
  await page.goto(site.url + path);
  await page.locator("h1, h2").first().waitFor();
  await page.waitForTimeout(300);
  for (const width of [360, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth), { message: path }).toBe(width);
  }
  expect(await page.evaluate(() => (window as { hit?: number }).hit), path).toBeUndefined();
}

test("a hostile tool name, reason, file name and key of an argument are read as they are, and nothing runs", async () => {
  const { items } = (await (await fetch(`${site.url}/v1/inbox`)).json()) as {
    items: { id: string; threadId: string }[];
  };
  const { id } = items.find(({ threadId }) => threadId === "shouted")!;
  const refusals: string[] = [];
  await page.exposeFunction("refused", (what: string) => refusals.push(what));
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
      (window as unknown as { refused(what: string): void }).refused(`${violatedDirective} ${blockedURI}`),
    );
  });
  for (const path of [
    `/inbox/${id}`,
    "/inbox",
    "/threads/shouted",
    "/threads/shouted/timeline",
    "/threads/shouted/facts?fact=6",
    "/agents/clerk",
    "/permissions",
    "/threads",
  ]) {
    await fits(path);
    expect(await page.locator("main img, main script").count(), path).toBe(0);
    // No letter that turns or hides others is left in the text that a person reads before a decision.
    const shown = await page.locator("main").innerText();
    expect(shown.match(/[\u202A-\u202E\u2066-\u2069\u200B]/gu), path).toBeNull();
  }
  await page.goto(`${site.url}/inbox/${id}`);
  const card = page.locator(".ask-card");
  await card.locator(".diff").waitFor();
  const text = await card.innerText();
  for (const shown of ["<i>key</i>U+200B", "<script>window.hit=1</script>", "U+2066"]) expect(text).toContain(shown);
  expect(await violations(page)).toEqual([]);
  await page.goto(`${site.url}/threads/shouted`);
  await page.locator(".call .tool", { hasText: "no<b>U+202Etool" }).waitFor();
  expect(refusals).toEqual([]);
});

test("a hostile call is shown as it is before it is approved: no script, no hidden letter, no layout broken", async () => {
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  const { items } = (await (await fetch(`${site.url}/v1/inbox`)).json()) as {
    items: { id: string; threadId: string }[];
  };
  const { id } = items.find(({ threadId }) => threadId === "hostile")!;
  for (const path of [
    `/inbox/${id}`,
    "/threads/hostile",
    "/threads/hostile/facts",
    "/threads/hostile/timeline",
    "/threads",
  ])
    await fits(path);
  await page.goto(`${site.url}/inbox/${id}`);
  const grid = page.locator(".arg-grid");
  await grid.waitFor();
  const text = await grid.innerText();
  for (const shown of [HOSTILE.html, HOSTILE.link, "U+202E", "U+200B", "U+2066", "\\u001b]8;;", "show all 1,000,000"])
    expect(text).toContain(shown);
  await page.goto(`${site.url}/threads/proto`);
  await page.getByText("Done.").waitFor();
  expect(await page.evaluate(() => ({}) as { admin?: boolean })).toEqual({});
  expect(asked.filter((url) => url.includes("evil"))).toEqual([]);
  expect(await violations(page)).toEqual([]);
});
