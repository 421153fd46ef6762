// DP6–DP10: bounds on what a process takes on, the end of serving, order, and an engine that is away.

import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { isBelayError } from "../../error.ts";
import { callsOf, type DispatcherCheck, isSame, sleep } from "./bench.ts";

/** How far the clocks of the engine and of this process are apart, at most. */
const CLOCKS_MS = 30_000;

export const boundCases = {
  "DP6: no more threads at once than the process has room for, however many wait": async (t) => {
    const dispatcher = await t.open();
    const threads = Array.from({ length: t.traits.backlog }, () => t.thread());
    for (let i = 0; i < threads.length; i += 20) {
      await Promise.all(threads.slice(i, i + 20).map((thread) => t.wake(dispatcher, thread, { id: "cause" })));
    }
    const server = t.serve(dispatcher, () => sleep(5).then(() => ({})), 3);
    const all = () => new Set(server.calls.map(({ thread }) => thread.threadId)).size === threads.length;
    await t.until(all, "the backlog", 100 * threads.length + t.traits.latenessMs + 2 * t.traits.slackMs);
    ok(server.most <= 3, `${server.most} at once`);
  },

  "DP7: after the signal no new move begins, running moves end, and the other wakes go to another process at once":
    async (t) => {
      const [first, second] = [await t.open(), await t.open()];
      const threads = Array.from({ length: 30 }, () => t.thread());
      for (const thread of threads) await t.wake(first, thread, { id: "cause" });
      const server = t.serve(first, () => sleep(400).then(() => ({})), 5);
      await t.until(() => server.calls.length >= 5, "the first calls", t.traits.latenessMs + t.traits.slackMs);
      const stoppedAt = Date.now();
      await server.stop();
      const late = server.calls.filter(({ at }) => at > stoppedAt + 100);
      ok(late.length === 0, `${late.length} calls were begun later than 100 ms after the signal`);
      ok(
        server.calls.every(({ endedAt }) => endedAt !== undefined),
        "serve() ended before its calls had",
      );
      const other = t.serve(second, () => ({}), 5);
      const done = new Set(server.calls.map(({ thread }) => thread.threadId));
      const all = () => threads.every((each) => done.has(each.threadId) || callsOf(other, each).length > 0);
      // Not after the time in which a dead process would have been noticed.
      await t.until(all, "the rest", t.traits.latenessMs + 5_000);
    },

  "DP8: many wakes of one tenant and one of another are all delivered, and soon if the engine is fair": async (t) => {
    const dispatcher = await t.open();
    for (let i = 0; i < 100; i++) await t.wake(dispatcher, t.thread("loud"), { id: "cause" });
    const quiet = t.thread("quiet");
    await t.wake(dispatcher, quiet, { id: "cause" });
    const server = t.serve(dispatcher, () => sleep(20).then(() => ({})), 2);
    await t.until(
      () => callsOf(server, quiet).length > 0,
      "the quiet tenant",
      2.5 * t.traits.slackMs + t.traits.latenessMs,
    );
    const before = server.calls.findIndex(({ thread }) => isSame(thread, quiet));
    if (t.traits.order === "fair") ok(before <= 25, `${before} calls came before that of the quiet tenant`);
    await t.until(() => server.calls.length >= 101, "the loud tenant", 2.5 * t.traits.slackMs + t.traits.latenessMs);
  },

  "DP9: wakes of one thread are never delivered at once, if the adapter says so, and the last of them is": async (
    t,
  ) => {
    const dispatcher = await t.open();
    const thread = t.thread();
    let running = 0;
    let most = 0;
    const server = t.serve(dispatcher, async () => {
      running += 1;
      most = Math.max(most, running);
      await sleep(30);
      running -= 1;
      return {};
    });
    let lastAt = 0;
    for (let i = 0; i < 8; i++) {
      lastAt = Date.now();
      await t.wake(dispatcher, thread, { id: `cause-${i}` });
      await sleep(10);
    }
    const after = () => callsOf(server, thread).some(({ at }) => at >= lastAt);
    await t.until(after, "a call after the last wake", t.traits.latenessMs + t.traits.slackMs);
    if (t.traits.exclusive) ok(most === 1, `${most} calls at once`);
  },
  "depth, if the dispatcher tells it, counts the wakes that wait for a process, and since when": async (t) => {
    const dispatcher = await t.open();
    const depth = dispatcher.depth?.bind(dispatcher);
    if (depth === undefined) return;
    deepEqual(await depth(), { waiting: 0 });
    const began = Date.now();
    for (let i = 0; i < 5; i++) await t.wake(dispatcher, t.thread(), { id: "cause" });
    await t.wake(dispatcher, t.thread(), { id: "later", at: Date.now() + 3_600_000 });
    const { waiting, oldestAt = 0 } = await depth();
    equal(waiting, 5);
    // Its clock may be another one.
    ok(Math.abs(oldestAt - began) < CLOCKS_MS, `the oldest has waited since ${oldestAt - began} ms after it was sent`);
    const server = t.serve(dispatcher);
    await t.until(() => server.calls.length >= 5, "the wakes", t.traits.latenessMs + t.traits.slackMs);
    const end = Date.now() + t.traits.slackMs;
    while ((await depth()).waiting > 0) ok(Date.now() < end, "wakes that were moved still count");
  },
} satisfies Record<string, DispatcherCheck>;

/** Cases that need an engine to take away. */
export const engineCases = {
  "DP10: while the engine is away a wake is refused within five seconds; serving continues when it is back": async (
    t,
  ) => {
    const dispatcher = await t.open();
    const server = t.serve(dispatcher);
    await t.wake(dispatcher, t.thread(), { id: "cause" });
    await t.until(() => server.calls.length > 0, "the first wake", t.traits.latenessMs + t.traits.slackMs);
    await t.engine.stop();
    const askedAt = Date.now();
    await rejects(t.wake(dispatcher, t.thread(), { id: "lost" }), (error) => isBelayError(error));
    ok(Date.now() - askedAt < 5_500, `the refusal took ${Date.now() - askedAt} ms`);
    await sleep(3_000);
    await t.engine.start();
    const thread = t.thread();
    const returnMs = 3 * t.traits.slackMs;
    const end = Date.now() + returnMs;
    for (let sent = false; !sent; ) {
      sent = await t.wake(dispatcher, thread, { id: "after" }).then(
        () => true,
        () => false,
      );
      ok(sent || Date.now() < end, `no wake was accepted within ${returnMs} ms of the engine's return`);
      if (!sent) await sleep(50);
    }
    await t.until(() => callsOf(server, thread).length > 0, "a wake after the return", returnMs + t.traits.latenessMs);
  },
} satisfies Record<string, DispatcherCheck>;
