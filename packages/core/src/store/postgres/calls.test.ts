import { expect, test } from "vitest";
import { Calls } from "./calls.ts";
import { SCHEMA_VERSION } from "./migrations.ts";
import type { PostgresPool } from "./pool.ts";

/** A pool that was ended while a call waited for one of its connections: it never answers that call. */
const ended: PostgresPool = {
  on: () => {},
  connect: () => new Promise(() => {}),
  query: ({ text }) =>
    /version/.test(text) ? Promise.resolve({ rows: [{ steps: SCHEMA_VERSION }] }) : new Promise(() => {}),
};

const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;

test("a hint that the pool never sends keeps no process alive; a call that the caller waits for does", async () => {
  const calls = new Calls(ended, '"belay"', 10_000);
  const before = timers();
  calls.aside("notify", ["channel", "text"]).catch(() => {});
  await new Promise((over) => setImmediate(over));
  expect(timers()).toBe(before);
  calls.once("notify", ["channel", "text"]).catch(() => {});
  await new Promise((over) => setImmediate(over));
  expect(timers()).toBe(before + 1);
});
