// Claims of the designs that Belay unites which no other test has in their own words.

import {
  echo,
  enter,
  gate,
  gated,
  heldStore,
  history,
  listen,
  newLog,
  openKit,
  settle,
  shown,
  talker,
  toolOf,
  until,
  worker,
} from "@belay/testkit";
import { describe, expect, it } from "vitest";
import {
  agent,
  approve,
  createRunner,
  customInterrupt,
  humanApproval,
  humanInput,
  jsonSchema,
  loop,
  memoryStore,
  parallel,
  respond,
  sequential,
  tool,
} from "../../index.ts";
import { scriptedModel } from "../../testing/index.ts";

const noArgs = jsonSchema<object>({ type: "object" });

describe("as in Dolphin", () => {
  it("D3: interrupt() sets the signal at once, and the state is running until the work has stopped", async () => {
    let signal: AbortSignal | undefined;
    const wait = toolOf("wait", (ctx) => {
      signal = ctx.signal;
      return new Promise((_, reject) => signal!.addEventListener("abort", () => reject(signal!.reason)));
    });
    const kit = await openKit([[{ call: "wait" }]], { tools: [wait] });
    await listen(kit.session.run("go")).until((event) => event.type === "tool-start");
    await settle();
    const receipt = kit.session.interrupt();
    expect([signal?.aborted, kit.session.state]).toEqual([true, "running"]);
    expect(await receipt).toMatchObject({ accepted: true });
    expect(kit.session.state).toBe("paused");
  });

  it("D4: an interrupt while nothing runs does nothing, and does not wait for the next run", async () => {
    const kit = await openKit(["one", "two"]);
    expect(await kit.session.interrupt()).toMatchObject({ accepted: false });
    expect(await kit.session.run("go").result).toMatchObject({ status: "completed" });
    expect(await kit.session.interrupt()).toMatchObject({ accepted: false });
    expect(await kit.session.run("again").result).toMatchObject({ status: "completed", text: "two" });
  });

  it("D8: a stop is looked at at each chunk, before each tool and before each model call, never between a tool's end and its record", async () => {
    const points: string[] = [];
    const stopAt = async (place: "chunk" | "tool" | "result") => {
      const probe = tool({
        name: "probe",
        description: "stops the run from inside, and still has a result",
        input: noArgs,
        execute: () => {
          if (place === "result") void kit.session.interrupt();
          return "found";
        },
      });
      // The waits let the reader catch up: its lag in microtasks is not part of the contract.
      const said = [{ text: "a" }, { wait: 1 }, { text: "b" }, { wait: 1 }, { call: "probe" }, { call: "probe" }];
      const kit = await openKit([said, "end"], { tools: [probe] });
      const run = kit.session.run("go");
      for await (const event of run) {
        if (place === "chunk" && event.type === "text-delta" && event.text === "a") void kit.session.interrupt();
        if (place === "tool" && event.type === "text-delta" && event.text === "b") {
          void kit.session.interrupt({ mode: "after-model" });
        }
      }
      points.push(`${place}: ${history(kit.session.messages).slice(1).join(" | ")}; ${kit.requests.length} request`);
    };
    await stopAt("chunk");
    await stopAt("tool");
    await stopAt("result");
    expect(points).toEqual([
      "chunk: assistant~user: a; 1 request",
      "tool: assistant: ab + call call_1 + call call_2; 1 request",
      "result: assistant: ab + call call_1 + call call_2 | tool: call_1 ok; 1 request",
    ]);
  });

  it("D19: text streamed before the stop is in the history as a cut answer, exactly as it was shown", async () => {
    const kit = await openKit([[{ text: ["Half ", "a", " sentence, "] }, { stall: true }]]);
    const run = kit.session.run("go");
    const heard = listen(run);
    await heard.until((event) => event.type === "text-delta" && event.offset > 5);
    await kit.session.interrupt();
    const last = kit.session.messages.at(-1);
    expect(last).toMatchObject({ role: "assistant", interrupted: { by: "user" } });
    expect(last?.parts).toEqual([{ type: "text", text: shown(await heard.all) }]);
  });

  it("D16: a handle with only the name of its pause, as older ones may have, still resumes it", async () => {
    const kit = await openKit([[{ text: "Hel" }, { stall: true }], "lo"]);
    const run = kit.session.run("go");
    await listen(run).until((event) => event.type === "text-delta");
    await kit.session.interrupt();
    const result = await run.result;
    if (result.status !== "interrupted") throw new Error(result.status);
    const { interruptType: _, restartBlock: __, ...old } = JSON.parse(JSON.stringify(result.handle));
    expect(await (await kit.runner.resume(old)).result).toMatchObject({ status: "completed", text: "Hello" });
  });

  it("D26: resumeWithInput while requests are open is INVALID_PAUSE_TYPE, and they stay open", async () => {
    const ask = toolOf("ask", (ctx) => ctx.ask(humanInput("Which?")));
    const kit = await openKit([[{ call: "ask" }], "end"], { tools: [ask] });
    await kit.session.run("go").result;
    const [open] = kit.session.interrupts;
    expect(() => kit.session.resumeWithInput("x")).toThrow(expect.objectContaining({ code: "INVALID_PAUSE_TYPE" }));
    expect(kit.session).toMatchObject({ state: "paused", pauseType: "tool_interrupt", interrupts: [{ id: open!.id }] });
    expect(await kit.session.resume({ answers: { [open!.id]: respond("x") } }).result).toMatchObject({ text: "end" });
  });

  it("D29: run(input) on a thread that was paused by pause() continues with the same run", async () => {
    const hold = gate();
    const look = toolOf("look", () => hold.opened);
    const kit = await openKit([[{ call: "look" }], "end"], { tools: [look] });
    const run = kit.session.run("go");
    await listen(run).until((event) => event.type === "tool-start");
    const parked = kit.session.pause();
    hold.open();
    await parked;
    expect(kit.session.pauseType).toBe("manual");
    const again = kit.session.run("and this");
    expect([again.runId, again.segment]).toEqual([run.runId, 2]);
    expect(await again.result).toMatchObject({ status: "completed", text: "end" });
    expect(history(kit.session.messages)).toEqual([
      "user: go",
      "assistant: call call_1",
      "tool: call_1 ok",
      "user: and this",
      "assistant: end",
    ]);
  });

  it("D32: an error while paused is thrown, and leaves the thread paused", async () => {
    const kit = await openKit(["on"]);
    const run = kit.session.run("go");
    await kit.session.interrupt();
    await run.result;
    expect(() => kit.session.resume({ input: 7 as never })).toThrow(/input/);
    expect(() => kit.session.resume({ mode: "sideways" as never })).toThrow(/mode/);
    expect([kit.session.state, kit.session.pauseType]).toEqual(["paused", "user_interrupt"]);
    expect(await kit.session.resume().result).toMatchObject({ status: "completed" });
  });
});

describe("as with ESC in a terminal", () => {
  it("Y1: each run has a signal of its own; running is true during a run only, also after one that threw", async () => {
    const signals: AbortSignal[] = [];
    const look = tool({
      name: "look",
      description: "",
      input: noArgs,
      execute: (_, ctx) => void signals.push(ctx.signal),
    });
    const bad = new Error("no such model");
    const kit = await openKit([[{ call: "look" }], [{ stall: true }], [{ throw: bad }], [{ call: "look" }], "end"], {
      tools: [look],
    });
    const first = kit.session.run("go");
    expect(kit.session.state).toBe("running");
    await new Promise((resolve) => setTimeout(resolve, 5));
    await kit.session.interrupt();
    await first.result;
    expect(kit.session.state).toBe("paused");
    expect(await kit.session.run("on").result).toMatchObject({ status: "failed" });
    expect(kit.session.state).toBe("error");
    expect(await kit.session.run("again").result).toMatchObject({ status: "completed" });
    expect(signals[0]).not.toBe(signals[1]);
    expect(signals[1]?.aborted).toBe(false);
  });

  it("Y3, Y5: a stop at each point of the loop ends the run as interrupted, after as many model calls as there were", async () => {
    const calls: Record<string, number> = {};
    const stopAt = async (place: "start" | "in model" | "after model" | "in tool" | "after tools") => {
      const wait = tool({
        name: "wait",
        description: "",
        input: noArgs,
        async execute(_, ctx) {
          if (place === "in tool") void kit.session.interrupt();
          if (place === "after tools") void kit.session.interrupt({ mode: "after-tools" });
          ctx.checkInterrupt();
          return "done";
        },
      });
      const kit = await openKit([[{ text: ["x"] }, { call: "wait" }], "end"], { tools: [wait] });
      const run = kit.session.run("go");
      if (place === "start") void kit.session.interrupt();
      for await (const event of run) {
        if (event.type !== "text-delta") continue;
        if (place === "in model") void kit.session.interrupt();
        if (place === "after model") void kit.session.interrupt({ mode: "after-model" });
      }
      expect(await run.result).toMatchObject({ status: "interrupted", interruptType: "user_interrupt" });
      calls[place] = kit.requests.length;
    };
    for (const place of ["start", "in model", "after model", "in tool", "after tools"] as const) await stopAt(place);
    expect(calls).toEqual({ start: 0, "in model": 1, "after model": 1, "in tool": 1, "after tools": 1 });
  });

  it("Y10: a stop is one event, with its reason", async () => {
    const kit = await openKit([[{ text: "some" }, { stall: true }]]);
    const heard = listen(kit.session.run("go"));
    await heard.until((event) => event.type === "text-delta");
    await Promise.all(
      [1, 2, 3].map(() => kit.session.interrupt({ reason: "pause_to_think", message: "wait a moment" })),
    );
    const told = (await heard.all).flatMap((event) => (event.type === "action" ? [event.action.interrupted] : []));
    expect(told).toMatchObject([{ kind: "user", reason: "pause_to_think", message: "wait a moment" }]);
  });
});

describe("as in eino", () => {
  it("N1: an approval, a question and a custom request carry their reason, state key, context and extra", async () => {
    const options = { stateKey: "s", context: { file: "a.txt" }, extra: [1] };
    const ask = toolOf("ask", (ctx) =>
      Promise.all([
        ctx.ask(humanApproval("May I?", options), { key: "1" }),
        ctx.ask(humanInput("Which?", options), { key: "2" }),
        ctx.ask(customInterrupt("Look at this", options), { key: "3" }),
      ]),
    );
    const kit = await openKit([[{ call: "ask" }]], { tools: [ask] });
    const result = await kit.session.run("go").result;
    expect(result).toMatchObject({
      interruptType: "tool_interrupt",
      interrupts: [
        { kind: "approval", reason: "May I?", ...options },
        { kind: "input", reason: "Which?", ...options },
        { kind: "custom", reason: "Look at this", ...options },
      ],
    });
  });

  it("N2: the event of an interrupt names the agent and its path; any event may be tested for one", async () => {
    const kit = await openKit([[{ text: "some" }, { stall: true }]]);
    const heard = listen(kit.session.run("go"));
    await heard.until((event) => event.type === "text-delta");
    await kit.session.interrupt();
    const all: readonly { action?: { interrupted?: unknown } }[] = (await heard.all) as never;
    const told = all.filter((event) => event.action?.interrupted);
    expect(told).toMatchObject([{ agentName: "helper", runPath: "helper", action: { interrupted: { kind: "user" } } }]);
    expect(told[0]!.action).not.toHaveProperty("exit");
  });

  it("N17: a loop that was interrupted continues in its iteration, at its agent, and the remaining ones run", async () => {
    const store = memoryStore();
    const log = newLog();
    const root = () =>
      loop({
        name: "loop",
        maxIterations: 2,
        agents: [echo(log, "a"), worker(log, "w", gated(log, "pay")), echo(log, "z")],
      });
    let session = await enter(root(), store);
    let result = await session.run("hi").result;
    const at: string[] = [];
    while (result.status === "interrupted" && at.length < 5) {
      at.push(
        `${result.interrupts.map(({ address }) => address)} after ${log.calls.map((call) => call.split(":")[0])}`,
      );
      await session.close();
      session = await enter(root(), store);
      result = await session.resume({ answers: { [session.interrupts[0]!.id]: approve() } }).result;
    }
    expect(at).toEqual(["loop/0.1:w/t1/c0/approval after a,w", "loop/1.1:w/t1/c0/approval after a,w,w,z,a,w"]);
    expect(result.status).toBe("completed");
    expect([log.calls.length, log.did]).toEqual([8, ["pay", "pay"]]);
  });

  it("N39: a stop between an agent and those that would begin together is resumed there, and each runs once", async () => {
    const store = memoryStore();
    const log = newLog();
    const root = () => {
      const slow = talker(log, "a", () => [{ wait: 5 }, { text: "a" }]);
      return sequential({
        name: "seq",
        agents: [slow, parallel({ name: "par", agents: [echo(log, "b"), echo(log, "c")] })],
      });
    };
    const session = await enter(root(), store);
    const run = session.run("hi");
    await until(() => log.calls.length === 1);
    expect(await session.interrupt({ mode: "after-tools" })).toMatchObject({ accepted: true });
    expect((await run.result).status).toBe("interrupted");
    expect(log.calls).toHaveLength(1);
    await session.close();
    const other = await enter(root(), store);
    expect(await other.resume().result).toMatchObject({ status: "completed", output: ["b(a)", "c(a)"] });
    expect(log.calls).toHaveLength(3);
  });

  it("N21: exit, transfer and a custom action are actions of their own, and interrupt nothing", async () => {
    const leave = toolOf("leave", (ctx) => ctx.exit("bye"));
    const wave = toolOf("wave", (ctx) => ctx.customAction({ hello: true }));
    const other = agent({ name: "other", model: scriptedModel([[{ call: "leave" }], "never"]), tools: [leave] });
    const script = [[{ call: "wave" }], [{ call: "transfer_to_agent", args: { agent_name: "other" } }], "never"];
    const desk = agent({ name: "desk", model: scriptedModel(script), tools: [wave], subAgents: [other] });
    const session = await createRunner({ agent: desk }).open();
    const run = session.run("go");
    const heard = listen(run);
    expect(await run.result).toMatchObject({ status: "completed", output: "bye" });
    expect((await heard.all).flatMap((event) => (event.type === "action" ? [event.action] : []))).toEqual([
      { customized: { hello: true } },
      { transferToAgent: { name: "other" } },
      { exit: { output: "bye" } },
    ]);
  });

  it("N32: a run that continues may ask again: another request, another handle, the same thread and run", async () => {
    const ask = toolOf("ask", async (ctx) => [await ctx.ask(humanInput("One?")), await ctx.ask(humanInput("Two?"))]);
    const kit = await openKit([[{ call: "ask" }], "end"], { tools: [ask] });
    const first = await kit.session.run("go").result;
    if (first.status !== "interrupted") throw new Error(first.status);
    const second = await kit.session.resume({ answers: { [first.interrupts[0]!.id]: respond("1") } }).result;
    if (second.status !== "interrupted") throw new Error(second.status);
    expect([second.runId, second.handle.threadId]).toEqual([first.runId, first.handle.threadId]);
    expect(second.interrupts.map(({ reason }) => reason)).toEqual(["Two?"]);
    expect(second.interrupts[0]!.id).not.toBe(first.interrupts[0]!.id);
    expect(second.handle.token).not.toBe(first.handle.token);
    const answers = { [second.interrupts[0]!.id]: respond("2") };
    expect(await kit.session.resume({ answers }).result).toMatchObject({ status: "completed" });
  });
});

describe("as in AgentScope", () => {
  it("A15: a second stop cannot cut the record of the first, and the thread is free when that is written, not before", async () => {
    const inner = memoryStore();
    const [reached, hold] = [gate(), gate()];
    const store = heldStore(inner, {
      before: (n) => {
        if (n === 2) reached.open();
        return n === 2 ? hold.opened : undefined;
      },
    });
    const kit = await openKit([[{ text: "some" }, { stall: true }]], { store });
    await listen(kit.session.run("go")).until((event) => event.type === "text-delta");
    const first = kit.session.interrupt({ reason: "enough" });
    await reached.opened;
    const second = kit.session.interrupt({ force: true });
    const meanwhile = await openKit([], { store: inner });
    expect(() => meanwhile.session.resume()).toThrow(expect.objectContaining({ code: "ALREADY_RUNNING" }));
    hold.open();
    expect(await second).toBe(await first);
    const other = await openKit([" more"], { store: inner });
    expect(other.session).toMatchObject({ pauseType: "user_interrupt", interrupts: [{ reason: "enough" }] });
    expect(await other.session.resume().result).toMatchObject({ status: "completed", text: "some more" });
  });
});
