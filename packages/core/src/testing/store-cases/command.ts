// Commands: written by any process, once under one key, kept until an append consumes them.

import { deepEqual, equal, rejects } from "node:assert/strict";
import { command, type StoreCheck, times } from "./bench.ts";

export const commandCases = {
  "commands wait as they were given, in the order they were sent": async (t) => {
    const key = t.key();
    await t.append(key, t.taking(0));
    const sent = [
      command("b", { kind: "input", at: 9 }),
      command("a", { kind: "stop", at: 1 }),
      command("c", { kind: "answer" }),
      command("0", { kind: "late", body: "" }),
    ];
    for (const each of sent) equal(await t.store.send(key, each), true);
    deepEqual([...(await t.load(key)).commands], sent);
    deepEqual([...(await t.load(key, 1)).commands], sent);
  },

  "a command needs no lease, and moves nothing but itself": async (t) => {
    const key = t.key();
    const fence = await t.append(key, t.taking(0));
    const { row, lines } = await t.load(key);
    await t.store.send(key, command("k"));
    const after = await t.load(key);
    deepEqual([after.row, after.lines], [row, lines]);
    await t.append(key, t.writing(fence, 1, { release: true }));
    equal(await t.store.send(key, command("l")), true);
  },

  "a command is sent once under one key": async (t) => {
    const key = t.key();
    await t.append(key, t.taking(0));
    const first = command("k");
    equal(await t.store.send(key, first), true);
    equal(await t.store.send(key, command("k", { kind: "stop" })), false);
    deepEqual([...(await t.load(key)).commands], [first]);
  },

  "of many commands under one key sent at once one is written; under many keys all are": async (t) => {
    const key = t.key();
    await t.append(key, t.taking(0));
    const answers = await Promise.all(times(10, () => t.store.send(key, command("same"))));
    equal(answers.filter(Boolean).length, 1);
    const names = times(20, (i) => `k${i}`);
    await Promise.all(names.map((name) => t.store.send(key, command(name))));
    deepEqual([...(await t.keys(key))].sort(), [...names, "same"].sort());
  },

  "an append consumes exactly the commands it names": async (t) => {
    const key = t.key();
    const fence = await t.append(key, t.taking(0));
    for (const name of ["a", "b", "c"]) await t.store.send(key, command(name));
    await t.append(key, t.writing(fence, 1));
    deepEqual(await t.keys(key), ["a", "b", "c"]);
    await t.append(key, t.writing(fence, 2, { consume: ["c", "a"] }));
    deepEqual(await t.keys(key), ["b"]);
    await t.append(key, t.writing(fence, 3, { release: true }));
    await t.append(key, t.taking(4, { consume: ["b"] }));
    deepEqual(await t.keys(key), []);
  },

  "a consumed command stays known by its key": async (t) => {
    const key = t.key();
    const fence = await t.append(key, t.taking(0));
    await t.store.send(key, command("k"));
    await t.append(key, t.writing(fence, 1, { consume: ["k"] }));
    equal(await t.store.send(key, command("k")), false);
    deepEqual(await t.keys(key), []);
  },

  "a refused append consumes nothing": async (t) => {
    const key = t.key();
    const fence = await t.append(key, t.taking(0));
    await t.store.send(key, command("k"));
    const consume = ["k"];
    await t.refused(key, t.taking(1, { consume }), { why: "busy" });
    await t.refused(key, t.writing(fence, 0, { consume }), { why: "conflict" });
    await t.refused(key, t.writing(fence + 1, 1, { consume }), { why: "fenced" });
    deepEqual(await t.keys(key), ["k"]);
  },

  "an append that consumes a command that is not there is refused whole, and names it": async (t) => {
    const key = t.key();
    const fence = await t.append(key, t.taking(0));
    for (const name of ["a", "b"]) await t.store.send(key, command(name));
    await t.append(key, t.writing(fence, 1, { consume: ["a"] }));
    await t.refused(key, t.writing(fence, 2, { consume: ["a", "b", "c"] }), { why: "gone", keys: ["a", "c"] });
    deepEqual([await t.keys(key), (await t.load(key)).row.head], [["b"], 2]);
  },

  "an input or a steer can be taken back until it is consumed; its key stays known": async (t) => {
    const key = t.key();
    const fence = await t.append(key, t.taking(0));
    for (const name of ["a", "b", "c"])
      await t.store.send(key, command(name, { kind: name === "a" ? "steer" : "input" }));
    equal(await t.store.withdraw(key, "a"), true);
    equal(await t.store.withdraw(key, "a"), false);
    equal(await t.store.withdraw(key, "never"), false);
    await t.append(key, t.writing(fence, 1, { consume: ["b"] }));
    equal(await t.store.withdraw(key, "b"), false);
    await t.refused(key, t.writing(fence, 2, { consume: ["a"] }), { why: "gone" });
    equal(await t.store.send(key, command("a", { kind: "steer" })), false);
    deepEqual(await t.keys(key), ["c"]);
  },

  "a stop can be taken back while no process has the thread; its key stays known": async (t) => {
    const key = t.key();
    const fence = await t.append(key, t.taking(0));
    for (const name of ["a", "b"]) await t.store.send(key, command(name, { kind: "stop" }));
    equal(await t.store.withdraw(key, "a"), false);
    await t.append(key, t.writing(fence, 1, { release: true }));
    equal(await t.store.withdraw(key, "a"), true);
    equal(await t.store.withdraw(key, "a"), false);
    equal(await t.store.send(key, command("a", { kind: "stop" })), false);
    deepEqual(await t.keys(key), ["b"]);
    const again = await t.append(key, t.taking(2));
    equal(await t.store.withdraw(key, "b"), false);
    await t.refused(key, t.writing(again, 3, { consume: ["a"] }), { why: "gone" });
    const last = await t.store.append(key, t.writing(again, 3, { consume: ["b"] }));
    equal(last.ok && last.mail, false);
  },

  "an answer can be taken back until it is consumed, with any owner of the thread, and then be sent again": async (
    t,
  ) => {
    const key = t.key();
    const fence = await t.append(key, t.taking(0, { state: "paused" }));
    const answer = (name: string) => t.store.send(key, command(name, { kind: "answer" }));
    for (const name of ["a", "b"]) equal(await answer(name), true);
    equal(await t.store.withdraw(key, "a"), true);
    equal(await t.store.withdraw(key, "a"), false);
    deepEqual([await t.keys(key), (await t.load(key)).row.answered], [["b"], true]);
    await t.refused(key, t.writing(fence, 1, { consume: ["a"] }), { why: "gone", keys: ["a"] });
    equal(await answer("a"), true);
    equal(await answer("a"), false);
    deepEqual(await t.keys(key), ["b", "a"]);
    await t.append(key, t.writing(fence, 1, { consume: ["a"], state: "paused", release: true }));
    equal(await t.store.withdraw(key, "a"), false);
    equal(await answer("a"), false);
    equal(await t.store.withdraw(key, "b"), true);
    deepEqual([await t.keys(key), (await t.load(key)).row.answered], [[], false]);
    const again = await t.store.append(key, t.taking(2));
    equal(again.ok && again.mail, false);
  },

  "a stop that an owner may obey, and a late result, cannot be taken back": async (t) => {
    const key = t.key();
    await t.append(key, t.taking(0));
    for (const kind of ["stop", "late"] as const) {
      await t.store.send(key, command(kind, { kind }));
      equal(await t.store.withdraw(key, kind), false);
    }
    equal(await t.store.withdraw(t.key("no such thread"), "stop"), false);
    deepEqual(await t.keys(key), ["stop", "late"]);
  },

  "of a consuming append and a withdrawal at once exactly one has its way": async (t) => {
    const key = t.key();
    const fence = await t.append(key, t.taking(0));
    let head = 1;
    for (const [i, name] of times(20, (i) => `k${i}`).entries()) {
      await t.store.send(key, command(name, { kind: i % 2 === 0 ? "steer" : "answer" }));
      const append = t.store.append(key, t.writing(fence, head, { consume: [name] }));
      const [appended, withdrawn] = await Promise.all([append, t.store.withdraw(key, name)]);
      equal(appended.ok, !withdrawn);
      if (appended.ok) head += 1;
    }
  },

  "an append reports whether commands wait": async (t) => {
    const key = t.key();
    const first = await t.store.append(key, t.taking(0));
    if (!first.ok) throw new Error(first.why);
    equal(first.mail, false);
    await t.store.send(key, command("k"));
    const second = await t.store.append(key, t.writing(first.fence, 1));
    const third = await t.store.append(key, t.writing(first.fence, 2, { consume: ["k"] }));
    deepEqual([second.ok && second.mail, third.ok && third.mail], [true, false]);
  },

  "an append consumes a command of its own thread only": async (t) => {
    const [one, two] = [t.key("one"), t.key("two")];
    const fence = await t.append(one, t.taking(0));
    await t.append(two, t.taking(0));
    for (const key of [one, two]) equal(await t.store.send(key, command("k")), true);
    await t.append(one, t.writing(fence, 1, { consume: ["k"] }));
    deepEqual([await t.keys(one), await t.keys(two)], [[], ["k"]]);
  },

  "a command for a thread that is not there is refused, and does not make it": async (t) => {
    const key = t.key();
    await rejects(t.store.send(key, command("k")), { code: "THREAD_UNKNOWN" });
    equal(await t.store.load(key), undefined);
    deepEqual(await t.store.threads(t.tenant), []);
  },
} satisfies Record<string, StoreCheck>;
