import { eachStore, factsOf, faultyStore, gate, type Kit, listen, openKit, toolOf, until } from "@belay/testkit";
import { describe, expect, it } from "vitest";
import type { Runner, Store, ToolContext } from "../../index.ts";

const key = { tenant: "default", threadId: "thread" };

const asks = toolOf("asks", () => "asked", { needsApproval: true });

/** Runs until it is stopped or let go. */
function works() {
  const [begun, go] = [gate(), gate()];
  const execute = ({ signal }: ToolContext) => {
    begun.open();
    const stopped = new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    return Promise.race([go.opened.then(() => "worked"), stopped]);
  };
  return { begun, go, tool: toolOf("works", execute) };
}

interface Scene {
  /** Issues the commands. */
  readonly runner: Runner;
  readonly store: Store;
  /** Lets the running call come to its end. */
  readonly go: () => void;
}

type Stage = (store: Store) => Promise<Scene>;

/** Brings a thread to where it runs a call, in a runner of its own. */
async function running(store: Store): Promise<Kit & { readonly go: () => void }> {
  const { begun, go, tool } = works();
  const kit = await openKit([[{ text: "so" }, { call: "works" }], "done"], { store, tools: [tool, asks] });
  kit.session.run("go");
  await begun.opened;
  return { ...kit, go: () => go.open() };
}

/** A runner that has only the store. */
async function another(store: Store): Promise<Runner> {
  const { runner } = await openKit(["one", "two", "three"], {
    store,
    threadId: "elsewhere",
    tools: [works().tool, asks],
  });
  return runner;
}

const stages: Readonly<Record<string, Stage>> = {
  "running here": async (store) => ({ ...(await running(store)), store }),
  "running elsewhere": async (store) => {
    const { go } = await running(store);
    return { runner: await another(store), store, go };
  },
  "at rest": async (store) => {
    const { session, go } = await running(store);
    await session.interrupt();
    return { runner: await another(store), store, go };
  },
  asking: async (store) => {
    const kit = await openKit([[{ call: "asks" }], "done"], { store, tools: [asks] });
    await kit.session.run("go").result;
    return { runner: await another(store), store, go: () => {} };
  },
  crashed: async (store) => {
    const dying = faultyStore(store);
    const kit = await openKit([[{ text: "so" }, { stall: true }]], { store: dying, leaseTtlMs: 40 });
    await listen(kit.session.run("go")).until(({ type }) => type === "text-delta");
    dying.kill();
    await until(async () => (await store.load(key))?.row.lease === undefined);
    return { runner: await another(store), store, go: () => {} };
  },
  completed: async (store) => {
    const kit = await openKit(["done"], { store });
    await kit.session.run("go").result;
    return { runner: await another(store), store, go: () => {} };
  },
  terminated: async (store) => {
    const kit = await openKit(["done"], { store });
    await kit.session.run("go").result;
    await kit.session.terminate();
    return { runner: await another(store), store, go: () => {} };
  },
  unknown: async (store) => ({ runner: await another(store), store, go: () => {} }),
};

type Verb = (scene: Scene) => Promise<string>;

const verbs: Readonly<Record<string, Verb>> = {
  interrupt: async ({ runner }) => ((await runner.interrupt("thread")).accepted ? "accepted" : "nothing"),
  pause: async ({ runner, go, store }) => {
    const owner = (await store.load(key))?.row.lease?.owner;
    const pausing = runner.pause("thread");
    // The owner gets it as a row.
    if (owner !== undefined && owner !== runner.owner)
      await until(async () => (await store.load(key))?.commands.length === 1);
    go();
    return (await pausing).accepted ? "accepted" : "nothing";
  },
  terminate: async ({ runner, store }) => {
    await runner.terminate("thread");
    return (await store.load(key))!.row.state;
  },
  steer: async ({ runner }) => ((await runner.steer("thread", "x")).id ? "id" : "none"),
  enqueue: async ({ runner }) => ((await runner.enqueue("thread", "x")).id ? "id" : "none"),
  observe: async ({ runner }) => ((await runner.observe("thread", "x")).id ? "id" : "none"),
};

const table: Readonly<Record<keyof typeof verbs, Readonly<Record<keyof typeof stages, string>>>> = {
  interrupt: {
    "running here": "accepted",
    "running elsewhere": "accepted",
    "at rest": "nothing",
    asking: "accepted",
    crashed: "nothing",
    completed: "nothing",
    terminated: "nothing",
    unknown: "THREAD_UNKNOWN",
  },
  pause: {
    "running here": "accepted",
    "running elsewhere": "accepted",
    "at rest": "nothing",
    asking: "nothing",
    crashed: "nothing",
    completed: "nothing",
    terminated: "nothing",
    unknown: "THREAD_UNKNOWN",
  },
  terminate: {
    "running here": "terminated",
    "running elsewhere": "terminated",
    "at rest": "terminated",
    asking: "terminated",
    crashed: "terminated",
    completed: "terminated",
    terminated: "INVALID_STATE_TRANSITION",
    unknown: "THREAD_UNKNOWN",
  },
  steer: sends(),
  enqueue: sends(),
  observe: sends(),
};

function sends() {
  const states = ["running here", "running elsewhere", "at rest", "asking", "crashed", "completed", "unknown"];
  return { ...Object.fromEntries(states.map((state) => [state, "id"])), terminated: "INVALID_STATE" };
}

describe.each(eachStore)("verbs by thread id, on $name", ({ make }) => {
  const cases = Object.keys(verbs).flatMap((verb) => Object.keys(stages).map((stage) => ({ verb, stage })));

  it.each(cases)("V1: $verb of a thread that is $stage", async ({ verb, stage }) => {
    const scene = await stages[stage]!(await make());
    const outcome = await verbs[verb]!(scene).catch((error: { code?: string }) => error.code ?? String(error));
    expect(outcome).toBe(table[verb]![stage]);
    scene.go();
    await scene.runner.close();
  });
});

describe.each(eachStore)("a session whose thread another process runs, on $name", ({ make }) => {
  /** A session that was opened while the thread rested, and has heard of nothing since. */
  async function stale() {
    const store = await make();
    const before = await openKit(["before"], { store });
    await before.session.run("before").result;
    await before.runner.close();
    const { session } = await openKit([], { store });
    const owner = await running(store);
    return { store, session, owner };
  }

  it("V1, S1: interrupt() stops it there", async () => {
    const { session, owner } = await stale();
    expect(await session.interrupt({ by: "ann" })).toMatchObject({ accepted: true, stopped: ["call_1"] });
    expect(owner.session).toMatchObject({ state: "paused", pauseType: "user_interrupt", interrupts: [{ by: "ann" }] });
  });

  it("V1: pause() parks it there, and the call that runs comes to its end", async () => {
    const { session, owner, store } = await stale();
    const pausing = session.pause();
    await until(async () => (await store.load(key))?.commands.length === 1);
    owner.go();
    expect(await pausing).toMatchObject({ accepted: true, stopped: [], finished: ["call_1"] });
    expect(owner.session).toMatchObject({ state: "paused", pauseType: "manual" });
    expect((await store.load(key))?.commands).toEqual([]);
  });

  it("V1: terminate() ends it there, and resolves when that is on record", async () => {
    const { session, owner, store } = await stale();
    await session.terminate();
    expect((await factsOf(store)).at(-1)).toMatchObject({ type: "state", state: "terminated" });
    expect([session.state, owner.session.state]).toEqual(["terminated", "terminated"]);
    expect((await store.load(key))?.commands).toEqual([]);
  });

  it("S2: a stop that names another segment than the one that runs there meets nothing", async () => {
    const { session, owner } = await stale();
    expect(await session.interrupt({ segment: 7 })).toMatchObject({ accepted: false });
    expect(owner.session.state).toBe("running");
    await owner.session.interrupt();
  });
});
