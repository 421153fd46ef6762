// Draws every scene. `npm run console -- --check` takes all of them, light and dark, wide and on a phone, and writes the
// pictures to a folder; with `--docs` it takes the pictures of the docs anew. `npm run endure` draws each scene in one look.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { openBrowser, PATIENCE_MS, violations } from "./open-browser.ts";
import { openSites, type Scene, type Sites, scenes } from "./scenes.ts";

const folder = process.env.BELAY_SHOTS;
const only = process.env.BELAY_SCENES?.split(",");
const docs =
  process.env.BELAY_DOCS === undefined
    ? undefined
    : fileURLToPath(new URL("../../../../docs/screens", import.meta.url));

const looks = [
  ["light", 1280, 800],
  ["dark", 1280, 800],
  ["light", 360, 740],
  ["dark", 360, 740],
] as const;
type Look = (typeof looks)[number];

/** The scenes in README.md and docs/console.md. */
const pictured: Readonly<Record<string, string>> = {
  "card-deploy": "console-card",
  threads: "console-threads",
  "thread-late": "console-thread",
  graph: "console-graph",
  fork: "console-fork",
};

let browser: Browser;
let sites: Sites;
const contexts = new Map<Look, { context: BrowserContext; page: Page; errors: string[] }>();

beforeAll(async () => {
  if (folder !== undefined) mkdirSync(folder, { recursive: true });
  [browser, sites] = await Promise.all([openBrowser(), openSites()]);
  for (const look of looks) {
    const [colorScheme, width, height] = look;
    const context = await browser.newContext({ viewport: { width, height }, colorScheme, hasTouch: width < 500 });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(error.message));
    // A policy that refuses something says so here, too.
    page.on("console", (message) => {
      if (message.type() === "error" && !/Failed to load resource|ERR_/.test(message.text()))
        errors.push(message.text());
    });
    contexts.set(look, { context, page, errors });
  }
}, 60_000);
afterAll(async () => {
  await browser?.close();
  await sites?.[Symbol.asyncDispose]();
});

const problem = {
  type: "about:blank",
  title: "Store failed",
  status: 503,
  detail: "The store did not answer: connection refused at 10.0.4.7:5432.",
  code: "STORE_FAILED",
  hint: "Check that the database is up; nothing that was recorded is lost.",
  requestId: "7f3c",
};

async function shown(scene: Scene, look: Look): Promise<void> {
  const { context, page, errors } = contexts.get(look)!;
  const [theme, width] = look;
  const { url } = sites[scene.site];
  errors.length = 0;
  await context.clearCookies();
  await context.addCookies([{ name: "belay-demo-as", value: scene.as ?? "anna", url }]);
  await page.unrouteAll({ behavior: "ignoreErrors" });
  if (scene.wire !== undefined) {
    await page.route("**/v1/**", (route) => {
      const isMe = route.request().url().endsWith("/v1/me");
      if (scene.wire === "login")
        return route.fulfill({ status: 401, json: { ...problem, status: 401, code: "UNAUTHENTICATED" } });
      if (isMe) return route.continue();
      if (scene.wire === "error")
        return route.fulfill({ status: 503, json: problem, contentType: "application/problem+json" });
      return undefined;
    });
  }
  const path = typeof scene.path === "string" ? scene.path : await scene.path(sites);
  await page.goto(url + path);
  await page.locator("main").waitFor();
  await page.waitForTimeout(scene.wire === "error" ? 4_000 : 500);
  await scene.act?.(page, sites);
  await page.waitForTimeout(250);
  const name = `${scene.name}.${theme}.${width}`;
  if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}.png`) });
  const picture = pictured[scene.name];
  if (docs !== undefined && picture !== undefined && theme === "light" && width === 1280)
    await page.screenshot({ path: join(docs, `${picture}.png`) });
  expect
    .soft(await page.evaluate(() => document.documentElement.scrollWidth), `${name} is as wide as the page`)
    .toBe(width);
  expect.soft(await cutOff(page), `${name} cuts no text`).toEqual([]);
  expect.soft(await violations(page), name).toEqual([]);
  expect.soft(errors, name).toEqual([]);
  await scene.after?.(page, sites);
}

/** Words that stick out of the page, or of a button or label, where no ellipsis and no scrolling explains it. */
function cutOff(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const bad: string[] = [];
    for (const element of document.querySelectorAll<HTMLElement>(
      "button, a, label, h1, h2, h3, p, dt, dd, td, th, summary",
    )) {
      const box = element.getBoundingClientRect();
      if (box.width === 0 || box.height === 0 || element.closest(".sr-only, [aria-hidden=true]") !== null) continue;
      const scrolls = (at: HTMLElement | null): boolean =>
        at !== null && (/auto|scroll/.test(getComputedStyle(at).overflowX) || scrolls(at.parentElement));
      const style = getComputedStyle(element);
      const clips = style.overflowX === "hidden" || style.overflowX === "clip";
      if (clips && style.textOverflow !== "ellipsis" && element.scrollWidth > element.clientWidth + 1)
        bad.push(`cut: ${element.innerText.slice(0, 40)}`);
      if (box.right > innerWidth + 1 && !scrolls(element)) bad.push(`outside: ${element.innerText.slice(0, 40)}`);
    }
    return bad;
  });
}

const effort = inject("effort");
const all = folder !== undefined || effort.tier === "all";
/** Scenes are alike if they are neighbours, so a few of them are spread over the table. */
const step = folder === undefined ? Math.ceil(scenes.length / effort.scenes) : 1;
const wanted = scenes.filter(({ name }, at) => only?.includes(name) ?? at % step === 0);

// Each scene has another of the four looks than the one before it, unless it has all of them.
test.each(wanted.map((scene, at) => [scene.name, scene, at] as const))(
  "%s: nothing is cut off, and no rule of WCAG A and AA is broken",
  async (_name, scene, at) => {
    await scene.prepare?.(sites);
    for (const look of all ? looks : [looks[at % looks.length]!]) await shown(scene, look);
  },
  120_000,
);
