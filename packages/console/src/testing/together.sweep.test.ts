// More than one person, tab or server: a race for one request, six tabs, a connection that is lost and found, a server that
// is killed in mid-answer.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { demoProgram } from "../../../../scripts/console.mjs";
import { type OddSite, openOddSite } from "./odd-site.ts";
import { openBrowser, PATIENCE_MS } from "./open-browser.ts";

const { racedApprovals, offlineSeconds } = inject("effort");

let browser: Browser;
let site: OddSite;

beforeAll(async () => {
  [browser, site] = await Promise.all([openBrowser(), openOddSite()]);
});
afterAll(async () => {
  await browser?.close();
  await site?.[Symbol.asyncDispose]();
});

async function person(name: string, height = 800): Promise<{ page: Page; context: BrowserContext }> {
  const context = await browser.newContext({ viewport: { width: 1280, height } });
  await context.addCookies([{ name: "belay-demo-as", value: name, url: site.url }]);
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  return { page, context };
}

/** Two answers so far apart are a race; a machine that is busy may send them further apart. */
const RACE_MS = 50;

test(`two people approve ${racedApprovals} requests within ${RACE_MS} ms: one effect each, and the loser's card names the winner`, async () => {
  const people = await Promise.all([person("anna"), person("ben")]);
  await Promise.all(people.map(({ page }) => page.addInitScript(noteAnswers)));
  await Promise.all(people.map(({ page }) => page.goto(`${site.url}/inbox`)));
  const apart: number[] = [];
  const raced = () => apart.filter((ms) => ms <= RACE_MS).length;
  // A round that the machine drew out is checked like the others, and does not count as a race.
  for (let round = 1; raced() < racedApprovals; round += 1) {
    expect(round, `${raced()} of ${round - 1} rounds were races`).toBeLessThanOrEqual(racedApprovals * 3);
    apart.push(await race(round, people));
  }
  apart.sort((a, b) => a - b);
  console.log(`sent apart by ${apart.at(0)!.toFixed(1)} to ${apart.at(-1)!.toFixed(1)} ms`);
  await Promise.all(people.map(({ context }) => context.close()));
});

/** Both approve one request at the same moment. Returns the milliseconds between the two. */
async function race(round: number, people: readonly { page: Page }[]): Promise<number> {
  const [threadId, euros] = [`race-${round}`, 1_000 + round];
  const run = await site.runner.start(threadId, `pay ${euros}`, { agent: "clerk", by: "carla" });
  await run.result;
  const [ask] = (await site.runner.inbox({ threadId })).items;
  await Promise.all(
    people.map(async ({ page }) => {
      // By a link, as a person goes to the next card: to load the whole page each time would be most of the work.
      await page.evaluate((path) => history.pushState(undefined, "", path), `/inbox/${encodeURIComponent(ask!.id)}`);
      await page.locator(".arg-grid", { hasText: String(euros) }).waitFor();
      await page.getByRole("button", { name: /^Approve/ }).click();
      await page.getByRole("button", { name: "Send now" }).waitFor();
    }),
  );
  const at = Date.now() + 60;
  const sent = await Promise.all(people.map(({ page }) => page.evaluate(sendAt, at)));
  const headings = await Promise.all(
    people.map(({ page }) => page.getByRole("heading", { name: /^Approved by/ }).innerText()),
  );
  const winner = headings.map((text) => /^Approved by (\w+)/.exec(text)![1])[0]!;
  const loser = people[winner === "anna" ? 1 : 0]!.page;
  expect(headings[winner === "anna" ? 0 : 1], `round ${round}`).toBe(`Approved by ${winner}`);
  await loser.getByRole("heading", { name: new RegExp(`^Approved by ${winner}, .*before you$`) }).waitFor();
  await loser.getByText("Your decision was not needed").waitFor();
  await expect.poll(() => site.runner.look(threadId)).toMatchObject({ state: "completed" });
  expect(site.paid.filter((args) => (args as { euros: number }).euros === euros).length).toBe(1);
  const { items } = await site.runner.journal(threadId);
  expect(items.filter(({ type }) => type === "request-answered")).toMatchObject([{ by: winner }]);
  return Math.abs(sent[0]! - sent[1]!);
}

/** In the page: notes when each answer leaves. */
function noteAnswers(): void {
  const { fetch } = window;
  window.fetch = (...args) => {
    if (String(args[0]).endsWith("/answer"))
      Object.assign(window, { sentAt: performance.timeOrigin + performance.now() });
    return fetch(...args);
  };
}

/** In the page: presses the button at a moment. Returns when the answer left. */
async function sendAt(at: number): Promise<number> {
  const button = [...document.querySelectorAll("button")].find((each) => each.textContent === "Send now")!;
  await new Promise((resolve) => setTimeout(resolve, at - Date.now()));
  button.click();
  const sent = window as { sentAt?: number };
  while (sent.sentAt === undefined) await new Promise((resolve) => setTimeout(resolve, 1));
  const left = sent.sentAt;
  delete sent.sentAt;
  return left;
}

test("six tabs of one browser stay alive: each shows the events, and each can act", async () => {
  const { page: first, context } = await person("anna");
  await site.runner
    .start("tabs", "What does the ledger say?", { agent: "clerk", by: "anna" })
    .then((run) => run.result);
  const pages = [first, ...(await Promise.all(Array.from({ length: 5 }, () => context.newPage())))];
  for (const page of pages) {
    page.setDefaultTimeout(PATIENCE_MS);
    await page.goto(`${site.url}/threads/tabs`);
    await page.getByText("The ledger has 41 rows").waitFor();
  }
  // The last one to come can still write, with a stream open in the others.
  await pages.at(-1)!.getByRole("textbox").fill("Say it in every tab.");
  await pages.at(-1)!.keyboard.press("Enter");
  await Promise.all(pages.map((page) => page.getByText("Say it in every tab.").first().waitFor()));
  await Promise.all(pages.map((page) => expect.poll(() => page.getByText("The ledger has 41 rows").count()).toBe(2)));
  await context.close();
});

test(`after ${offlineSeconds} s without a connection nothing is missing and nothing is doubled`, async () => {
  const { page, context } = await person("anna", 6_000);
  site.setDelay(20);
  const running = await site.runner.start("gap", "a long one", { agent: "clerk", by: "anna" });
  await page.goto(`${site.url}/threads/gap`);
  await page.getByText("word9").first().waitFor();
  await site.setOnline(false);
  const lost = Date.now();
  await page.getByText(/Not connected since/).waitFor();
  expect(await page.getByRole("button", { name: /^Stop/ }).first().isDisabled()).toBe(true);
  // Meanwhile the answer ends, and others are given.
  await running.result;
  site.setDelay(0);
  for (const words of ["first", "second", "third"]) {
    const run = await site.runner.start("gap", `The ${words} while it was away.`, { agent: "clerk", by: "ben" });
    await run.result;
  }
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, lost + offlineSeconds * 1_000 - Date.now())));
  await site.setOnline(true);
  // It comes back by itself.
  await page.getByText("The third while it was away.").waitFor();
  await expect.poll(() => page.getByText(/Not connected since/).count()).toBe(0);
  const { items } = await site.runner.journal("gap", { limit: 1_000 });
  const recorded = items.flatMap((fact) =>
    fact.type === "message"
      ? [fact.message.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("")]
      : [],
  );
  await expect.poll(() => page.locator(".msg .md").allInnerTexts()).toEqual(recorded);
  await context.close();
});

test("a server killed in mid-answer leaves a crash that the open page continues at the next server", async () => {
  const home = mkdtempSync(join(tmpdir(), "belay-restart-"));
  const program = await demoProgram();
  const port = await freePort();
  const servers: ChildProcess[] = [];
  const serve = async () => {
    // Without a worker: a person continues the crashed run.
    const options = ["--port", String(port), "--work", "0", "--model", "demo", "--no-mcp"];
    const child = spawn(process.execPath, [program, "serve", ...options], {
      cwd: home,
      env: { ...process.env, HOME: home, BELAY_DATA: join(home, "data"), BELAY_CONFIG: join(home, "config") },
      stdio: ["ignore", "pipe", "inherit"],
    });
    servers.push(child);
    const [line] = (await once(child.stdout!, "data")) as [Buffer];
    return { child, url: /http:\S+/.exec(String(line))![0] };
  };
  const first = await serve();
  const context = await browser.newContext({ viewport: { width: 1280, height: 1_600 } });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  await page.goto(first.url);
  await page.getByRole("button", { name: "New thread" }).click();
  await page.getByLabel("What to do").fill("Say hello, and tell me what you can do.");
  await page.getByRole("button", { name: /^Start/ }).click();
  await page.getByText("writing").waitFor();
  first.child.kill("SIGKILL");
  await page.getByText(/Not connected since/).waitFor();
  await serve();
  await page.locator(".badge", { hasText: "Crashed" }).waitFor();
  // Text that was on its way is not on record: the page does not pretend that it is.
  expect(await page.getByText("writing").count()).toBe(0);
  await page.getByRole("button", { name: /^Continue/ }).click();
  await page.locator(".badge", { hasText: "Completed" }).waitFor();
  // The page without a reload shows the messages on record, each once.
  const recorded = await page.evaluate(async () => {
    const response = await fetch(`/v1${location.pathname}/messages`);
    const { items } = (await response.json()) as { items: { role: string; origin: string }[] };
    return items.filter(({ role, origin }) => role !== "tool" && origin !== "runtime").length;
  });
  expect(await page.locator(".msg").count()).toBe(recorded);
  for (const child of servers) child.kill("SIGKILL");
  await context.close();
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
});

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, "close");
  return port;
}
