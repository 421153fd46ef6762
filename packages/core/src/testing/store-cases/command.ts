// Commands: written by anyone, once under one key, there until an append consumes them.

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
