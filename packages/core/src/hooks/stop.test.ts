import { eachStore, gate, history, listen, openKit, unpaired, until } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { jsonSchema, type LogEntry, tool } from "../index.ts";
import type { HookName, Hooks } from "./hooks.ts";

const work = (ran: string[] = []) =>
  tool({
    name: "work",
    description: "Works",
    input: jsonSchema<object>({ type: "object" }),
    execute: () => {
      ran.push("ran");
      return "worked";
    },
  });

const turns = [[{ text: "Let me see. " }, { call: "work", id: "c1" }], "done", "done"] as const;

/** A hook that hangs the first time, and never ends. */
function hanging(name: HookName) {
  const begun = gate();
  let times = 0;
  const hook = () => {
    times += 1;
    if (times > 1) return undefined;
    begun.open();
    return new Promise<never>(() => {});
  };
  return { hooks: { [name]: hook }, begun: begun.opened, times: () => times };
}

describe("a hook that hangs does not hold up a stop", () => {
  for (const name of ["beforeModel", "afterModel", "beforeTool", "afterTool"] as const) {
    test(`W5, S1: ${name}`, async () => {
      const ran: string[] = [];
      const { hooks, begun } = hanging(name);
      const { session, problems } = await openKit([...turns], { tools: [work(ran)], agent: { hooks } });
      const run = session.run("go");
      const events = listen(run);
      await begun;
      const receipt = await session.interrupt();
      expect(receipt.accepted).toBe(true);
      expect((await run.result).status).toBe("interrupted");
      await events.all;
      expect(unpaired(events.events)).toEqual([]);
      expect((await session.resume().result).status).toBe("completed");
      expect(ran).toEqual(["ran"]);
      expect(problems()).toEqual([]);
    });
  }

  test("W5: afterReply: the reply is whole, and stays so", async () => {
    const { hooks, begun } = hanging("afterReply");
    const { session } = await openKit([...turns], { tools: [work()], agent: { hooks } });
    const run = session.run("go");
    await begun;
    expect((await session.interrupt()).accepted).toBe(false);
    expect(await run.result).toMatchObject({ status: "completed", text: "done" });
  });

  test("W5: beforeReply: after its grace the reply has never begun, and nothing is recorded that it has not seen", async () => {
    const { hooks, begun } = hanging("beforeReply");
    const { session } = await openKit([...turns], { tools: [work()], agent: { hooks } });
    const run = session.run("secret");
    await begun;
    expect((await session.interrupt({ graceMs: 5 })).accepted).toBe(true);
    expect(await run.result).toMatchObject({ status: "failed", error: { code: "USER_INTERRUPT" } });
    expect([session.state, session.messages]).toEqual(["created", []]);
    expect((await session.run("go").result).status).toBe("completed");
  });

  test("W5, S1: a beforeReply that ends within its grace is recorded, and then stopped", async () => {
    const begun = gate();
    const go = gate();
    const { session, requests } = await openKit([...turns], {
      tools: [work()],
      agent: {
        hooks: {
          beforeReply: async () => {
            begun.open();
            await go.opened;
            return "seen";
          },
        },
      },
    });
    const run = session.run("go");
    await begun.opened;
    const receipt = session.interrupt();
    go.open();
    expect((await receipt).accepted).toBe(true);
    expect((await run.result).status).toBe("interrupted");
    expect([history(session.messages), requests.length]).toEqual([["user: seen"], 0]);
  });

  test("W5, S4: onInterrupt: the stop is recorded after its grace, without its words, and the log gets the error", async () => {
    const log: LogEntry[] = [];
    const { hooks } = hanging("onInterrupt");
    const { session } = await openKit([[{ text: "One " }, { stall: true }]], {
      agent: { hooks },
      runner: { log: (entry) => void log.push(entry) },
    });
    const run = session.run("go");
    const events = listen(run);
    await events.until(({ type }) => type === "text-delta");
    const receipt = await session.interrupt({ graceMs: 5 });
    expect(receipt).toMatchObject({ accepted: true, partialText: "One " });
    expect(history(session.messages)).toEqual(["user: go", "assistant~user: One "]);
    expect(log.map(({ error }) => error.message)).toEqual([
      "Hook onInterrupt of agent helper failed: it took longer than the stop could wait",
    ]);
  });
});

test("W5, S1: a hook that hangs again after a resume is stopped again, and every turn has its end", async () => {
  let hangs = true;
  let begun = gate();
  const ran: string[] = [];
  const { session } = await openKit([...turns], {
    tools: [work(ran)],
    agent: {
      hooks: {
        beforeTool: () => {
          begun.open();
          return hangs ? new Promise<never>(() => {}) : undefined;
        },
      },
    },
  });
  for (const next of [() => session.run("go"), () => session.resume()]) {
    begun = gate();
    const run = next();
    const events = listen(run);
    await begun.opened;
    expect((await session.interrupt()).notStarted).toEqual(["c1"]);
    await events.all;
    expect(unpaired(events.events)).toEqual([]);
  }
  hangs = false;
  await session.resume().result;
  expect(ran).toEqual(["ran"]);
});

test("W5, S6: a stop for later waits for onInterrupt no longer, either", async () => {
  const { hooks } = hanging("onInterrupt");
  const log: LogEntry[] = [];
  const { session } = await openKit([...turns], {
    tools: [work()],
    agent: { hooks },
    runner: { log: (entry) => void log.push(entry) },
  });
  const run = session.run("go");
  const receipt = await session.interrupt({ mode: "after-tools", graceMs: 5 });
  expect([receipt.accepted, (await run.result).status, log.length]).toEqual([true, "interrupted", 1]);
});

test("W5, S6: a stop after tools, or a pause, that comes while beforeModel takes its time costs no request", async () => {
  for (const how of ["after-tools", "pause"] as const) {
    const begun = gate();
    const go = gate();
    const beforeModel = async () => {
      begun.open();
      await go.opened;
    };
    const { session, requests } = await openKit(["done"], { agent: { hooks: { beforeModel } } });
    const run = session.run("go");
    const events = listen(run);
    await begun.opened;
    const stopped = how === "pause" ? session.pause() : session.interrupt({ mode: how });
    go.open();
    await stopped;
    expect([(await run.result).status, requests.length]).toEqual(["interrupted", 0]);
    await events.all;
    expect(unpaired(events.events)).toEqual([]);
    expect(await session.resume().result).toMatchObject({ status: "completed", text: "done" });
    expect(requests.length).toBe(1);
  }
});

test("W5: a hook that stops the run from inside is a stop like any other", async () => {
  for (const name of ["beforeModel", "beforeTool", "afterTool"] as const) {
    const stop = gate<() => void>();
    let once = false;
    const hooks: Hooks = {
      [name]: async () => {
        if (once) return;
        once = true;
        (await stop.opened)();
      },
    };
    const { session } = await openKit([...turns], { tools: [work()], agent: { hooks } });
    stop.open(() => void session.interrupt());
    expect((await session.run("go").result).status).toBe("interrupted");
    expect((await session.resume().result).status).toBe("completed");
  }
});

for (const { name: store, make } of eachStore) {
  test(`W5, F4 (${store}): a recorded step calls no hook again, in any process`, async () => {
    const calls: string[] = [];
    const names = ["beforeReply", "beforeModel", "beforeTool", "afterTool", "afterModel", "afterReply"] as const;
    const hooks = Object.fromEntries(names.map((name) => [name, () => void calls.push(name)])) as Hooks;
    const kept = await make();
    const script = [[{ call: "work", id: "c1" }], [{ text: "Now " }, { stall: true }]] as const;
    const first = await openKit([...script], { tools: [work()], store: kept, agent: { hooks } });
    const run = first.session.run("go");
    await listen(run).until(({ type }) => type === "text-delta");
    await first.runner.close();
    const before = ["beforeReply", "beforeModel", "afterModel", "beforeTool", "afterTool", "beforeModel", "afterModel"];
    expect(calls).toEqual(before);
    calls.length = 0;
    const second = await openKit(["then"], { tools: [work()], store: kept, agent: { hooks } });
    await second.session.resume().result;
    expect(calls).toEqual(["beforeModel", "afterModel", "afterReply"]);
  });
}

describe("a call that a stop, or its time, has left behind", () => {
  /** The late result in the thread. */
  const told = async (hooks: Hooks, value: string) => {
    const begun = gate();
    const end = gate();
    const deaf = tool({
      name: "deaf",
      description: "",
      input: jsonSchema({ type: "object" }),
      graceMs: 1,
      execute: async () => {
        begun.open();
        await end.opened;
        return value;
      },
    });
    const kit = await openKit([[{ call: "deaf", id: "d" }], "seen"], {
      tools: [deaf],
      agent: { hooks },
      runner: { log: () => {} },
    });
    const run = kit.session.run("go");
    await begun.opened;
    await kit.session.interrupt();
    await run.result;
    end.open();
    await until(async () => (await kit.session.waiting()).length > 0);
    await kit.session.resume().result;
    return kit.session.messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "result" ? [part] : [])));
  };
  const hide: Hooks = { afterTool: ({ output }) => ({ output: String(output).replace(/\d/, "…") }) };

  test("W5, S5: its late result passes through afterTool before it is recorded", async () => {
    expect(await told(hide, "secret 7")).toMatchObject([{ outcome: "ok", output: "secret …" }]);
  });

  test("W5, S5: so does its late result if the hook is slow, and if one of them fails", async () => {
    const slow: Hooks = {
      afterTool: async ({ output, signal }) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        return { output: `${output}, ${signal.aborted ? "stopped" : "not stopped"}` };
      },
    };
    expect(await told(slow, "it")).toMatchObject([{ output: "it, not stopped" }]);
    const fails: Hooks = {
      afterTool: () => {
        throw new Error("no");
      },
    };
    expect(await told(fails, "it")).toMatchObject([{ output: "it" }]);
  });
});
