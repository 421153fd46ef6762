// Requests and rules: opened, closed and remembered by appends and by nothing else; found over all threads of a tenant.

import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import type { Append, RaisedRequest, RequestRow, RuleRow } from "../../store/store.ts";
import { type Bench, command, type StoreCheck, times, unique } from "./bench.ts";

function request(id: string, more: Partial<RaisedRequest> = {}): RaisedRequest {
  return { id, body: `{"of":${unique()}}`, ...more };
}

const rule = (id: string, at = 5) => ({ id, at, body: `{"of":${unique()}}` });

const openIds = async (t: Bench, tenant = t.tenant) => (await t.store.requests(tenant)).map(({ id }) => id);
const ruleIds = async (t: Bench, tenant = t.tenant) => (await t.store.rules(tenant)).map(({ id }) => id);

export const requestCases = {
  "open requests are listed over all threads, as they were raised, the oldest first": async (t) => {
    deepEqual([...(await t.store.requests(t.tenant))], []);
    const [one, two] = [t.key("one"), t.key("two")];
    const z = request("z", { expiresAt: 9_000 });
    const [a, m, b] = [request("a"), request("m", { expiresAt: 10 }), request("b")];
    await t.append(two, t.taking(0, { at: 30, raise: [z, a], release: true }));
    await t.append(one, t.taking(0, { at: 20, raise: [m], release: true }));
    await t.append(two, t.taking(1, { at: 10, raise: [b], release: true }));
    await t.append(one, t.taking(1, { at: 40 }));
    deepEqual(
      [...(await t.store.requests(t.tenant))],
      [
        { ...z, threadId: "two" },
        { ...a, threadId: "two" },
        { ...m, threadId: "one" },
        { ...b, threadId: "two" },
      ],
    );
  },

  "L4: open requests are read page by page, each once, also while some are closed and raised": async (t) => {
    const key = t.key();
    const raised = times(9, (i) => request(`r${9 - i}`, i === 4 ? { expiresAt: 9_000 } : {}));
    const fence = await t.append(key, t.taking(0, { raise: raised }));
    for (const limit of [1, 2, 3, 8, 9, 10]) {
      const read: RequestRow[] = [];
      for (let after: number | undefined; ; ) {
        const page = await t.store.requests(t.tenant, { after, limit });
        ok(page.length <= limit);
        read.push(...page);
        // A store that reads from the beginning again would be asked without end.
        ok(read.length <= raised.length);
        if (page.length < limit) break;
        after = page.at(-1)!.place!;
      }
      const places = read.map(({ place }) => place!);
      deepEqual(
        places,
        [...new Set(places)].sort((a, b) => a - b),
      );
      deepEqual(
        read.map(({ place: _place, ...row }) => row),
        raised.map((row) => ({ ...row, threadId: "thread" })),
      );
    }
    const [, second] = await t.store.requests(t.tenant, { limit: 2 });
    // The last one that was read is closed, one before it and one after it, too, and another is raised.
    const close = [0, 1, 2].map((i) => raised[i]!.id);
    await t.append(key, t.writing(fence, 1, { close, raise: [request("last")] }));
    const rest = await t.store.requests(t.tenant, { after: second!.place, limit: 20 });
    deepEqual(
      rest.map(({ id }) => id),
      ["r6", "r5", "r4", "r3", "r2", "r1", "last"],
    );
    deepEqual(await t.store.requests(`${t.tenant} other`, { limit: 5 }), []);
    await t.store.delete(key);
    deepEqual(await t.store.requests(t.tenant, { limit: 5 }), []);
  },

  "a closed request is listed no more, and its thread is still found": async (t) => {
    const key = t.key("asking");
    const raise = [request("a"), request("b"), request("c")];
    const fence = await t.append(key, t.taking(0, { raise }));
    await t.append(key, t.writing(fence, 1, { close: ["b", "never raised"] }));
    deepEqual(await openIds(t), ["a", "c"]);
    await t.append(key, t.writing(fence, 2, { close: ["b", "c", "a"], raise: [request("d"), request("e")] }));
    await t.append(key, t.writing(fence, 3, { close: ["e"] }));
    deepEqual(await openIds(t), ["d"]);
    for (const id of ["a", "b", "c", "d", "e"]) equal(await t.store.requestThread(t.tenant, id), "asking");
    equal(await t.store.requestThread(t.tenant, "never raised"), undefined);
  },

  "a request that one append raises and closes is closed, and its thread is found": async (t) => {
    await t.append(t.key(), t.taking(0, { raise: [request("a"), request("b")], close: ["a"] }));
    deepEqual([await openIds(t), await t.store.requestThread(t.tenant, "a")], [["b"], "thread"]);
  },

  "a thread closes its own requests only": async (t) => {
    const [mine, theirs] = [t.key("mine"), t.key("theirs")];
    const elsewhere = t.key("mine", `${t.tenant}-other`);
    const fence = await t.append(mine, t.taking(0, { raise: [request("m")] }));
    await t.append(theirs, t.taking(0, { raise: [request("t")] }));
    await t.append(elsewhere, t.taking(0, { raise: [request("e")] }));
    await t.append(mine, t.writing(fence, 1, { close: ["t", "e"] }));
    deepEqual([await openIds(t), await openIds(t, elsewhere.tenant)], [["m", "t"], ["e"]]);
  },

  "tenants have requests and rules of their own, also under the same ids": async (t) => {
    const other = `${t.tenant}-other`;
    const [mine, theirs] = [t.key("mine"), t.key("theirs", other)];
    const fence = await t.append(mine, t.taking(0, { raise: [request("a")], remember: [rule("r")] }));
    deepEqual([await openIds(t, other), await ruleIds(t, other)], [[], []]);
    equal(await t.store.requestThread(other, "a"), undefined);
    equal(await t.store.removeRule(other, "r"), false);
    await t.append(theirs, t.taking(0, { raise: [request("a")], remember: [rule("r")] }));
    await t.append(mine, t.writing(fence, 1, { close: ["a"] }));
    equal(await t.store.removeRule(t.tenant, "r"), true);
    deepEqual([await openIds(t), await ruleIds(t)], [[], []]);
    deepEqual([await openIds(t, other), await ruleIds(t, other)], [["a"], ["r"]]);
    deepEqual(
      [await t.store.requestThread(t.tenant, "a"), await t.store.requestThread(other, "a")],
      ["mine", "theirs"],
    );
  },

  "a refused append raises, closes, remembers and rests nothing": async (t) => {
    const key = t.key();
    const rest = { from: 1, dueAt: 7 };
    const fence = await t.append(key, t.taking(0, { raise: [request("a")], remember: [rule("r")], rest }));
    const before = [await t.store.requests(t.tenant), await t.store.rules(t.tenant)];
    const more: Partial<Append> = { raise: [request("b")], close: ["a"], remember: [rule("s")], rest: { from: 2 } };
    await t.refused(key, t.taking(1, more), { why: "busy" });
    await t.refused(key, t.writing(fence, 0, more), { why: "conflict" });
    await t.refused(key, t.writing(fence + 1, 1, more), { why: "fenced" });
    await t.refused(key, t.writing(fence, 1, { ...more, consume: ["none"] }), { why: "gone" });
    await t.refused(t.key("new"), t.taking(3, more), { why: "conflict" });
    deepEqual([await t.store.requests(t.tenant), await t.store.rules(t.tenant)], before);
    equal(await t.store.requestThread(t.tenant, "b"), undefined);
  },

  "an append repeated under its id raises and remembers once, and closes nothing anew": async (t) => {
    const key = t.key();
    const first = t.taking(0, { raise: [request("a"), request("b")], remember: [rule("r")], rest: { from: 1 } });
    const fence = await t.append(key, first);
    const before = [await t.store.requests(t.tenant), await t.store.rules(t.tenant), await t.load(key)];
    equal(await t.append(key, first), fence);
    deepEqual([await t.store.requests(t.tenant), await t.store.rules(t.tenant), await t.load(key)], before);
    equal(await t.store.removeRule(t.tenant, "r"), true);
    equal(await t.append(key, first), fence);
    deepEqual([await openIds(t), await ruleIds(t)], [["a", "b"], []]);
    const second = t.writing(fence, 1, { close: ["a"], raise: [request("c")], release: true });
    await t.append(key, second);
    await t.append(key, second);
    deepEqual(await openIds(t), ["b", "c"]);
  },

  "an append that raises a request under an id that is there already throws, and writes nothing": async (t) => {
    const [one, two] = [t.key("one"), t.key("two")];
    const first = request("a");
    const fence = await t.append(one, t.taking(0, { raise: [first, request("closed")], close: ["closed"] }));
    const before = await t.load(one);
    const more = { remember: [rule("r")], close: ["a"] };
    for (const id of ["a", "closed"]) {
      await rejects(t.store.append(one, t.writing(fence, 1, { ...more, raise: [request("b"), request(id)] })));
      await rejects(t.store.append(two, t.taking(0, { ...more, raise: [request(id)] })));
    }
    await rejects(t.store.append(one, t.writing(fence, 1, { ...more, raise: [request("b"), request("b")] })));
    deepEqual([await t.load(one), await t.store.load(two)], [before, undefined]);
    deepEqual([...(await t.store.requests(t.tenant))], [{ ...first, threadId: "one" }]);
    deepEqual([await ruleIds(t), await t.store.requestThread(t.tenant, "b")], [[], undefined]);
    await t.append(one, t.writing(fence, 1));
  },

  "of two writers that raise on one head one is written, with all that it brings": async (t) => {
    const key = t.key();
    const fence = await t.append(key, t.taking(0));
    const expected: string[] = [];
    const rules: string[] = [];
    for (let head = 1; head <= 6; head++) {
      const close = expected.slice(0, 1);
      const appends = times(8, (i) => {
        const names = { raise: [request(`${head}.${i}`), request(`${head}.${i}'`)], remember: [rule(`r${head}.${i}`)] };
        return t.writing(fence, head, { ...names, close, rest: { from: i } });
      });
      const answers = await Promise.all(appends.map((append) => t.store.append(key, append)));
      const won = answers.findIndex((answer) => answer.ok);
      equal(answers.filter((answer) => answer.ok).length, 1);
      expected.splice(0, close.length);
      expected.push(`${head}.${won}`, `${head}.${won}'`);
      rules.push(`r${head}.${won}`);
      deepEqual([await openIds(t), await ruleIds(t)], [expected, rules]);
      deepEqual((await t.load(key)).row.rest, { from: won });
    }
    await t.store.release(key, fence);
    const takers = times(8, (i) => t.taking(7, { owner: `o${i}`, raise: [request(`taken ${i}`)] }));
    const answers = await Promise.all(takers.map((append) => t.store.append(key, append)));
    const won = answers.findIndex((answer) => answer.ok);
    deepEqual((await openIds(t)).slice(expected.length), [`taken ${won}`]);
  },

  "threads that raise at once all have their requests listed": async (t) => {
    const ids = times(20, (i) => `r${i}`);
    await Promise.all(ids.map((id) => t.append(t.key(`thread ${id}`), t.taking(0, { raise: [request(id)] }))));
    deepEqual((await openIds(t)).sort(), [...ids].sort());
    for (const { id, threadId } of await t.store.requests(t.tenant)) equal(threadId, `thread ${id}`);
  },

  "the rest state of a thread is that of its last append, after any other call": async (t) => {
    const key = t.key();
    const rest = async () => (await t.load(key)).row.rest;
    let fence = await t.append(key, t.taking(0));
    equal("rest" in (await t.load(key)).row, false);
    await t.append(key, t.writing(fence, 1, { rest: { from: 2, dueAt: 5_000 } }));
    deepEqual(await rest(), { from: 2, dueAt: 5_000 });
    await t.store.send(key, command("k", { kind: "answer" }));
    await t.store.send(key, command("l"));
    await t.store.withdraw(key, "l");
    await t.store.renew(key, fence, 1_000);
    await t.store.release(key, fence);
    deepEqual(await rest(), { from: 2, dueAt: 5_000 });
    deepEqual((await t.store.threads(t.tenant))[0]?.rest, { from: 2, dueAt: 5_000 });
    fence = await t.append(key, t.taking(2, { rest: { from: 0 }, consume: ["k"] }));
    deepEqual(await rest(), { from: 0 });
    await t.append(key, t.writing(fence, 3, { rest: { from: 3, dueAt: 0 } }));
    deepEqual(await rest(), { from: 3, dueAt: 0 });
    await t.append(key, t.writing(fence, 4, { raise: [request("a")] }));
    equal("rest" in (await t.load(key)).row, false);
    equal("rest" in (await t.store.threads(t.tenant))[0]!, false);
  },

  "a row says that an answer waits exactly while one does": async (t) => {
    const key = t.key();
    const answered = async () => {
      const { row } = await t.load(key);
      deepEqual((await t.store.threads(t.tenant))[0], row);
      return row.answered;
    };
    const fence = await t.append(key, t.taking(0));
    for (const kind of ["input", "steer", "stop", "late"] as const) await t.store.send(key, command(kind, { kind }));
    equal(await answered(), false);
    await t.store.send(key, command("a", { kind: "answer" }));
    equal(await t.store.send(key, command("a", { kind: "answer" })), false);
    equal(await answered(), true);
    await t.store.send(key, command("b", { kind: "answer" }));
    await t.store.withdraw(key, "input");
    await t.append(key, t.writing(fence, 1, { consume: ["a", "stop"] }));
    equal(await answered(), true);
    await t.append(key, t.writing(fence, 2));
    equal(await answered(), true);
    await t.append(key, t.writing(fence, 3, { consume: ["steer", "b"] }));
    equal(await answered(), false);
    equal(await t.store.send(key, command("b", { kind: "answer" })), false);
    equal(await answered(), false);
  },

  "rules are listed as they were given, in the order they were added; a known id keeps the first": async (t) => {
    const [one, two] = [t.key("one"), t.key("two")];
    const [z, a, m] = [rule("z", 30), rule("a", 20), rule("m", 10)];
    deepEqual([...(await t.store.rules(t.tenant))], []);
    const fence = await t.append(one, t.taking(0, { remember: [z, a] }));
    await t.append(two, t.taking(0, { remember: [rule("z", 99), m, rule("m")] }));
    deepEqual([...(await t.store.rules(t.tenant))], [z, a, m]);
    await t.store.delete(two);
    deepEqual([...(await t.store.rules(t.tenant))], [z, a, m]);
    equal(await t.store.removeRule(t.tenant, "z"), true);
    equal(await t.store.removeRule(t.tenant, "z"), false);
    equal(await t.store.removeRule(t.tenant, "never"), false);
    deepEqual([...(await t.store.rules(t.tenant))], [a, m]);
    const again = rule("z", 1);
    await t.append(one, t.writing(fence, 1, { remember: [again] }));
    deepEqual([...(await t.store.rules(t.tenant))], [a, m, again]);
  },

  "a deleted thread takes its requests with it, open and closed; their ids can be raised again": async (t) => {
    const [gone, stays] = [t.key("gone"), t.key("stays")];
    const fence = await t.append(gone, t.taking(0, { raise: [request("a"), request("b")], rest: { from: 1 } }));
    await t.append(stays, t.taking(0, { raise: [request("c")] }));
    await t.append(gone, t.writing(fence, 1, { close: ["b"] }));
    await t.store.delete(gone);
    deepEqual(await openIds(t), ["c"]);
    for (const id of ["a", "b"]) equal(await t.store.requestThread(t.tenant, id), undefined);
    equal(await t.store.requestThread(t.tenant, "c"), "stays");
    await t.append(gone, t.taking(0, { raise: [request("b")] }));
    deepEqual(await openIds(t), ["c", "b"]);
    equal("rest" in (await t.load(gone)).row, false);
  },

  "requests and rules handed out or in change nothing later": async (t) => {
    const key = t.key();
    const [asked, known, rest] = [request("a", { expiresAt: 5 }), rule("r"), { from: 1, dueAt: 2 }];
    const raise = [{ ...asked }];
    const remember = [{ ...known }];
    const given = { raise, remember, rest: { ...rest } };
    await t.append(key, t.taking(0, given));
    Object.assign(raise[0]!, { body: "changed", expiresAt: 6 });
    Object.assign(remember[0]!, { body: "changed" });
    Object.assign(given.rest, { from: 9 });
    raise.push(request("b"));
    const requests = (await t.store.requests(t.tenant)) as RequestRow[];
    const rules = (await t.store.rules(t.tenant)) as RuleRow[];
    deepEqual([requests, rules, (await t.load(key)).row.rest], [[{ ...asked, threadId: "thread" }], [known], rest]);
    Object.assign(requests[0]!, { body: "changed" });
    Object.assign(rules[0]!, { body: "changed" });
    Object.assign((await t.load(key)).row.rest!, { from: 9 });
    requests.pop();
    rules.pop();
    deepEqual([...(await t.store.requests(t.tenant))], [{ ...asked, threadId: "thread" }]);
    deepEqual([...(await t.store.rules(t.tenant))], [known]);
    deepEqual((await t.load(key)).row.rest, rest);
  },

  "ids and bodies of requests and rules may have any characters": async (t) => {
    const names = [
      "a",
      "A",
      "a ",
      "a\0",
      "\0",
      "\ud800",
      "\ufffd",
      '"',
      "'; --",
      "%",
      "__proto__",
      "x".repeat(200),
      "",
    ];
    const raise = names.map((id) => request(id, { body: id }));
    const remember = names.map((id) => ({ id, at: 1, body: id }));
    const threadId = 'th"re\0ad';
    const fence = await t.append(t.key(threadId), t.taking(0, { raise, remember }));
    deepEqual(
      [...(await t.store.requests(t.tenant))],
      raise.map((each) => ({ ...each, threadId })),
    );
    deepEqual([...(await t.store.rules(t.tenant))], remember);
    for (const id of names) {
      equal(await t.store.requestThread(t.tenant, id), threadId);
      equal(await t.store.removeRule(t.tenant, id), true);
    }
    await t.append(t.key(threadId), t.writing(fence, 1, { close: names.slice(1) }));
    deepEqual([await openIds(t), await ruleIds(t)], [["a"], []]);
  },

  "a thousand open requests and more closed ones are listed whole": async (t) => {
    const fence = await t.append(t.key(), t.taking(0, { raise: times(1_500, (i) => request(`r${i}`)) }));
    await t.append(t.key(), t.writing(fence, 1, { close: times(500, (i) => `r${i * 3}`) }));
    deepEqual(
      await openIds(t),
      times(1_500, (i) => i)
        .filter((i) => i % 3 !== 0)
        .map((i) => `r${i}`),
    );
  },
} satisfies Record<string, StoreCheck>;
