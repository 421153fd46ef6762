// The faults that interruptAnywhere must catch: each of these is wrong in one way, and it has to say at which point and by which
// fault that shows. A check that lets one of them pass proves nothing.

import { describe, expect, it } from "vitest";
import { type Agent, definitionOf, published } from "../agent.ts";
import { type AgentOptions, agent } from "../chat/agent.ts";
import type { Clock } from "../clock.ts";
import { type Desk, Frame } from "../frame.ts";
import { humanApproval, humanInput } from "../interrupt/request.ts";
import { StopSignal } from "../interrupt/stop-signal.ts";
import type { Message } from "../message.ts";
import type { ThreadDesk } from "../runner/write/desk.ts";
import { jsonSchema } from "../schema/schema.ts";
import { memoryStore } from "../store/memory.ts";
import type { Append, Store } from "../store/store.ts";
import { wrapStore } from "../store/wrap-store.ts";
import type { ToolContext } from "../tool/context.ts";
import { type ToolOptions, tool } from "../tool/tool.ts";
import { interruptAnywhere } from "./interrupt-anywhere.ts";
import type { Fault, ScenarioKit } from "./scenario.ts";
import { scriptedModel } from "./scripted-model.ts";
import { speak } from "./speak.ts";

const noArgs = jsonSchema<object>({ type: "object" });
const isCall = (message: Message) => message.parts.some((part) => part.type === "call");

/** One call with an effect, and an answer. */
function worker(
  kit: ScenarioKit,
  more: {
    readonly tool?: Partial<ToolOptions<typeof noArgs, unknown>>;
    readonly agent?: Partial<AgentOptions<undefined, unknown>>;
    readonly forgets?: boolean;
  } = {},
): Agent<string, unknown> {
  const work = tool({
    onCrash: "fail",
    name: "work",
    description: "touches the world",
    input: noArgs,
    async execute(_args, ctx) {
      kit.effect(ctx.address);
      await new Promise((resolve) => setImmediate(resolve));
      return "worked";
    },
    ...more.tool,
  });
  const model = scriptedModel((request) => {
    if (!request.messages.some(isCall)) return [{ call: "work" }];
    return more.forgets ? [{ text: ["It ", "is ", "done."] }] : speak("It is done.")(request);
  });
  return agent({ name: "worker", model, tools: [work], graceMs: 5, ...more.agent });
}

/** One call that asks between two steps, or runs the given code. */
function asker(
  kit: ScenarioKit,
  execute = async (ctx: ToolContext): Promise<unknown> => {
    const step = (key: string) => ctx.step(key, () => kit.effect(`${ctx.address}/s:${key}`));
    await step("one");
    await ctx.ask(humanInput("Go on?"));
    return step("two");
  },
): Agent<string, unknown> {
  return worker(kit, { tool: { execute: (_args, ctx) => execute(ctx) } });
}

/** One call that needs approval, for an hour. */
function gated(kit: ScenarioKit): Agent<string, unknown> {
  const needsApproval = () => humanApproval("May I?", { expiresAt: kit.now() + 3_600_000 });
  return worker(kit, { tool: { needsApproval } });
}

/** The thing, with some of it replaced. */
function changed<T extends object>(thing: T, changes: Partial<T>): T {
  return new Proxy(thing, {
    get: (target, name) => {
      const value: unknown = name in changes ? Reflect.get(changes, name) : Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** Runs the agent on a kernel with replaced parts. */
function onDesk(good: Agent<string, unknown>, change: (desk: Desk) => Partial<Desk>): Agent<string, unknown> {
  const definition = definitionOf(good);
  const run = (frame: Frame) => {
    const { place, scope, signal, clock, deps, desk, beginning } = frame;
    return definition.run(new Frame(place, scope, signal, clock, deps, changed(desk, change(desk)), beginning));
  };
  return published({ ...definition, run }) as Agent<string, unknown>;
}

/** The agent, with another signal. */
function onSignal(good: Agent<string, unknown>, make: (signal: StopSignal) => StopSignal): Agent<string, unknown> {
  const definition = definitionOf(good);
  const run = (frame: Frame) => {
    const { place, scope, signal, clock, deps, desk, beginning } = frame;
    return definition.run(new Frame(place, scope, make(signal), clock, deps, desk, beginning));
  };
  return published({ ...definition, run }) as Agent<string, unknown>;
}

/** True once another process has answered. */
const answeredElsewhere = (desk: Desk) =>
  [...((desk as ThreadDesk).state.requests?.values() ?? [])].some(({ decision }) => decision?.by === "another");

/** Fails unless the attack fails, naming the fault and the point. */
async function caught(scenario: Parameters<typeof interruptAnywhere>[0], fault: Fault, problem: string): Promise<void> {
  const attack = interruptAnywhere({ anyEnd: true, ...scenario, faults: [fault] });
  const words = await attack.then(
    () => "nothing was found",
    (error: Error) => error.message,
  );
  expect(words).toMatch(new RegExp(`${fault} at point \\d+ \\(\\w+:\\w+\\): .*${problem}`));
}

const broken = (change: (store: Store) => Partial<Store>) => (clock: Clock) => {
  const store = memoryStore({ clock });
  return wrapStore(store, change(store));
};

const input = "Do it.";

describe("interruptAnywhere catches", () => {
  it("no problem in a correct run", async () => {
    await interruptAnywhere({ agent: worker, input, anyEnd: true });
  });

  it("a store that takes an append from every sender", async () => {
    const anyone = broken((inner) => ({
      async append(key, append) {
        const first = await inner.append(key, append);
        if (first.ok || "take" in append.writer) return first;
        const { row } = (await inner.load(key))!;
        const taken = { ...append, appendId: `${append.appendId}!`, expect: row.head };
        return inner.append(key, { ...taken, writer: { take: "anyone", ttlMs: 1 } });
      },
    }));
    await caught({ agent: worker, input, store: anyone }, "freeze", "a process that was taken over from wrote facts");
  });

  it("a store that does not know an append which it has already", async () => {
    let n = 0;
    const store = broken((inner) => ({
      async append(key, append: Append) {
        const head = (await inner.load(key))?.row.head ?? 0;
        n += 1;
        return inner.append(key, { ...append, appendId: `${n}`, expect: head });
      },
    }));
    await caught({ agent: worker, input, store }, "lost-answer", "message .* comes again");
  });

  it("a tool that is tried again blindly although it must not be", async () => {
    const blind = (kit: ScenarioKit) => worker(kit, { tool: { onCrash: "retry" } });
    await caught({ agent: blind, input }, "crash", "happened twice");
  });

  it("a store that forgets a sent command", async () => {
    const store = broken((inner) => ({
      async append(key, append) {
        const appended = await inner.append(key, append);
        for (const { key: sent } of (await inner.load(key))?.commands ?? []) await inner.withdraw(key, sent);
        return appended;
      },
    }));
    await caught({ agent: worker, input, store }, "steer", "is gone");
  });

  it("an agent that loses a stop", async () => {
    const deaf = (kit: ScenarioKit) => onSignal(worker(kit), () => new StopSignal());
    await caught({ agent: deaf, input }, "stop", "after the stop");
  });

  it("a kernel that looks at a stop twice, the first look taking it", async () => {
    const forgetful = (kit: ScenarioKit) =>
      onSignal(worker(kit), (signal) => {
        let seen = false;
        const look = () => {
          if (seen || signal.stop === undefined) return undefined;
          seen = true;
          return signal.stop;
        };
        return changed(signal, {
          halts: (boundary) => look() !== undefined || (signal.stop === undefined && signal.halts(boundary)),
          get stop() {
            return look();
          },
        });
      });
    await caught({ agent: forgetful, input }, "stop", "was made after the stop");
  });

  it("a store that forgets a stop once it has been read", async () => {
    const store = broken((inner) => {
      const seen = new Set<string>();
      return {
        async load(key, after) {
          const loaded = await inner.load(key, after);
          return loaded && { ...loaded, commands: loaded.commands.filter(({ key: sent }) => !seen.has(sent)) };
        },
        watch: (key, changed, only) =>
          inner.watch(
            key,
            async (what) => {
              for (const { key: sent, kind } of (await inner.load(key))?.commands ?? []) {
                if (kind === "stop") seen.add(sent);
              }
              changed(what);
            },
            only,
          ),
      };
    });
    await caught({ agent: worker, input, store }, "stop-elsewhere", "was made after the stop from elsewhere");
  });

  it("a store that swallows stops", async () => {
    const store = broken((inner) => ({
      send: async (key, command) => (command.kind === "stop" ? true : inner.send(key, command)),
    }));
    await caught({ agent: worker, input, store }, "stop-elsewhere", "was made after the stop from elsewhere");
  });

  it("a kernel without stops for later", async () => {
    const hasty = (kit: ScenarioKit) =>
      onSignal(worker(kit), (signal) => {
        const halts = () => signal.stop !== undefined;
        return changed(signal, { halts });
      });
    await caught({ agent: hasty, input }, "stop-after-model", "started after the stop after-model");
    await caught({ agent: hasty, input }, "stop-after-tools", "was made after the stop after-tools");
  });

  it("a kernel that keeps no text of a stopped answer", async () => {
    const dropping = (kit: ScenarioKit): Agent<string, unknown> => {
      const good = definitionOf(worker(kit));
      const run = async (frame: Frame) => {
        const ended = await good.run(frame);
        if (ended.how !== "stopped") return ended;
        const facts = ended.facts.filter((fact) => fact.type !== "message" || fact.message.interrupted === undefined);
        return { ...ended, facts, partialText: "", attempt: 2 };
      };
      return published({ ...good, run }) as Agent<string, unknown>;
    };
    await caught({ agent: dropping, input }, "stop", "was shown of .*, and is superseded though nothing was lost");
    await caught({ agent: dropping, input }, "close", "was shown of .*, and is superseded though nothing was lost");
  });

  it("a context that leaves out a result once an answer was cut", async () => {
    const context = (all: readonly Message[]) =>
      all.some((message) => message.interrupted) ? all.filter(({ role }) => role !== "tool") : all;
    const dropping = (kit: ScenarioKit) => worker(kit, { agent: { context } });
    await caught({ agent: dropping, input, anyEnd: false }, "stop", "it ended failed");
  });

  it("a model that begins again if it is asked to continue", async () => {
    const forgetful = (kit: ScenarioKit) => worker(kit, { forgets: true });
    await caught({ agent: forgetful, input, anyEnd: false }, "stop", "its output is");
  });

  it("a store that keeps all concurrent writes, also two answers to one request", async () => {
    const anyone = broken((inner) => ({
      async append(key, append) {
        const first = await inner.append(key, append);
        if (first.ok || !("take" in append.writer)) return first;
        const { row } = (await inner.load(key))!;
        if (row.lease !== undefined) await inner.release(key, row.lease.fence);
        return inner.append(key, { ...append, appendId: `${append.appendId}!`, expect: row.head });
      },
    }));
    await caught({ agent: asker, input, store: anyone }, "answer-twice", "is decided twice");
  });

  it("a step that is computed again when its code is", async () => {
    const again = (kit: ScenarioKit) =>
      asker(kit, async (ctx) => {
        const at = `${ctx.address}/s:one`;
        const computed = kit.effect(at);
        await ctx.step("one", () => computed);
        return ctx.ask(humanInput("Go on?"));
      });
    await caught({ agent: again, input }, "close", "happened when its step was recorded");
  });

  it("code that continues past an unanswered question", async () => {
    const impatient = (kit: ScenarioKit) =>
      asker(kit, async (ctx) => {
        const aborted = new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
        await Promise.race([ctx.ask(humanInput("Go on?")), aborted]);
        kit.effect(`${ctx.address}/after`, { after: "ask#0" });
        return "went on";
      });
    await caught({ agent: impatient, input }, "stop-waiting", "which was withdrawn");
    await caught({ agent: impatient, input }, "close", "which was open|happened twice");
  });

  it("a kernel that starts a call with other arguments than were approved", async () => {
    const swapped = (kit: ScenarioKit) =>
      onDesk(gated(kit), (desk) => ({
        record(recording) {
          const facts = () =>
            recording
              .facts()
              .map((fact) =>
                fact.type === "tool-start" && answeredElsewhere(desk) ? { ...fact, ranArgs: { n: 9 } } : fact,
              );
          desk.record({ facts, recorded: () => recording.recorded() });
        },
      }));
    await caught({ agent: swapped, input }, "answer", "starts with .*, approved was");
  });

  it("a kernel that takes silence for consent", async () => {
    const hasty = (kit: ScenarioKit) =>
      onDesk(gated(kit), (desk) => ({
        request(id) {
          const request = desk.request(id);
          if (request?.decision?.how !== "expired") return request;
          return { ...request, decision: { ...request.decision, counts: "approve" } };
        },
      }));
    await caught({ agent: hasty, input }, "expire", "starts, and its request is expire");
  });

  it("a kernel that runs a call after it was withdrawn", async () => {
    const stubborn = (kit: ScenarioKit): Agent<string, unknown> => {
      const good = definitionOf(gated(kit));
      const run = (frame: Frame) => {
        const results = frame.scope.messages.flatMap(({ parts }) => parts.filter((part) => part.type === "result"));
        if (results.some(({ outcome }) => outcome === "not-executed")) kit.effect("worker/t1/c0");
        return good.run(frame);
      };
      return published({ ...good, run }) as Agent<string, unknown>;
    };
    for (const fault of ["stop-waiting", "new-input"] as const) {
      await caught({ agent: stubborn, input }, fault, "its request is withdraw");
    }
  });
});
