// Text between runners: one runs the thread, the other follows it.

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gate, listen, openDatabase, openKit, said, settle, until } from "@belay/testkit";
import { expect, test } from "vitest";
import { type BelayEvent, isFact } from "../../event.ts";
import {
  agent,
  createRunner,
  type LogEntry,
  type Model,
  type ModelEvent,
  memoryStore,
  type Store,
} from "../../index.ts";
import { sqliteStore } from "../../sqlite.ts";
import { wrapStore } from "../../store/wrap-store.ts";
import { type FakeClock, fakeClock, scriptedModel } from "../../testing/index.ts";

const text = (words: string): ModelEvent => ({ type: "text", text: words });
const finish: ModelEvent = { type: "finish", finish: "stop", usage: { inputTokens: 1, outputTokens: 1 } };

/** Streams the text of the test. */
function mouth() {
  const queue: ModelEvent[] = [];
  let more = gate();
  const model: Model = {
    id: "mouth",
    async *stream() {
      for (;;) {
        while (queue.length > 0) {
          const event = queue.shift()!;
          yield event;
          if (event.type === "finish") return;
        }
        await more.opened;
        more = gate();
      }
    },
  };
  const say = (...events: ModelEvent[]) => {
    queue.push(...events);
    more.open();
  };
  return { model, say };
}

/** A runner that has no part in the thread but to follow it. */
function onlooker(store: Store, more: object = {}) {
  return createRunner({ agent: agent({ name: "helper", model: scriptedModel([]) }), store, ...more });
}

const shown = (events: readonly BelayEvent[]) =>
  said(events).filter((line) => /^(gap|text|superseded|message a)/.test(line));
const textOf = (events: readonly BelayEvent[]) =>
  events.map((event) => (event.type === "text-delta" ? event.text : "")).join("");

/** Lets calls and batches have their time. */
async function pass(clock: FakeClock): Promise<void> {
  for (let i = 0; i < 4; i += 1) {
    await settle();
    await clock.advance(60);
  }
  await settle();
}

/** Counts the bodies that a store relays, by side, and may lose some. */
function counted(store: Store, loses: (body: string) => boolean = () => false) {
  const bodies = { owner: [] as string[], reader: [] as string[] };
  const relay: NonNullable<Store["relay"]> = (key, side, heard) => {
    const line = store.relay!(key, side, heard)!;
    return {
      ...line,
      leave: () => line.leave(),
      say(body) {
        bodies[side].push(body);
        if (!loses(body)) line.say(body);
      },
    };
  };
  return { store: wrapStore(store, { relay }), bodies };
}

test("L1: text streams to a reader of another runner while the owner speaks", async () => {
  const store = memoryStore();
  const { model, say } = mouth();
  const { session, runner } = await openKit(model, { store });
  const other = onlooker(store);
  const heard = listen(other.events("thread"));
  const run = session.run("go");
  await heard.until(({ type }) => type === "message");
  say(text("Hel"), text("lo"));
  await heard.until((event) => event.type === "text-delta" && event.text.endsWith("lo"));
  say(text(" you"), finish);
  await run.result;
  await heard.until((event) => event.type === "state" && event.state === "completed");
  await Promise.all([runner.close(), other.close()]);
  // The end of the text may come with its message.
  expect(["Hello", "Hello you"]).toContain(textOf(heard.events));
  const deltas = heard.events.filter((event) => event.type === "text-delta");
  expect(deltas.every(({ seq }) => seq === 4)).toBe(true);
});

test("L1, L2: a reader elsewhere that joins in mid-answer gets the text so far at offset 0, a second one there, too", async () => {
  const store = memoryStore();
  const { model, say } = mouth();
  const { session, runner } = await openKit(model, { store });
  const run = session.run("go");
  say(text("Already "), text("said"));
  await settle();
  const other = onlooker(store);
  const first = listen(other.events("thread"));
  await first.until(({ type }) => type === "text-delta");
  const second = listen(other.events("thread", { after: 2 }));
  await second.until(({ type }) => type === "text-delta");
  say(text(", and more"), finish);
  await run.result;
  for (const each of [first, second])
    await each.until((event) => event.type === "state" && event.state === "completed");
  await Promise.all([runner.close(), other.close()]);
  for (const { events } of [first, second]) {
    expect(events.find(({ type }) => type === "text-delta")).toMatchObject({ offset: 0, text: "Already said" });
    expect(["Already said", "Already said, and more"]).toContain(textOf(events));
  }
});

test("L1: nothing is relayed without a reader elsewhere, and nothing after the last one has left", async () => {
  const { store, bodies } = counted(memoryStore());
  const { model, say } = mouth();
  const { session, runner } = await openKit(model, { store });
  const here = listen(runner.events("thread"));
  const first = session.run("go");
  say(text("unheard"), finish);
  await first.result;
  expect(bodies).toEqual({ owner: [], reader: [expect.any(String), expect.any(String)] });
  const other = onlooker(store);
  const leaves = new AbortController();
  const heard = listen(other.events("thread", { signal: leaves.signal }));
  const second = session.run("go");
  say(text("heard"));
  await heard.until((event) => event.type === "text-delta" && event.text === "heard");
  leaves.abort();
  await settle();
  const before = bodies.owner.length;
  expect(before).toBeGreaterThan(0);
  say(text(" no more"), finish);
  await second.result;
  expect(bodies.owner.length).toBe(before);
  await Promise.all([runner.close(), other.close()]);
  expect(textOf(here.events)).toBe("unheardheard no more");
});

test("L1: a reader that died stops the relay when its time is over", async () => {
  const clock = fakeClock();
  const { store, bodies } = counted(memoryStore({ clock }));
  const { model, say } = mouth();
  const { session, runner } = await openKit(model, { store, clock, leaseTtlMs: 60_000 });
  let dead = false;
  const relay: Store["relay"] = (key, side, hears) => {
    const line = store.relay!(key, side, (body) => dead || hears(body))!;
    return { say: (body) => dead || line.say(body), leave: () => line.leave() };
  };
  const other = onlooker(wrapStore(store, { relay }), { clock });
  const heard = listen(other.events("thread"));
  await settle();
  const run = session.run("go");
  await pass(clock);
  say(text("heard"));
  await pass(clock);
  await heard.until(({ type }) => type === "text-delta");
  dead = true;
  await clock.advance(11_000);
  const before = bodies.owner.length;
  say(text(" unheard"), finish);
  await run.result;
  expect(bodies.owner.length).toBe(before);
  await Promise.all([runner.close(), other.close()]);
});

test("L1: at most 25 batches a second for each thread, however many deltas come", async () => {
  const clock = fakeClock();
  const { store, bodies } = counted(memoryStore({ clock }));
  const { model, say } = mouth();
  const { session, runner } = await openKit(model, { store, clock, leaseTtlMs: 60_000 });
  const other = onlooker(store, { clock });
  const heard = listen(other.events("thread"));
  await settle();
  const run = session.run("go");
  await pass(clock);
  const before = bodies.owner.length;
  for (let i = 0; i < 1_000; i += 1) {
    say(text("x"));
    await clock.advance(1);
  }
  expect(bodies.owner.length - before).toBeLessThanOrEqual(26);
  await pass(clock);
  say(finish);
  await run.result;
  await heard.until((event) => event.type === "state" && event.state === "completed");
  expect(textOf(heard.events)).toBe("x".repeat(1_000));
  await Promise.all([runner.close(), other.close()]);
});

test("L1: a lost batch is a gap, and the text continues without a hole", async () => {
  const clock = fakeClock();
  let lose = false;
  const { store } = counted(memoryStore({ clock }), (body) => lose && body.includes("drafts"));
  const { model, say } = mouth();
  const { session, runner } = await openKit(model, { store, clock, leaseTtlMs: 60_000 });
  const other = onlooker(store, { clock });
  const heard = listen(other.events("thread"));
  await settle();
  const run = session.run("go");
  await pass(clock);
  const spoken = async (words: string) => {
    say(text(words));
    await pass(clock);
  };
  await spoken("One ");
  lose = true;
  await spoken("two ");
  lose = false;
  await spoken("three ");
  await spoken("four");
  say(finish);
  await run.result;
  await heard.until((event) => event.type === "state" && event.state === "completed");
  await Promise.all([runner.close(), other.close()]);
  expect(shown(heard.events)).toEqual([
    "text One ",
    "gap",
    "text two three ",
    "text four",
    "message assistant: One two three four",
  ]);
});

test("L1: a thread that another owner takes over streams on", async () => {
  const store = memoryStore();
  const first = mouth();
  const second = mouth();
  const one = await openKit(first.model, { store });
  const other = onlooker(store);
  const heard = listen(other.events("thread"));
  const run = one.session.run("go");
  first.say(text("by one"));
  await heard.until((event) => event.type === "text-delta" && event.text === "by one");
  await one.session.interrupt();
  await run.result;
  await one.runner.close();
  const two = await openKit(second.model, { store });
  const resumed = two.session.resume({ input: "and?" });
  second.say(text("by two"));
  await heard.until((event) => event.type === "text-delta" && event.text === "by two");
  second.say(finish);
  await resumed.result;
  await Promise.all([two.runner.close(), other.close()]);
  expect(shown(heard.events)).toEqual([
    "text by one",
    "message assistant~user: by one",
    "text by two",
    "message assistant: by two",
  ]);
});

test("L1: a SQLite database without a path relays nothing, and the log says so once", async () => {
  const store = sqliteStore(await openDatabase(":memory:"));
  const { model, say } = mouth();
  const { session, runner } = await openKit(model, { store });
  const logged: string[] = [];
  const other = onlooker(store, { log: ({ error }: LogEntry) => logged.push(error.code) });
  const heard = listen(other.events("thread"));
  for (const words of ["one", "two"]) {
    const run = session.run("go");
    await heard.until((event) => event.type === "message" && event.seq > 0);
    say(text(words), finish);
    await run.result;
    await heard.until((event) => event.type === "message" && said([event])[0] === `message assistant: ${words}`);
  }
  await Promise.all([runner.close(), other.close()]);
  expect(shown(heard.events)).toEqual(["message assistant: one", "message assistant: two"]);
  expect(logged).toEqual(["RELAY_UNAVAILABLE"]);
});

test("L1: a batch ahead of all facts is looked for once, and holds up no fact", async () => {
  const store = memoryStore();
  const { model, say } = mouth();
  const { session, runner } = await openKit(model, { store });
  const key = { tenant: "default", threadId: "thread" };
  let looks = 0;
  const load: typeof store.load = async (...given) => {
    looks += 1;
    if (looks > 100) throw new Error("the store is read again and again");
    return store.load(...given);
  };
  const other = onlooker(wrapStore(store, { load }));
  const heard = listen(other.events("thread"));
  const run = session.run("go");
  say(text("Hel"));
  const { seq, at, runId } = await heard.until(({ type }) => type === "text-delta");
  await settle();
  looks = 0;
  const place = { at, threadId: "thread", runId, segment: 1, attempt: 1, agentName: "helper", runPath: "helper" };
  const drafts = [{ type: "turn-start", turn: 9, seq: seq + 90, ...place }];
  const line = store.relay!(key, "owner", () => {})!;
  line.say(JSON.stringify({ owner: "of another past", n: 1, drafts, over: false }));
  await settle();
  expect(looks).toBe(1);
  line.leave();
  say(text("lo"), finish);
  await run.result;
  await heard.until((event) => event.type === "state" && event.state === "completed");
  await Promise.all([runner.close(), other.close()]);
  expect(said(heard.events)).not.toContain("turn-start 9");
  expect(said(heard.events.filter(isFact)).slice(-3)).toEqual([
    "message assistant: Hello",
    "run-end completed",
    "state completed",
  ]);
});

test("E1, L1: on SQLite a draft may be faster than the hint of the facts before it; a reader gets the facts first", async () => {
  const folder = mkdtempSync(join(tmpdir(), "belay-relay-"));
  const dbs = [await openDatabase(join(folder, "db")), await openDatabase(join(folder, "db"))] as const;
  const { model, say } = mouth();
  const { session, runner } = await openKit(model, { store: sqliteStore(dbs[0]) });
  // Its first hint would come after a minute.
  const other = onlooker(sqliteStore(dbs[1], { pollMs: 60_000 }));
  const heard = listen(other.events("thread"));
  await until(() => readdirSync(folder).some((name) => name.includes("-live-")));
  const run = session.run("go");
  say(text("Hello"));
  await heard.until(({ type }) => type === "text-delta");
  expect(said(heard.events).filter((line) => !line.startsWith("turn-start"))).toEqual([
    "state initialized",
    "run-start",
    "state running",
    "message user: go",
    "text Hello",
  ]);
  expect(heard.events.filter((event) => !isFact(event)).map(({ seq }) => seq)).toContain(4);
  say(finish);
  await run.result;
  await Promise.all([runner.close(), other.close()]);
  for (const db of dbs) db.close();
  rmSync(folder, { recursive: true });
});
