import { getEventListeners } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { within } from "./within.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const late = () => new Error("too late");
const never = () => new Promise<never>(() => {});

test("work that ends in time returns its value, and leaves no timer and no listener behind", async () => {
  const { signal } = new AbortController();
  expect(await within(1_000, signal, late, async () => "done")).toBe("done");
  await expect(within(1_000, signal, late, () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
  expect([vi.getTimerCount(), getEventListeners(signal, "abort").length]).toEqual([0, 0]);
});

test("the first of stop and time ends the wait, gives the work the reason, and leaves no timer and no listener behind", async () => {
  const told: unknown[] = [];
  const work = (signal: AbortSignal) => {
    signal.addEventListener("abort", () => told.push((signal.reason as Error).message));
    return never();
  };
  const stop = new AbortController();
  const slow = within(1_000, stop.signal, late, work);
  vi.advanceTimersByTime(1_000);
  await expect(slow).rejects.toThrow("too late");
  const stopped = within(1_000, stop.signal, late, work);
  stop.abort(new Error("stopped"));
  await expect(stopped).rejects.toThrow("stopped");
  expect(told).toEqual(["too late", "stopped"]);
  expect([vi.getTimerCount(), getEventListeners(stop.signal, "abort").length]).toEqual([0, 0]);
});

test("after a stop no work begins", async () => {
  let begun = 0;
  const work = async () => {
    begun += 1;
  };
  await expect(within(1_000, AbortSignal.abort(new Error("stopped")), late, work)).rejects.toThrow("stopped");
  expect([begun, vi.getTimerCount()]).toEqual([0, 0]);
});
