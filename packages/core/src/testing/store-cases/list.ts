// Lists: pages of threads by every filter, decided requests, hints over all threads of a tenant (SPEC L3, L4).

import { deepEqual, equal, ok } from "node:assert/strict";
import type { Append, ListPlace, Named, ThreadQuery } from "../../store/store.ts";
import { wordsIn } from "../../store/words.ts";
import { type Bench, type StoreCheck, times } from "./bench.ts";

type Query = Omit<ThreadQuery, "limit">;

/** The ids of a page. */
async function ids(t: Bench, query: Query = {}, limit = 100): Promise<string[]> {
  return (await t.store.page(t.tenant, { limit, ...query })).map((row) => row.threadId);
}

/** Makes a thread that rests. */
async function rest(t: Bench, id: string, at: number, more: Partial<Append> = {}): Promise<number> {
  return t.append(t.key(id), t.taking(0, { at, state: "completed", release: true, ...more }));
}

const named = (
  title: string | undefined,
  labels: Readonly<Record<string, string>> = {},
): { readonly named: Named } => ({
  named: title === undefined ? { labels } : { title, labels },
});

const search = (text: string): Query => ({ words: wordsIn(text) });

export const listCases = {
  "L4: a page has the last changed first, and continues after any place in it": async (t) => {
    // Several of one time: the id decides, the last one first.
    for (const [i, id] of ["a", "b", "c", "d", "ä", "e"].entries()) await rest(t, id, 10 * Math.floor(i / 3));
    const all = ["ä", "e", "d", "c", "b", "a"];
    deepEqual(await ids(t), all);
    for (const limit of [1, 2, 3, 4, 6, 7]) {
      const read: string[] = [];
      for (let after: ListPlace | undefined; ; ) {
        const page = await t.store.page(t.tenant, { limit, after });
        read.push(...page.map((row) => row.threadId));
        // A store that begins at the front again would be asked without end.
        ok(read.length <= all.length);
        const last = page.at(-1);
        if (last === undefined) break;
        after = { at: last.updatedAt, id: last.threadId };
      }
      deepEqual(read, all);
    }
    await t.append(t.key("b"), t.taking(1, { at: 30, state: "completed", release: true }));
    deepEqual(await ids(t), ["b", "ä", "e", "d", "c", "a"]);
    deepEqual(await ids(t, { after: { at: 10, id: "d" } }), ["c", "a"]);
  },

  "L4: a running thread stands by its last append, whichever filter finds it": async (t) => {
    const names = named("one", { env: "prod" });
    await rest(t, "rests", 20, names);
    const fence = await t.append(t.key("runs"), t.taking(0, { at: 10, ...names }));
    const filters: Query[] = [{}, { agent: "helper" }, { label: { env: "prod" } }, search("on")];
    for (const filter of filters) deepEqual(await ids(t, filter), ["rests", "runs"]);
    await t.append(t.key("runs"), t.writing(fence, 1, { at: 30 }));
    for (const filter of filters) {
      deepEqual(await ids(t, filter), ["runs", "rests"]);
      deepEqual(await ids(t, { ...filter, after: { at: 30, id: "runs" } }), ["rests"]);
      deepEqual(await ids(t, { ...filter, after: { at: 20, id: "rests" } }), []);
    }
    deepEqual(await ids(t, { state: "running" }), ["runs"]);
    await t.append(t.key("runs"), t.writing(fence, 2, { at: 15, state: "completed", release: true }));
    for (const filter of filters) deepEqual(await ids(t, filter), ["rests", "runs"]);
    deepEqual(await ids(t, { state: "running" }), []);
  },

  "L4: threads are found by state, pause, agent and label, alone and together": async (t) => {
    const paused = (pauseType: "manual" | "tool_interrupt", more: Partial<Append> = {}) => ({
      state: "paused" as const,
      listed: { pauseType, runId: "run" },
      ...more,
    });
    await rest(t, "a", 1, { agent: "other", ...named(undefined, { env: "prod", team: "x" }) });
    await rest(t, "b", 2, paused("manual", named("b", { env: "prod" })));
    await rest(t, "c", 3, paused("tool_interrupt", { agent: "other" }));
    await rest(t, "d", 4, paused("tool_interrupt", named("d", { env: "test", team: "x" })));
    await rest(t, "e", 5, { state: "error" });
    deepEqual(await ids(t, { state: "paused" }), ["d", "c", "b"]);
    deepEqual(await ids(t, { state: "completed" }), ["a"]);
    deepEqual(await ids(t, { state: "terminated" }), []);
    deepEqual(await ids(t, { pauseType: "tool_interrupt" }), ["d", "c"]);
    deepEqual(await ids(t, { pauseType: "user_interrupt" }), []);
    deepEqual(await ids(t, { agent: "other" }), ["c", "a"]);
    deepEqual(await ids(t, { agent: "othe" }), []);
    deepEqual(await ids(t, { label: { env: "prod" } }), ["b", "a"]);
    deepEqual(await ids(t, { label: { env: "prod", team: "x" } }), ["a"]);
    deepEqual(await ids(t, { label: { team: "x" } }), ["d", "a"]);
    deepEqual(await ids(t, { label: { env: "pro" } }), []);
    deepEqual(await ids(t, { agent: "other", pauseType: "tool_interrupt" }), ["c"]);
    deepEqual(await ids(t, { state: "paused", label: { team: "x" }, agent: "helper" }), ["d"]);
    deepEqual(await ids(t, { threadIds: ["e", "a", "none"] }), ["e", "a"]);
    deepEqual(await ids(t, { label: { team: "x" }, after: { at: 4, id: "d" } }), ["a"]);
    deepEqual(await t.store.page(`${t.tenant} other`, { limit: 10, label: { env: "prod" } }), []);
    // A pause that has ended is no longer found, also after a writer that does not list its end.
    await t.append(t.key("d"), t.taking(1, { at: 9, state: "running", release: true }));
    deepEqual(await ids(t, { pauseType: "tool_interrupt" }), ["c"]);
    deepEqual(await ids(t, { label: { team: "x" } }), ["d", "a"]);
  },

  "L4: a search finds the beginnings of words in titles and in the values of labels": async (t) => {
    await rest(t, "a", 1, named("Deploy the API to production", { env: "Straße 7" }));
    await rest(t, "b", 2, named("Undo the deployment", { "team x": "Ops-Team" }));
    await rest(t, "c", 3, named('"quoted" 50% _under_ \u0007 bell', { note: "日本語のタイトル" }));
    await rest(t, "d", 4, named(undefined, { env: "deploy" }));
    await rest(t, "e", 5);
    const found: Record<string, string[]> = {
      deploy: ["d", "b", "a"],
      DEPLOYM: ["b"],
      "dep prod": ["a"],
      "prod dep api": ["a"],
      "dep nothing": [],
      ploy: [],
      strasse: ["a"],
      team: ["b"],
      x: [],
      quot: ["c"],
      '"quoted"': ["c"],
      "50": ["c"],
      "'; --": ["e", "d", "c", "b", "a"],
      日本: ["c"],
    };
    for (const [text, expected] of Object.entries(found)) deepEqual(await ids(t, search(text)), expected, text);
    deepEqual(await ids(t, { ...search("deploy"), label: { env: "deploy" } }), ["d"]);
    deepEqual(await ids(t, { ...search("deploy"), after: { at: 4, id: "d" } }), ["b", "a"]);
    deepEqual(await ids(t, search("deploy"), 2), ["d", "b"]);
    await t.append(t.key("b"), t.taking(1, { at: 9, state: "completed", release: true, ...named("Other") }));
    deepEqual(await ids(t, search("deploy")), ["d", "a"]);
    deepEqual(await ids(t, search("other")), ["b"]);
  },

  "L4: a row has its thread's state, cause of pause, run, name and number of open requests": async (t) => {
    const key = t.key();
    const labels = { "__proto__ \n": 'a "b" \u0000', é: "ü" };
    const raise = ["r1", "r2"].map((id) => ({ id: `${t.tenant} ${id}`, body: "{}" }));
    const listed = { pauseType: "tool_interrupt", runId: "run\n1" } as const;
    await t.append(key, t.taking(0, { at: 5, release: true, state: "paused", raise, listed, ...named("T\n", labels) }));
    const row = async () => (await t.store.page(t.tenant, { limit: 10 }))[0]!;
    const loaded = (await t.load(key)).row;
    deepEqual(loaded.named, { title: "T\n", labels });
    deepEqual(await row(), { ...loaded, ...listed, open: 2 });
    await t.append(key, t.taking(1, { at: 6, state: "running", listed: { runId: "run 2" }, close: [raise[0]!.id] }));
    const running = await row();
    deepEqual(
      [running.runId, running.open, "pauseType" in running, running.named],
      ["run 2", 1, false, { title: "T\n", labels }],
    );
    ok(running.lease !== undefined);
    await t.store.delete(key);
    deepEqual(await ids(t), []);
    for (const filter of [{ label: labels }, search("t"), { agent: "helper" }, { state: "running" as const }])
      deepEqual(await ids(t, filter), []);
    // Made again under its name it has no name.
    await rest(t, "thread", 7);
    equal("named" in (await row()), false);
    deepEqual(await ids(t, { label: labels }), []);
  },

  "L4: a thread that no append has listed is in every list, and said to be unlisted": async (t) => {
    await rest(t, "a", 1, { state: "paused" });
    const [row] = await t.store.page(t.tenant, { limit: 10 });
    equal(row!.unlisted, true);
    deepEqual(await ids(t, { pauseType: "unlisted" }), ["a"]);
    deepEqual(await ids(t, { state: "paused" }), ["a"]);
    await t.append(t.key("a"), t.taking(1, { at: 2, state: "paused", release: true, listed: { pauseType: "manual" } }));
    deepEqual(await ids(t, { pauseType: "unlisted" }), []);
    deepEqual(await ids(t, { pauseType: "manual" }), ["a"]);
  },

  "L4: an append that is refused changes no list": async (t) => {
    await rest(t, "a", 1, named("one", { env: "prod" }));
    const before = await t.store.page(t.tenant, { limit: 10 });
    await t.refused(t.key("a"), t.taking(7, { at: 9, state: "error", ...named("two", { env: "test" }) }), {
      why: "conflict",
    });
    deepEqual(await t.store.page(t.tenant, { limit: 10 }), before);
    deepEqual(await ids(t, search("two")), []);
    deepEqual(await ids(t, { label: { env: "test" } }), []);
  },

  "L4: decided requests are listed, the last decided first, and each is found by its id": async (t) => {
    const id = (name: string) => `${t.tenant} ${name}`;
    const raise = ["a", "b", "c", "d"].map((name) => ({ id: id(name), body: `open ${name}` }));
    const key = t.key();
    const fence = await t.append(key, t.taking(0, { raise }));
    const decide = (names: readonly string[], at: number) => ({
      at,
      close: names.map(id),
      decided: names.map((name) => ({ id: id(name), body: `decided ${name}` })),
    });
    await t.append(key, t.writing(fence, 1, decide(["b"], 20)));
    await t.append(
      key,
      t.writing(fence, 2, { ...decide(["a", "d"], 30), amend: [{ id: id("c"), body: "open c, 1" }] }),
    );
    const decided = async (query: object = {}) =>
      (await t.store.decided(t.tenant, { limit: 10, ...query })).map((row) => row.body);
    deepEqual(await decided(), ["decided d", "decided a", "decided b"]);
    deepEqual(await decided({ after: { at: 30, id: id("d") } }), ["decided a", "decided b"]);
    deepEqual(await decided({ limit: 1 }), ["decided d"]);
    deepEqual(await decided({ threadId: "thread" }), ["decided d", "decided a", "decided b"]);
    deepEqual(await decided({ threadId: "other" }), []);
    deepEqual(await t.store.decided(`${t.tenant} other`, { limit: 10 }), []);
    deepEqual(
      (await t.store.requests(t.tenant)).map(({ body }) => body),
      ["open c, 1"],
    );
    deepEqual(await t.store.request(t.tenant, id("c")), { id: id("c"), threadId: "thread", body: "open c, 1" });
    deepEqual(await t.store.request(t.tenant, id("b")), {
      id: id("b"),
      threadId: "thread",
      body: "decided b",
      decidedAt: 20,
    });
    equal(await t.store.request(t.tenant, id("none")), undefined);
    equal(await t.store.request(`${t.tenant} other`, id("b")), undefined);
    // Another thread closes, amends and decides nothing of this one; nor is anything decided twice.
    await t.append(t.key("other"), t.taking(0, { ...decide(["c"], 40), amend: [{ id: id("c"), body: "theirs" }] }));
    await t.append(key, t.writing(fence, 3, decide(["b"], 50)));
    deepEqual(await decided(), ["decided d", "decided a", "decided b"]);
    equal((await t.store.request(t.tenant, id("c")))?.body, "open c, 1");
    await t.store.delete(key);
    deepEqual(await decided(), []);
    equal(await t.store.request(t.tenant, id("b")), undefined);
  },

  "L4: pages of many threads have each once, also while others write": async (t) => {
    for (let i = 0; i < 60; i++) await rest(t, `t${i}`, i, named(`thread ${i % 7}`, { n: String(i % 3) }));
    const read: string[] = [];
    let after: ListPlace | undefined;
    for (let n = 0; ; n++) {
      const page = await t.store.page(t.tenant, { limit: 7, label: { n: "1" }, after });
      read.push(...page.map((row) => row.threadId));
      ok(read.length <= 60);
      // One that was read and one that was not move to the front.
      if (n === 0)
        for (const id of [page[0]!.threadId, "t1"])
          await t.append(t.key(id), t.taking(1, { at: 1_000, state: "completed", release: true }));
      const last = page.at(-1);
      if (last === undefined) break;
      after = { at: last.updatedAt, id: last.threadId };
    }
    const expected = times(20, (i) => `t${58 - 3 * i}`).filter((id) => id !== "t1");
    deepEqual(read, expected);
    deepEqual((await ids(t, { label: { n: "1" } })).slice(0, 2).sort(), ["t1", "t58"]);
  },

  "L3: a watcher of a tenant is called for appends to any thread of it, until it leaves": async (t) => {
    let all = 0;
    const heard = new Set<string>();
    const leave = t.store.watchTenant(t.tenant, (threadId) => {
      if (threadId === undefined) all += 1;
      else heard.add(threadId);
    });
    await rest(t, "a", 1);
    await rest(t, "b", 2);
    await t.until(() => (heard.has("a") && heard.has("b")) || all > 0, "a hint of both");
    leave();
    leave();
    await new Promise((resolve) => setTimeout(resolve, 50));
    const before = [all, heard.size];
    await rest(t, "c", 3);
    await new Promise((resolve) => setTimeout(resolve, 50));
    deepEqual([all, heard.size], before);
  },
} satisfies Record<string, StoreCheck>;
