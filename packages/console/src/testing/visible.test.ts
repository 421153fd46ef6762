// Facts of the journal that other consoles do not show: each is on the page on which a person would look for it. Those that
// are not here are in newcomer.sweep (receipt, effects, asked and ran), states (drift, struck-through text, damage) and
// together.sweep (the faster person).

import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openBrowser, PATIENCE_MS, violations } from "./open-browser.ts";
import { type OpenConsole, openConsole } from "./open-console.ts";
import { post, requestOf } from "./scenes.ts";

let browser: Browser;
let site: OpenConsole;
let context: BrowserContext;
let page: Page;
const errors: string[] = [];

beforeAll(async () => {
  [browser, site] = await Promise.all([openBrowser(), openConsole({ delayMs: 20 })]);
});
afterAll(async () => {
  await browser?.close();
  await site?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  ({ context, page } = await visit());
  errors.length = 0;
});
afterEach(async () => {
  await context.close();
  expect(errors).toEqual([]);
});

async function visit(): Promise<{ context: BrowserContext; page: Page }> {
  const made = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const opened = await made.newPage();
  opened.setDefaultTimeout(PATIENCE_MS);
  opened.on("pageerror", (error) => errors.push(error.message));
  opened.on("console", (message) => {
    if (message.type() === "error" && !/Failed to load resource/.test(message.text())) errors.push(message.text());
  });
  return { context: made, page: opened };
}

test("a late result: the call and the rail say when it ended, and that the model reads it once", async () => {
  await page.goto(`${site.url}/threads/transfer`);
  const call = page.locator(".call", { hasText: "transfer" });
  await call.getByText(/^Ended \d.* after the stop\.$/).waitFor();
  await call.locator(".call-line").click();
  await call.getByText("Late result").waitFor();
  expect(await call.innerText()).toContain("SEPA-88122");
  const rail = page.getByRole("complementary", { name: "About this thread" });
  expect(await rail.innerText()).toMatch(/Waiting to be read[\s\S]*transfer ok[\s\S]*told at the next turn, once/);
  await page.goto(`${site.url}/threads/transfer/timeline`);
  await page.locator(".tl-diamond").waitFor();
});

test("the list says why each thread rests: by whom, at which node, with which error, with which answer", async () => {
  await page.goto(`${site.url}/threads`);
  const says = (name: RegExp, words: string | RegExp) => page.getByRole("row", { name }).getByText(words).waitFor();
  await says(/Transfer the refund/, "by anna: “leave C out”");
  await says(/Transfer the refund/, "1 call held");
  await says(/Import customers/, "in the middle of import_rows");
  await says(/Offer for Ann/, "before send");
  await says(/weekly digest/, /^MODEL_FAILED .*no credit left/);
  await says(/Which hut/, "The hut is booked for two");
  await says(/Ship 1.4/, "1 of 2");
  // On a phone the same words stand below the title.
  await page.setViewportSize({ width: 360, height: 740 });
  await says(/Offer for Ann/, "before send");
  expect(await violations(page)).toEqual([]);
});

test("held calls: each of the two ways after a stop says what becomes of them", async () => {
  await page.goto(`${site.url}/threads/transfer`);
  await page.getByRole("button", { name: "Continue: runs 1 held call" }).waitFor();
  const ways = page.locator(".resume > div");
  expect(await ways.nth(0).innerText()).toMatch(/1 held call runs: mail/);
  expect(await ways.nth(1).innerText()).toMatch(/mail is told “not executed”/);
  await page.getByText("allowed by rule agent:support#1").waitFor();
});

test("quorum: the card says which people approved which digest, and which it still waits for", async () => {
  const id = await requestOf(site, "deploy");
  await page.goto(`${site.url}/inbox/${id}`);
  const digest = await page
    .locator(".ask-body .row code")
    .filter({ hasText: /^[0-9a-f]{6}$/ })
    .first()
    .innerText();
  const approvals = page.locator(".facts-list dd").first();
  await approvals.getByText("1 of 2").waitFor();
  expect(await approvals.innerText()).toMatch(/1 of 2[\s\S]*ben/);
  expect(await approvals.innerText()).toContain(digest);
  expect(await approvals.innerText()).toContain("still waits for you, carla");
  // An edited call starts a count of its own.
  await page.getByRole("button", { name: /^Edit/ }).click();
  await page.getByLabel("region").fill("eu-2");
  await page.getByText("ben approved other arguments. Yours would be 1 of 2.").waitFor();
  await page.getByText(/^Why\?$/).click();
  await page
    .locator("[role=status]", { hasText: /deploy|destructive|asks/ })
    .first()
    .waitFor();
});

test("a card that vanishes says why: it turns in place, and keeps the focus", async () => {
  const id = await requestOf(site, "room");
  await page.goto(`${site.url}/inbox/${id}`);
  await page.getByLabel("Waxenstein, floor 4").check();
  await post(site, "/threads/room/interrupt", { reason: "the meeting is off" }, "ben");
  await page.getByRole("heading", { name: /^Withdrawn/ }).waitFor();
  expect(await page.getByRole("heading", { name: "Which room on Thursday?" }).count()).toBe(1);
  expect(await page.getByRole("button", { name: "Answer", exact: true }).count()).toBe(0);
  // Its row fades out of the list meanwhile.
  await page.locator(".is-leaving").waitFor({ state: "detached" });
  expect(await violations(page)).toEqual([]);
});

describe("a crash", () => {
  test("is a pause with its cause, in the list, on the thread and in its conversation", async () => {
    await page.goto(`${site.url}/threads`);
    const row = page.getByRole("row", { name: /Import customers/ });
    expect(await row.innerText()).toMatch(/Crashed[\s\S]*its process is gone/);
    await row.getByRole("link", { name: /Import customers/ }).click();
    await page.getByText("Crashed: the process that ran it is gone.").waitFor();
    await page.getByText("A crash cut it. It may have taken effect: a person says what became of it.").waitFor();
  });

  test("leaves a call of unknown outcome: run again, here is the result, skip; and one run goes over two processes", async () => {
    await page.goto(`${site.url}/threads/import`);
    await page.getByRole("button", { name: /^Continue/ }).click();
    await page.getByRole("link", { name: "Review" }).first().click();
    await page.getByRole("heading", { name: "What became of import_rows?" }).waitFor();
    for (const name of [/^Run again/, /^Here is the result/, /^Skip…/])
      await page.getByRole("button", { name }).waitFor();
    // To run it again is an approval: neither key gives it.
    await page.getByRole("button", { name: /^Run again/ }).focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Space");
    await page.waitForTimeout(200);
    expect(await page.getByText(/is sent in/).count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: /^Here is the result/ }).click();
    await page.locator("textarea[data-answer]").fill('{ "imported": 38 }');
    await page.getByRole("button", { name: "Use as the result" }).click();
    await page.getByRole("button", { name: "Send now" }).click();
    await page.getByRole("heading", { name: "Answered by anna" }).waitFor();
    await page.goto(`${site.url}/threads/import`);
    await page.getByText("Imported: 38 of 41 rows.").waitFor();
    const talk = page.getByRole("region", { name: "Conversation" });
    expect(await talk.innerText()).toMatch(/Crashed: the process that ran it is gone\.[\s\S]*same run, segment 2/);
    const facts = (await (await fetch(`${site.url}/v1/threads/import/facts?after=0`)).json()) as {
      items: { runId?: string }[];
    };
    expect(new Set(facts.items.flatMap(({ runId }) => runId ?? [])).size).toBe(1);
  });
});

describe("many requests", () => {
  const asks = async (threadIds: readonly string[]) => {
    for (const threadId of threadIds) {
      await post(site, "/threads", { threadId, agent: "support", input: `Refund order B of ${threadId}, please.` });
      await expect.poll(() => site.demo.runner.look(threadId)).toMatchObject({ state: "paused" });
    }
  };
  const rejected = async (threadId: string) => {
    const { items } = await site.demo.runner.journal(threadId);
    return items.flatMap((fact) => (fact.type === "request-answered" ? [fact.by] : []));
  };

  test("are approved at once, each on its own: the faster person is named, destructive calls are left out, no key presses it", async () => {
    await asks(["many-1", "many-2", "many-3"]);
    const slow = await requestOf(site, "many-2");
    await page.goto(`${site.url}/inbox`);
    for (const threadId of ["many-1", "many-2", "deploy"]) {
      const id = await requestOf(site, threadId);
      await page.locator(`.ask-row:has(a[href*="${encodeURIComponent(id)}"]) .check`).check();
    }
    await page.getByRole("button", { name: "Approve…" }).click();
    const dialog = page.getByRole("dialog", { name: "Approve 2 requests?" });
    await dialog.getByText("Left out: a destructive call is approved on its own card.").waitFor();
    expect(await dialog.innerText()).toContain("euros: 900");
    expect(await violations(page)).toEqual([]);
    const approve = dialog.getByRole("button", { name: /^Approve 2/ });
    await approve.focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Space");
    await page.waitForTimeout(200);
    expect(await rejected("many-1")).toEqual([]);
    await post(site, `/requests/${encodeURIComponent(slow)}/answer`, { type: "reject", reason: "no" }, "ben");
    await page.keyboard.press("a");
    await dialog.getByText("ben was faster; this answer changed nothing.").waitFor();
    await dialog.getByRole("button", { name: /^Close/ }).click();
    expect(await rejected("many-1")).toEqual(["anna"]);
    expect(await rejected("many-2")).toEqual(["ben"]);
    expect(await rejected("many-3")).toEqual([]);
    expect((await site.demo.runner.look("deploy"))?.state).toBe("paused");
  });

  test("that were decided show what the model asked beside what was approved", async () => {
    await asks(["cheap"]);
    const id = await requestOf(site, "cheap");
    const args = { order: "B", euros: 90, reason: "returned within 30 days" };
    await post(site, `/requests/${encodeURIComponent(id)}/answer`, { type: "approve", args }, "ben");
    await page.goto(`${site.url}/inbox/${encodeURIComponent(id)}?show=decided`);
    await page.getByRole("heading", { name: "Approved by ben" }).waitFor();
    await page.locator(".card", { hasText: "Approved by ben" }).getByText("90", { exact: true }).waitFor();
    await page.locator(".arg-grid").getByText("900", { exact: true }).waitFor();
  });

  test("are selected by x, and rejected with one reason", async () => {
    await asks(["many-4"]);
    await page.goto(`${site.url}/inbox/${encodeURIComponent(await requestOf(site, "many-4"))}`);
    await page.getByRole("button", { name: /^Approve,/ }).waitFor();
    await page.waitForTimeout(400);
    await page.keyboard.press("x");
    await page.getByText("1 selected").waitFor();
    await page.getByRole("region", { name: "1 selected" }).getByRole("button", { name: "Reject…" }).click();
    await page.getByLabel("Reason, told to the model").fill("wrong shop");
    await page.getByRole("button", { name: "Reject 1" }).click();
    await page.getByRole("button", { name: /^Close/ }).click();
    await expect.poll(() => rejected("many-4")).toEqual(["anna"]);
    await page.getByRole("heading", { name: /^Rejected by anna/ }).waitFor();
  });
});

test("a person that looks elsewhere is notified of a request, once, if it has asked for that", async () => {
  await context.grantPermissions(["notifications"], { origin: site.url });
  await page.addInitScript(() => {
    const shown: string[] = [];
    Object.assign(window, { shown });
    class Told {
      static permission = "granted";
      static requestPermission = async () => "granted";
      onclick: (() => void) | undefined;
      constructor(title: string) {
        shown.push(title);
        Object.assign(window, { told: this });
      }
      close() {}
    }
    Object.assign(window, { Notification: Told });
  });
  await page.goto(`${site.url}/threads`);
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByRole("menuitemradio", { name: "While I look elsewhere" }).click();
  await page.getByText("You are notified about requests while you look elsewhere").waitFor();
  await page.keyboard.press("Escape");
  const shown = () => page.evaluate(() => (window as unknown as { shown: string[] }).shown);
  await post(site, "/threads", { threadId: "seen", agent: "support", input: "Refund order B, please." });
  await expect.poll(async () => (await requestOf(site, "seen").catch(() => "")) !== "").toBe(true);
  await page.waitForTimeout(500);
  expect(await shown()).toEqual([]);
  await page.evaluate(() => Object.defineProperty(document, "hidden", { value: true, configurable: true }));
  await post(site, "/threads", { threadId: "unseen", agent: "support", input: "Refund order B, please." });
  await expect.poll(shown).toEqual(["support wants to run refund."]);
  const id = await requestOf(site, "unseen");
  await page.evaluate(() => (window as unknown as { told: { onclick(): void } }).told.onclick());
  await page.waitForURL((url) => url.pathname === `/inbox/${encodeURIComponent(id)}`);
});
