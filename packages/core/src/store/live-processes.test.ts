// Text from one process to readers in another, on every store that processes share.

import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { foldAll, type Heard, isFact, listen, until } from "@belay/testkit";
import { bundlePrograms, type Child, type OpenStore, openStore, places, startChild } from "@belay/testkit/processes";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { agent, type BelayEvent, createRunner, type Fact, type Runner } from "../index.ts";
import { scriptedModel } from "../testing/index.ts";

let programs: string;
let folder: string;
let where: string;
let opened: OpenStore;
let runner: Runner;
let child: Child | undefined;

beforeAll(async () => {
  programs = await bundlePrograms();
});

const spoken = (n: number) => Array.from({ length: n }, (_, i) => `word${i} é👩‍👧 `).join("");
const isEnd = (event: BelayEvent) => event.type === "state" && event.state === "completed";
const deltas = (events: readonly BelayEvent[]) =>
  events.flatMap((event) => (event.type === "text-delta" ? [event] : []));

/** The text that a reader shows before its message is on record: each piece begins at the end of the last one. */
function shownBy({ events }: Heard): string {
  let text = "";
  for (const delta of deltas(events)) {
    expect(delta.offset).toBe(text.length);
    text += delta.text;
  }
  return text;
}

/** Each fact comes once, in order, and each draft after the fact that it follows. `after` is the cursor of the reader. */
function isInOrder({ events }: Heard, after = 0): void {
  let head = after;
  for (const event of events) {
    if (isFact(event)) head += 1;
    expect([event.type, event.seq]).toEqual([event.type, head]);
  }
}

describe.each(places)("readers in another process, on $name", (place) => {
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "belay-relay-"));
    where = await place.at(folder);
    opened = await openStore(where);
    runner = createRunner({ agent: agent({ name: "helper", model: scriptedModel(["again"]) }), store: opened.store });
  });
  afterEach(async () => {
    child?.signal("SIGKILL");
    await child?.exited;
    child = undefined;
    await runner.close();
    await opened.close();
    await place.remove(where);
    rmSync(folder, { recursive: true });
  });
  const speak = (options: object) => {
    child = startChild(programs, "speak", { where, threads: ["thread"], words: 40, everyMs: 25, ...options });
    return child;
  };

  test("L1, L2: text streams while the owner speaks, a reader joins at every word, and all views are that of a reader there in the end", async () => {
    const early = listen(runner.events("thread"));
    const speaker = speak({});
    await speaker.said("began");
    const joined = [early];
    for (let words = 0; words < 40; words += 1) {
      const isSpoken = (event: BelayEvent) => event.type === "text-delta" && event.text.includes(`word${words} `);
      await early.until((event) => isSpoken(event) || isEnd(event));
      joined.push(listen(runner.events("thread", { after: words % 5 })));
    }
    await Promise.all(joined.map((each) => each.until(isEnd)));
    await speaker.said("ended completed");
    const whole = spoken(40);
    for (const each of joined) {
      expect(whole.startsWith(shownBy(each))).toBe(true);
      const first = deltas(each.events)[0];
      if (first !== undefined) expect(first.offset).toBe(0);
    }
    // Most of it came before the message: text streamed, to readers that joined late, too.
    const lengths = joined.map((each) => shownBy(each).length);
    expect(lengths[0]).toBeGreaterThan(whole.length / 2);
    expect(lengths.filter((length) => length > whole.length / 2).length).toBeGreaterThan(20);
    const told = await speaker.said("view ");
    const there = JSON.parse(told.slice("view ".length)) as object;
    const facts = await allFacts();
    for (const [i, each] of joined.entries()) {
      const { events } = each;
      const after = i === 0 ? 0 : (i - 1) % 5;
      isInOrder(each, after);
      // A reader has the facts before its cursor from the page that it read there.
      const { draft: _draft, ...view } = foldAll([...facts.slice(0, after), ...events]);
      expect(JSON.parse(JSON.stringify(view))).toEqual(there);
    }
  });

  test("L1: an owner relays nothing without a reader elsewhere", async () => {
    const unheard = speak({ words: 10, everyMs: 1 });
    expect(await unheard.said("relayed ")).toBe("relayed 0");
    await unheard.exited;
    const heard = listen(runner.events("followed"));
    const followed = speak({ threads: ["followed"], words: 20 });
    await heard.until(isEnd);
    expect(Number((await followed.said("relayed ")).slice("relayed ".length))).toBeGreaterThan(0);
  });

  test("L1: fifty threads are followed at once", async () => {
    const threads = Array.from({ length: 50 }, (_, i) => `thread ${i}`);
    const heard = threads.map((threadId) => listen(runner.events(threadId)));
    const speaker = speak({ threads, words: 30, everyMs: 60 });
    await Promise.all(heard.map((each) => each.until(isEnd)));
    await speaker.said("ended completed");
    const whole = spoken(30);
    for (const each of heard) isInOrder(each);
    const shown = heard.map(shownBy);
    expect(shown.filter((text) => whole.startsWith(text) && text !== "").length).toBe(50);
  });

  test("L3: a reader that lists at each sync, and reads on at each hint, has every fact of another process", async () => {
    const threads = Array.from({ length: 20 }, (_, i) => `thread ${i}`);
    const facts = new Map<string, Fact[]>();
    const hinted = new Set<string>();
    const readOn = async (threadId: string) => {
      const known = facts.get(threadId) ?? [];
      const { items } = await runner.journal(threadId, { after: known.at(-1)?.seq ?? 0 });
      facts.set(threadId, [...known, ...items]);
    };
    const areDone = () => threads.every((threadId) => isEnd(facts.get(threadId)?.at(-1) ?? ({} as BelayEvent)));
    for await (const change of runner.changes()) {
      if (change.type === "change") {
        hinted.add(change.threadId);
        await readOn(change.threadId);
      } else {
        if (child === undefined) speak({ threads, words: 3, everyMs: 5 });
        for (const { threadId } of (await runner.threads()).items) await readOn(threadId);
      }
      if (areDone()) break;
    }
    expect([...hinted].sort()).toEqual(threads.toSorted());
    for (const each of facts.values()) expect(each.map(({ seq }) => seq)).toEqual(each.map((_, i) => i + 1));
    await child!.said("ended ");
  });

  test("C2, L1, V6: an owner that is killed in mid-answer leaves the text so far, no message, and owner-lost", async () => {
    const heard = listen(runner.events("thread"));
    // SQLite sees at once that the process is gone; the servers see it when the lease lapses.
    const speaker = speak({ words: 10_000, leaseTtlMs: place.isInFolder ? 600_000 : 1_500 });
    await heard.until((event) => event.type === "text-delta" && event.text.includes("word9 "));
    speaker.signal("SIGKILL");
    await speaker.exited;
    const lost = await heard.until(({ type }) => type === "owner-lost");
    const view = foldAll(heard.events);
    expect(lost).toMatchObject({ seq: view.head, threadId: "thread", segment: 1, agentName: "helper" });
    expect(view).toMatchObject({
      state: "running",
      draft: { ownerLost: lost.at, answers: [{ text: expect.stringContaining("word9 ") }] },
    });
    expect(view.messages.map(({ role }) => role)).toEqual(["user"]);
    expect(await runner.look("thread")).toMatchObject({ state: "paused", pauseType: "crash" });
    // A reader that joins now gets it, too, with any cursor.
    for (const after of [0, view.head]) {
      const late = listen(runner.events("thread", { after }));
      expect(await late.until(({ type }) => type === "owner-lost")).toMatchObject({ seq: view.head });
    }
    const run = await runner.resume("thread");
    await heard.until((event) => event.type === "state" && event.segment === 2);
    await run.result;
    const afterwards = listen(runner.events("thread"));
    await afterwards.until(isEnd);
    const counts = [heard, afterwards].map(({ events }) => events.filter(({ type }) => type === "owner-lost").length);
    expect(counts).toEqual([1, 0]);
  });

  if (place.isInFolder) {
    test("L1: on SQLite the relay is one file with mode 0600, which goes with the last reader", async () => {
      const files = () => readdirSync(folder).filter((name) => name.includes("-live-"));
      const speaker = speak({ words: 80 });
      await speaker.said("began");
      expect(files()).toEqual([]);
      const ends = [new AbortController(), new AbortController()];
      const [one, two] = ends.map(({ signal }) => listen(runner.events("thread", { signal })));
      for (const each of [one!, two!]) await each.until(({ type }) => type === "text-delta");
      expect(files().length).toBe(1);
      expect(statSync(join(folder, files()[0]!)).mode & 0o777).toBe(0o600);
      ends[0]!.abort();
      await one!.all;
      expect(files().length).toBe(1);
      ends[1]!.abort();
      await two!.all;
      await until(() => files().length === 0);
    });

    test("L1: on SQLite the text of the relay goes with its thread, also while a reader follows it", async () => {
      const texts = () =>
        readdirSync(folder)
          .filter((name) => name.includes("-live-"))
          .map((name) => readFileSync(join(folder, name), "utf8"));
      const end = new AbortController();
      const heard = listen(runner.events("thread", { signal: end.signal }));
      const speaker = speak({});
      await heard.until(isEnd);
      await speaker.exited;
      expect(texts().some((text) => text.includes("word9 "))).toBe(true);
      await runner.delete("thread");
      expect(texts().filter((text) => text.includes("word"))).toEqual([]);
      end.abort();
      await heard.all;
      await until(() => texts().length === 0);
    });
  }

  async function allFacts() {
    const { items } = await runner.journal("thread");
    return items;
  }
});
