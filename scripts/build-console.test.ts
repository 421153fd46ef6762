import { expect, test } from "vitest";
import { ensureConsole, FIRST_LOAD, firstLoad } from "./build-console.mjs";

test("the first page of the console loads at most 180 kB, and nothing from elsewhere", async () => {
  await ensureConsole();
  const { page, assets } = await import("../packages/server/src/console-assets.js" as string);
  expect(firstLoad(page, assets)).toBeLessThanOrEqual(FIRST_LOAD);
  expect(page).not.toMatch(/https?:|<style|style=|<script(?![^>]*src=)/);
  for (const [, path] of page.matchAll(/(?:src|href)="__BASE__([^"]+)"/g)) expect(Object.keys(assets)).toContain(path);
});
