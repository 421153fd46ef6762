import { eachStore, type Kit, openKit, settle, toolOf } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { approve, type Store } from "../../index.ts";

const pay = toolOf("pay", () => "secret", { needsApproval: true });

/** A tenant with a thread that asks, one that was stopped, one that has ended, a fork, and a rule for good. */
async function settled(store: Store): Promise<Kit> {
  const stall = [{ text: "secret" }, { stall: true }] as const;
  const asks = [{ call: "pay", id: "p" }];
  const kit = await openKit(["secret", asks, stall, asks, "secret"], {
    store,
    tools: [pay],
    threadId: "ended",
    runner: { tenant: "x" },
  });
  await kit.session.run("secret").result;
  await (await kit.runner.open("asking")).run("secret").result;
  const stopped = await kit.runner.open("stopped");
  const run = stopped.run("secret");
  await settle();
  await stopped.interrupt();
  await run.result;
  await stopped.steer("secret", { id: "steer" });
  const ruled = await kit.runner.open("ruled");
  await ruled.run("secret").result;
  await ruled.resume({ answers: { [ruled.interrupts[0]!.id]: approve({ remember: "always" }) } }).result;
  await kit.runner.fork("ended", { at: 4, as: "fork" });
  return kit;
}

const THREADS = ["ended", "asking", "stopped", "ruled", "fork"];

async function everything(store: Store): Promise<unknown> {
  const threads = THREADS.map((threadId) => store.load({ tenant: "x", threadId }));
  return [
    await Promise.all(threads),
    await store.threads("x"),
    await store.requests("x"),
    await store.rules("x"),
    await Promise.all(THREADS.map((threadId) => store.past({ tenant: "x", threadId }))),
  ];
}

describe.each(eachStore)("on $name, a runner of another tenant", ({ make }) => {
  test("sees nothing, and changes nothing, by any of its methods and in any order", async () => {
    const store = await make();
    const victim = await settled(store);
    const handle = await (await victim.runner.open("stopped")).handle();
    const [request] = (await victim.runner.inbox()).items;
    const [rule] = await victim.runner.rules();
    const before = await everything(store);
    let state = 7;
    const random = (below: number) => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    const { runner } = await openKit(() => "mine", {
      store,
      tools: [pay],
      threadId: "unused",
      runner: { tenant: "y", ttlMs: 0 },
    });
    const has = async (threadId: string) => (await store.load({ tenant: "y", threadId })) !== undefined;
    const unknown = { code: expect.stringMatching(/UNKNOWN|TOKEN_SPENT/) };
    const refused = (what: Promise<unknown>) => expect(what).rejects.toMatchObject(unknown);
    /** Nothing that was said, asked or done there. */
    const isOurs = (what: unknown) => expect(JSON.stringify(what) ?? "").not.toContain("secret");
    /** By name, so that none is forgotten. */
    const methods: Record<
      Exclude<keyof typeof runner, "owner" | "tenant" | "close" | "drain">,
      (threadId: string) => Promise<unknown>
    > = {
      open: async (id) => isOurs((await runner.open(id)).messages),
      run: async () => expect(await (await runner.run("go")).result).toMatchObject({ text: "mine" }),
      start: async (id) => isOurs(await runner.start(id, "go").then(({ result }) => result, String)),
      resume: async () => refused(runner.resume(handle)),
      interrupt: async (id) => {
        const stopped = await runner.interrupt(id).catch((error: { code: string }) => error);
        expect(stopped).toMatchObject("accepted" in stopped ? { accepted: false } : unknown);
      },
      pause: async (id) => {
        const paused = await runner.pause(id).catch((error: { code: string }) => error);
        expect(paused).toMatchObject("accepted" in paused ? { accepted: false } : unknown);
      },
      terminate: async (id) => (await has(id)) || refused(runner.terminate(id)),
      observe: async (id) => runner.observe(id, "ours", { id: `ours ${random(1e9)}` }),
      answer: async () => refused(runner.answer(request!.id, approve())),
      inbox: async () => expect((await runner.inbox()).items).toEqual([]),
      requests: async () => expect(await runner.requests({ state: "decided" })).toEqual({ items: [], damaged: [] }),
      request: async () => expect(await runner.request(request!.id)).toBe(undefined),
      changes: async () => {
        const ending = new AbortController();
        const changes = runner.changes({ signal: ending.signal })[Symbol.asyncIterator]();
        expect(await changes.next()).toEqual({ done: false, value: { type: "sync" } });
        ending.abort();
        for (let next = await changes.next(); !next.done; next = await changes.next()) isOurs(next.value);
      },
      rules: async () => expect(await runner.rules()).toEqual([]),
      removeRule: async () => expect(await runner.removeRule(rule!.id!)).toBe(false),
      steer: async (id) => runner.steer(id, "ours", { id: `ours ${random(1e9)}` }),
      enqueue: async (id) => runner.enqueue(id, "ours"),
      send: async (id) => runner.send(id, "ours", { id: `ours ${random(1e9)}` }).then(isOurs),
      withdraw: async () => expect(await runner.withdraw("stopped", "steer")).toBe(false),
      setBreakpoint: async (id) => {
        await expect(runner.setBreakpoint(id, { node: "none" })).rejects.toMatchObject({ code: "OPTION_INVALID" });
      },
      handle: async (id) => {
        const code = expect.stringMatching(/INVALID_STATE|ALREADY_RUNNING|THREAD_UNKNOWN/);
        await runner.handle(id).catch((error) => expect(error).toMatchObject({ code }));
      },
      look: async (id) =>
        (await has(id)) ? isOurs(await runner.look(id)) : expect(await runner.look(id)).toBe(undefined),
      journal: async (id) => ((await has(id)) ? isOurs(await runner.journal(id)) : refused(runner.journal(id))),
      effects: async (id) => {
        const effects = runner.effects(id, { after: 0 });
        return (await has(id)) ? isOurs(await effects) : refused(effects);
      },
      checkpoint: async (id) =>
        (await has(id)) ? isOurs(await runner.checkpoint(id)) : refused(runner.checkpoint(id)),
      permission: async (id) => {
        const verdict = runner.permission(id, "pay", {});
        return (await has(id)) ? isOurs(await verdict) : refused(verdict);
      },
      move: async (id) => (await has(id)) || expect(await runner.move(id)).toEqual({}),
      agents: async () => expect(runner.agents()).toEqual(["helper"]),
      events: async (id) => {
        const ending = new AbortController();
        const heard: unknown[] = [];
        const reading = (async () => {
          for await (const event of runner.events(id, { signal: ending.signal })) heard.push(event);
        })();
        await settle();
        ending.abort();
        await reading;
        isOurs(heard);
      },
      label: async (id) => {
        const labelled = runner.label(id, { title: "ours" }).catch((error: { code: string }) => error);
        expect(await labelled).toEqual((await has(id)) ? undefined : expect.objectContaining(unknown));
      },
      threads: async () => {
        for (const { threadId } of (await runner.threads()).items) expect(await has(threadId)).toBe(true);
      },
      fork: async (id) => (await has(id)) || refused(runner.fork(id, { at: 1 })),
      history: async (id) => ((await has(id)) ? isOurs(await runner.history(id)) : refused(runner.history(id))),
      repair: async (id) => (await has(id)) || refused(runner.repair(id)),
      delete: async (id) => runner.delete(id).catch((error) => expect(error.code).toMatch(/RUNNING|BUSY/)),
      prune: async () => runner.prune({ idleMs: 0, paused: true }),
      work: async () => {
        const ending = new AbortController();
        const working = runner.work({ signal: ending.signal, pollMs: 1 });
        await settle(10);
        ending.abort();
        await working;
      },
    };
    const names = Object.keys(methods) as (keyof typeof methods)[];
    for (let i = 0; i < 200; i++) {
      const threadId = THREADS[random(THREADS.length)]!;
      const name = i < names.length ? names[i]! : names[random(names.length)]!;
      // Now and then it has a thread of the same name.
      if (random(6) === 0 && !(await has(threadId))) await (await runner.open(threadId)).run("go").result;
      await methods[name](threadId);
      expect(await everything(store), `after ${name}(${threadId})`).toEqual(before);
    }
  });
});
