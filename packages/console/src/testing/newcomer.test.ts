// The tour in a real browser, with the real server and real runs: decisions, roles, a lost connection, hostile text, a phone.
// The acts of a newcomer from the first look on are in newcomer.sweep.

import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openBrowser, PATIENCE_MS } from "./open-browser.ts";
import { type OpenConsole, openConsole } from "./open-console.ts";

let browser: Browser;
let console_: OpenConsole;

beforeAll(async () => {
  [browser, console_] = await Promise.all([openBrowser(), openConsole({ delayMs: 50 })]);
});
afterAll(async () => {
  await browser?.close();
  await console_?.[Symbol.asyncDispose]();
});

/** A browser of its own for a person. Everything that the page complains about is an error. */
async function visit(person: string, width = 1280): Promise<{ page: Page; context: BrowserContext; errors: string[] }> {
  const context = await browser.newContext({ viewport: { width, height: 800 } });
  await context.addCookies([{ name: "belay-demo-as", value: person, url: console_.url }]);
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" && !/Failed to load resource|ERR_CONNECTION/.test(message.text()))
      errors.push(message.text());
  });
  return { page, context, errors };
}

async function inboxIds(page: Page): Promise<Readonly<Record<string, string>>> {
  const { items } = await page.evaluate(
    async () => (await (await fetch("/v1/inbox")).json()) as { items: { id: string; threadId: string }[] },
  );
  return Object.fromEntries(items.map(({ id, threadId }) => [threadId, id]));
}

async function inboxIdsOf(threadId: string): Promise<string | undefined> {
  const response = await console_.demo.fetch(new Request(`${console_.url}/v1/inbox`));
  const { items } = (await response.json()) as { items: { id: string; threadId: string }[] };
  return items.find((item) => item.threadId === threadId)?.id;
}

/** In the page: presses the key of the approval a moment after its button has appeared, as a hand that was on its way would. */
function pressWhenItAppears(): void {
  const observer = new MutationObserver(() => {
    if (document.querySelector(".btn-approve") === null) return;
    observer.disconnect();
    const appeared = performance.now();
    setTimeout(() => {
      Object.assign(window, { pressedAfter: performance.now() - appeared });
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true, cancelable: true }));
    }, 100);
  });
  observer.observe(document, { childList: true, subtree: true });
}

describe("deciding", () => {
  test("by keys: an edited call is approved, taken back before it is sent, and approved again", async () => {
    const { page, context, errors } = await visit("anna");
    await page.goto(`${console_.url}/inbox/${(await inboxIdsOf("refund-b"))!}`);
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
    expect(errors).toEqual([]);
    await context.close();
  });

  test("on a phone a destructive call is approved by holding, not by a tap", async () => {
    const page = await browser.newPage({ viewport: { width: 360, height: 740 }, hasTouch: true });
    page.setDefaultTimeout(PATIENCE_MS);
    await page.goto(`${console_.url}/inbox/${(await inboxIdsOf("deploy"))!}`);
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

  test("two people approve the last vote at once: the loser's card names the winner, and no key or press decides by itself", async () => {
    const [anna, carla] = await Promise.all([visit("anna"), visit("carla")]);
    const id = (await inboxIdsOf("deploy"))!;
    for (const { page } of [anna, carla]) {
      await page.addInitScript(pressWhenItAppears);
      await page.goto(`${console_.url}/inbox/${id}`);
      await page.getByRole("button", { name: /^Approve/ }).waitFor();
      // Dead at first, then armed by the first press; Space and Enter do nothing.
      await page.waitForFunction(() => Object.hasOwn(window, "pressedAfter"));
      expect(await page.getByText("Press again").count()).toBe(0);
      await page.waitForTimeout(350);
      await page.getByRole("button", { name: /^Approve/ }).focus();
      await page.keyboard.press("Enter");
      await page.keyboard.press("Space");
      expect(await page.getByText(/is sent in/).count()).toBe(0);
      await page.keyboard.press("a");
      await page.getByText("Press again").waitFor();
      await page.keyboard.press("a");
      await page.getByText(/Approval is sent in/).waitFor();
    }
    // The slower card may have turned before its person pressed: then there is nothing left to press.
    const press = ({ page }: typeof anna) =>
      page
        .getByRole("button", { name: "Send now" })
        .click({ timeout: 2_000 })
        .catch(() => {});
    await Promise.all([press(anna), press(carla)]);
    const decided = ({ page }: typeof anna) => page.getByRole("heading", { name: /^Approved by/ });
    await Promise.all([decided(anna).waitFor(), decided(carla).waitFor()]);
    const [first, second] = await Promise.all([decided(anna).innerText(), decided(carla).innerText()]);
    const winner = /^Approved by (\w+)/.exec(first)![1]!;
    expect(second).toContain(`Approved by ${winner}`);
    const loser = winner === "anna" ? carla : anna;
    await loser.page.getByText("Your decision was not needed").waitFor();
    expect(await decided(loser).innerText()).toMatch(new RegExp(`^Approved by ${winner}, .* before you$`));
    expect([...anna.errors, ...carla.errors]).toEqual([]);
    await Promise.all([anna.context.close(), carla.context.close()]);
  });

  test("a viewer sees each button, disabled, with the role that it needs", async () => {
    const { page, context } = await visit("vera");
    await page.goto(`${console_.url}/threads/transfer`);
    const button = page.getByRole("button", { name: /^Continue/ });
    await button.waitFor();
    expect([await button.isDisabled(), await button.getAttribute("title")]).toEqual([
      true,
      "Needs the role operator; you are viewer.",
    ]);
    await context.close();
  });
});

describe("a connection", () => {
  test("a lost connection is shown, and missed events come by the cursor", async () => {
    const { page, context, errors } = await visit("anna");
    await page.goto(`${console_.url}/threads/zugspitze`);
    await page.getByText("The hut is booked for two").waitFor();
    await console_.setOnline(false);
    await page.getByText(/Not connected since/).waitFor();
    expect(await page.getByRole("button", { name: /^Send/ }).isDisabled()).toBe(true);
    const body = JSON.stringify({ input: "Which hut was it?" });
    const headers = { "content-type": "application/json", "x-belay": "1" };
    await console_.demo.fetch(
      new Request(`${console_.url}/v1/threads/zugspitze/runs`, { method: "POST", body, headers }),
    );
    await console_.setOnline(true);
    await page
      .getByRole("button", { name: "Try now" })
      .click()
      .catch(() => {});
    await page.getByText("Which hut was it?").waitFor();
    await page.getByText("1,387 m").nth(1).waitFor();
    expect(await page.getByText(/Not connected since/).count()).toBe(0);
    expect(errors).toEqual([]);
    await context.close();
  });
});

describe("hostile text", () => {
  test("neither runs nor hides, in any text of a person, a model or a tool", async () => {
    const { page, context, errors } = await visit("anna");
    const line = "x".repeat(900_000);
    const input = `<img src=x onerror="window.hit=1"><script>window.hit=1</script> [pay](javascript:window.hit=1) [bank](https://evil.example/a) **bold** ![i](https://evil.example/i.png)\n\u202Eevil\u200B\n${"<b>"}`;
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    for (const [threadId, words] of [
      ["hostile", input],
      ["long", line],
    ] as const) {
      const body = JSON.stringify({ threadId, agent: "guide", input: `Where? ${words}` });
      const headers = { "content-type": "application/json", "x-belay": "1" };
      await console_.demo.fetch(new Request(`${console_.url}/v1/threads`, { method: "POST", body, headers }));
    }
    await page.goto(`${console_.url}/threads/hostile`);
    await page.locator(".md strong", { hasText: "bold" }).waitFor();
    expect(await page.evaluate(() => (window as { hit?: number }).hit)).toBeUndefined();
    expect(await page.locator(".md img, .md script").count()).toBe(0);
    expect(
      await page
        .locator(".md a")
        .evaluateAll((links) =>
          links.map((link) => [link.getAttribute("href"), link.getAttribute("rel"), link.textContent]),
        ),
    ).toEqual([
      [null, null, "pay"],
      ["https://evil.example/a", "noopener noreferrer nofollow", "bank (evil.example)"],
    ]);
    expect(asked.filter((url) => url.includes("evil"))).toEqual([]);
    await page.goto(`${console_.url}/threads/long`);
    await page
      .getByRole("button", { name: /show all 900/ })
      .first()
      .waitFor();
    expect(
      await page
        .locator(".md")
        .first()
        .evaluate((element) => element.textContent!.length),
    ).toBeLessThan(10_000);
    expect(errors).toEqual([]);
    await context.close();
  });
});

test("inbox and card fit a phone of 360 px, with targets for a thumb", async () => {
  const { page, context } = await visit("anna", 360);
  await page.goto(`${console_.url}/inbox`);
  await page.locator(".ask, .empty").first().waitFor();
  const wide = () => page.evaluate(() => document.documentElement.scrollWidth);
  expect(await wide()).toBe(360);
  const ids = await inboxIds(page);
  const [first] = Object.values(ids);
  if (first !== undefined) {
    await page.goto(`${console_.url}/inbox/${first}`);
    await page.locator(".decide .btn").first().waitFor();
    expect(await wide()).toBe(360);
    const heights = await page
      .locator(".decide .btn")
      .evaluateAll((all) => all.map((each) => each.getBoundingClientRect().height));
    expect(Math.min(...heights)).toBeGreaterThanOrEqual(44);
  }
  await context.close();
});
