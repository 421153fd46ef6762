// The newcomer's way again: by keyboard alone, in Chinese, and on a phone.

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { openBrowser, violations } from "./open-browser.ts";
import { type OpenConsole, openConsole } from "./open-console.ts";

let browser: Browser;
let site: OpenConsole;

beforeAll(async () => {
  [browser, site] = await Promise.all([openBrowser(), openConsole({ delayMs: 50 })]);
});
afterAll(async () => {
  await browser?.close();
  await site?.[Symbol.asyncDispose]();
});

async function idOf(threadId: string): Promise<string> {
  const response = await site.demo.fetch(new Request(`${site.url}/v1/inbox`));
  const { items } = (await response.json()) as { items: { id: string; threadId: string }[] };
  return items.find((item) => item.threadId === threadId)!.id;
}

async function open(width: number, locale = "en-GB"): Promise<Page> {
  const page = await browser.newPage({ viewport: { width, height: 740 }, locale, hasTouch: width < 500 });
  page.setDefaultTimeout(15_000);
  return page;
}

// `npm test` has the phone alone.
if (inject("effort").everyVariant) {
  test("by keyboard alone: go to threads, start one, stop it, continue it", async () => {
    const page = await open(1280);
    await page.goto(`${site.url}/inbox`);
    await page.getByText("all keys").waitFor();
    await page.waitForTimeout(400);
    await page.keyboard.press("g");
    await page.keyboard.press("t");
    await page.waitForURL(/\/threads$/);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("New thread");
    await page.keyboard.press("Enter");
    await page.getByLabel("What to do").focus();
    await page.keyboard.type("Plan two days for us.");
    await page.keyboard.press("Control+Enter");
    await page.getByText("Reintal").first().waitFor();
    await page.keyboard.press("Control+.");
    await page.getByRole("region", { name: "Receipt of the stop" }).waitFor();
    await page.keyboard.press("c");
    await page.getByText("Resumed").first().waitFor();
    await page.keyboard.press("Control+.");
    await page.getByRole("region", { name: "Receipt of the stop" }).nth(1).waitFor();
    await page.close();
  });

  test("by keyboard alone: edit and approve, undo before it is sent, approve again", async () => {
    const page = await open(1280);
    await page.goto(`${site.url}/inbox/${await idOf("refund-b")}`);
    await page.getByRole("button", { name: /^Approve/ }).waitFor();
    await page.waitForTimeout(400);
    await page.keyboard.press("e");
    await page.getByLabel("euros").fill("90");
    await page.getByLabel("euros").blur();
    await page.keyboard.press("a");
    await page.getByText(/is sent in/).waitFor();
    await page.keyboard.press("u");
    await page.getByRole("button", { name: /^Approve with 1 change/ }).waitFor();
    await page.keyboard.press("a");
    await page.getByRole("heading", { name: "Approved by anna" }).waitFor();
    await page.close();
  });

  test("in Chinese every page has its words and breaks no rule", async () => {
    const page = await open(1280, "zh-CN");
    for (const [path, words] of [
      ["/inbox", "收件箱"],
      ["/threads", "线程"],
      ["/threads/transfer", "从这里继续"],
      ["/agents", "智能体"],
      ["/permissions", "规则的决定顺序"],
    ] as const) {
      await page.goto(site.url + path);
      await page.getByText(words).first().waitFor();
      expect(await page.evaluate(() => document.documentElement.lang)).toBe("zh-CN");
      expect(await violations(page)).toEqual([]);
    }
    await page.close();
  });

  test.each([
    "/inbox",
    "/threads",
    "/threads/transfer",
    "/threads/transfer/timeline",
    "/threads/offer-ann/graph",
    "/threads/zugspitze/fork",
    "/agents",
    "/permissions",
  ])("%s fits a phone of 360 px", async (path) => {
    const page = await open(360);
    await page.goto(site.url + path);
    await page.locator("main").waitFor();
    await page.waitForTimeout(400);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
    expect(await violations(page)).toEqual([]);
    await page.close();
  });
}

test("on a phone a destructive call is approved by holding, not by a tap", async () => {
  const page = await open(360);
  await page.goto(`${site.url}/inbox/${await idOf("deploy")}`);
  const approve = page.getByRole("button", { name: /^Approve/ });
  await approve.waitFor();
  await approve.tap();
  await page.waitForTimeout(700);
  expect(await page.getByText(/is sent in/).count()).toBe(0);
  await approve.dispatchEvent("pointerdown", { pointerType: "touch" });
  await page.getByText(/is sent in/).waitFor();
  await page.getByRole("button", { name: "Undo" }).tap();
  await page.close();
});
