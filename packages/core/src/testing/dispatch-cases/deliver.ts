// DP1–DP5: a wake that is confirmed is delivered, not early, again after a failure, and also if every process dies.

import { ok } from "node:assert/strict";
import { callsOf, type DispatcherCheck, sleep } from "./bench.ts";

/** How much longer the last pause must be than the first: more than a busy machine adds by chance. */
const GROWTH_MS = 200;

export const deliverCases = {
  "DP1: a wake that was confirmed is delivered to a process that begins to serve later": async (t) => {
    const thread = t.thread();
    const sender = await t.open();
    await t.wake(sender, thread, { id: "cause" });
    await sender.close();
    const server = t.serve(await t.open());
    await t.until(() => callsOf(server, thread).length > 0, "the wake", t.traits.latenessMs + t.traits.slackMs);
  },

  "DP2: a wake is delivered at its time, not before": async (t) => {
    const dispatcher = await t.open();
    const server = t.serve(dispatcher);
    const thread = t.thread();
    const at = Date.now() + 1_500;
    await t.wake(dispatcher, thread, { at, id: "timer" });
    await t.until(
      () => callsOf(server, thread).length > 0,
      "the timer",
      1_500 + t.traits.latenessMs + t.traits.slackMs,
    );
    const early = at - callsOf(server, thread)[0]!.at;
    ok(early <= 50, `it came ${early} ms early`);
  },

  "DP3: a wake that arrives while its thread is moved causes another call afterwards": async (t) => {
    const dispatcher = await t.open();
    const thread = t.thread();
    let letGo = () => {};
    const held = new Promise<void>((resolve) => (letGo = resolve));
    const server = t.serve(dispatcher, async (_, nth) => {
      if (nth === 1) await held;
      return {};
    });
    await t.wake(dispatcher, thread, { id: "first" });
    await t.until(() => callsOf(server, thread).length === 1, "the first wake", t.traits.latenessMs + t.traits.slackMs);
    await t.wake(dispatcher, thread, { id: "second" });
    await sleep(300);
    letGo();
    const calls = () => callsOf(server, thread);
    await t.until(() => calls().length >= 2, "the second wake", t.traits.latenessMs + t.traits.slackMs);
  },

  "DP4: a move that rejects is called again, without end, with a growing pause": async (t) => {
    const dispatcher = await t.open();
    const thread = t.thread();
    const other = t.thread();
    // Doubled so often that a pause is longer than the engine may be late.
    const failures = Math.max(4, 2 + Math.ceil(Math.log2(t.traits.latenessMs / 100)));
    const server = t.serve(dispatcher, async (of, nth) => {
      if (of.threadId === thread.threadId && nth <= failures) throw new Error("not yet");
      return {};
    });
    await t.wake(dispatcher, thread, { id: "cause" });
    await t.wake(dispatcher, other, { id: "cause" });
    await t.until(() => callsOf(server, other).length > 0, "another thread", t.traits.latenessMs + t.traits.slackMs);
    const withinMs = 3 * t.traits.slackMs + failures * t.traits.latenessMs;
    await t.until(() => callsOf(server, thread).length > failures, "the last try", withinMs);
    const calls = callsOf(server, thread);
    const pauses = calls.slice(1).map(({ at }, i) => at - calls[i]!.endedAt!);
    ok(pauses.at(-1)! > pauses[0]! + GROWTH_MS, `the pauses do not grow: ${pauses.join(", ")}`);
  },

  "DP5: a thread is looked at again when its move asks for that": async (t) => {
    const dispatcher = await t.open();
    const [soon, later] = [t.thread(), t.thread()];
    const at = Date.now() + 1_200;
    const server = t.serve(dispatcher, (thread, nth) => {
      if (nth > 1) return {};
      return thread.threadId === soon.threadId ? { again: 1, id: "at once" } : { again: at, id: "timer" };
    });
    await t.wake(dispatcher, soon, { id: "cause" });
    await t.wake(dispatcher, later, { id: "cause" });
    await t.until(() => callsOf(server, soon).length >= 2, "the look at once", t.traits.latenessMs + t.traits.slackMs);
    await t.until(
      () => callsOf(server, later).length >= 2,
      "the timer",
      1_200 + t.traits.latenessMs + t.traits.slackMs,
    );
    const early = at - callsOf(server, later)[1]!.at;
    ok(early <= 50, `it came ${early} ms early`);
  },

  "DP5: of many deliveries that find a thread held, one timer remains": async (t) => {
    const dispatcher = await t.open();
    const thread = t.thread();
    const at = Date.now() + 2_500;
    const server = t.serve(dispatcher, () => (Date.now() < at - 50 ? { again: at, id: "lease-7" } : {}));
    for (let i = 0; i < 10; i++) await t.wake(dispatcher, thread, { id: `cause-${i}` });
    const after = () => callsOf(server, thread).filter((call) => call.at >= at - 50).length;
    await t.until(() => after() > 0, "the timer", 2_500 + t.traits.latenessMs + t.traits.slackMs);
    await sleep(t.traits.latenessMs + 300);
    ok(after() <= 2, `the timer came ${after()} times`);
  },
} satisfies Record<string, DispatcherCheck>;

/** Cases that need a process to kill. */
export const killCases = {
  "DP1, DP4: after a kill of the process that moves the thread, its wake is delivered again": async (t) => {
    const thread = t.thread();
    const dispatcher = await t.open();
    const child = await t.start({ concurrency: 4, moves: { [thread.threadId]: "hang" } });
    await t.wake(dispatcher, thread, { id: "cause" });
    const said = () => child.lines.includes(`move ${thread.threadId}`);
    await t.until(said, "the first delivery", t.traits.latenessMs + 2 * t.traits.slackMs);
    child.signal("SIGKILL");
    await child.exited;
    const server = t.serve(dispatcher);
    await t.until(
      () => callsOf(server, thread).length > 0,
      "the delivery again",
      t.traits.redeliveryMs + t.traits.slackMs,
    );
  },

  "DP1: a wake that was confirmed survives the death of every process": async (t) => {
    const [thread, timer] = [t.thread(), t.thread()];
    const busy = t.thread();
    const child = await t.start({ concurrency: 1, moves: { [busy.threadId]: "hang" } });
    const sender = await t.open();
    await t.wake(sender, busy, { id: "cause" });
    const said = () => child.lines.includes(`move ${busy.threadId}`);
    await t.until(said, "the first delivery", t.traits.latenessMs + 2 * t.traits.slackMs);
    // The only process has no room: these wait in the engine.
    const at = Date.now() + 1_500;
    await t.wake(sender, thread, { id: "cause" });
    await t.wake(sender, timer, { id: "timer", at });
    child.signal("SIGKILL");
    await child.exited;
    await sender.close();
    const server = t.serve(await t.open());
    const withinMs = 1_500 + t.traits.redeliveryMs + t.traits.slackMs;
    await t.until(() => callsOf(server, thread).length > 0, "the wake", withinMs);
    await t.until(() => callsOf(server, timer).length > 0, "the timer", withinMs);
    ok(at - callsOf(server, timer)[0]!.at <= 50, "the timer came early");
  },

  "DP5: the next look survives a kill right after the move has returned": async (t) => {
    const [later, soon] = [t.thread(), t.thread()];
    const dispatcher = await t.open();
    const child = await t.start({ concurrency: 4, moves: { [later.threadId]: 1_500, [soon.threadId]: -1 } });
    for (const thread of [later, soon]) await t.wake(dispatcher, thread, { id: "cause" });
    const said = () => [later, soon].every(({ threadId }) => child.lines.includes(`moved ${threadId}`));
    await t.until(said, "the moves", t.traits.latenessMs + 2 * t.traits.slackMs);
    child.signal("SIGKILL");
    await child.exited;
    const server = t.serve(dispatcher);
    const withinMs = 1_500 + t.traits.latenessMs + t.traits.redeliveryMs + t.traits.slackMs;
    await t.until(() => callsOf(server, soon).length > 0, "the look at once", withinMs);
    await t.until(() => callsOf(server, later).length > 0, "the timer", withinMs);
  },
} satisfies Record<string, DispatcherCheck>;
