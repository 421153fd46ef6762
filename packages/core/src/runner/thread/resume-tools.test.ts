import { gate, history, type Kit, listen, openKit, said, unpaired } from "@belay/testkit";
import { describe, expect, it } from "vitest";
import { jsonSchema, tool } from "../../index.ts";

const anything = jsonSchema({ type: "object" });

/** Tools that count their runs: `quick` ends at once, `slow` only when its signal fires, `alone` is serial. */
function bench() {
  const ran: string[] = [];
  const slowRuns = gate();
  const quick = tool({
    name: "quick",
    description: "",
    input: anything,
    execute: (_args, ctx) => {
      ran.push(ctx.callId);
      return `${ctx.callId} done`;
    },
  });
  const slow = tool({
    name: "slow",
    description: "",
    input: anything,
    execute: (_args, ctx) =>
      new Promise((_resolve, reject) => {
        ran.push(ctx.callId);
        ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason), { once: true });
        slowRuns.open();
      }),
  });
  const alone = tool({
    name: "alone",
    description: "",
    input: anything,
    serial: true,
    execute: (_args, ctx) => {
      ran.push(ctx.callId);
      return "alone";
    },
  });
  return { ran, slowRuns: slowRuns.opened, tools: [quick, slow, alone] };
}

/** Stopped in the model's answer, when its call q is complete: q is held. */
const callThenStall = [
  { text: "Let me see" },
  { call: "quick", id: "q" },
  { call: "quick", id: "q2" },
  { stall: true },
] as const;

async function heldCalls(kit: Kit) {
  const run = kit.session.run("go");
  listen(run);
  await new Promise((resolve) => setImmediate(resolve));
  expect(await kit.session.interrupt()).toMatchObject({ accepted: true, notStarted: ["q", "q2"] });
  return run.result;
}

describe("held calls", () => {
  it("R2, S4: they run once on continue, nothing is added, and the model is called once with their results", async () => {
    const { ran, tools } = bench();
    const kit = await openKit([callThenStall, "ok"], { tools });
    await heldCalls(kit);
    expect(ran).toEqual([]);
    const heard = listen(kit.session.resume());
    expect(said(await heard.all)).toEqual([
      "state running continue",
      "turn-start 1",
      "tool-start q",
      "tool-start q2",
      "tool-end q ok",
      "tool-end q2 ok",
      "turn-end 1",
      "turn-start 2",
      "text ok",
      "message assistant: ok",
      "turn-end 2",
      "run-end completed",
      "state completed",
    ]);
    expect(ran).toEqual(["q", "q2"]);
    expect(kit.requests).toHaveLength(2);
    expect(history(kit.session.messages)).toEqual([
      "user: go",
      "assistant~user: Let me see + call q + call q2",
      "tool: q ok + q2 ok",
      "assistant: ok",
    ]);
    expect(kit.problems()).toEqual([]);
  });

  it("R1, S4: with input they read as not executed, in the append of the input, and never run", async () => {
    const { ran, tools } = bench();
    const kit = await openKit([callThenStall, "ok"], { tools });
    await heldCalls(kit);
    expect(history(kit.session.messages)).toEqual(["user: go", "assistant~user: Let me see + call q + call q2"]);
    await kit.session.resume({ input: "no" }).result;
    expect(ran).toEqual([]);
    expect(history(kit.session.messages)).toEqual([
      "user: go",
      "assistant~user: Let me see + call q + call q2",
      "tool: q not-executed + q2 not-executed",
      "user: no",
      "assistant: ok",
    ]);
    expect(history(kit.requests[1]!.messages)).toEqual([
      "user: go",
      "assistant~user: Let me see + \n[interrupted by the user] + call q + call q2",
      "tool: q not-executed + q2 not-executed",
      "user: no",
    ]);
    expect(kit.problems()).toEqual([]);
  });

  it("R3: rethink without input drops them: the model is asked again and reads that they were not executed", async () => {
    const { ran, tools } = bench();
    const kit = await openKit([callThenStall, "ok"], { tools });
    await heldCalls(kit);
    await kit.session.resume({ mode: "rethink" }).result;
    expect(ran).toEqual([]);
    expect(history(kit.session.messages).slice(1)).toEqual([
      "assistant~user: Let me see + call q + call q2",
      "tool: q not-executed + q2 not-executed",
      "assistant: ok",
    ]);
    expect(kit.problems()).toEqual([]);
  });

  it("R3: mode continue with input runs them first; the input comes after their results", async () => {
    const { ran, tools } = bench();
    const kit = await openKit([callThenStall, "ok"], { tools });
    await heldCalls(kit);
    await kit.session.resume({ mode: "continue", input: ["and", "fast"] }).result;
    expect(ran).toEqual(["q", "q2"]);
    expect(history(kit.session.messages).slice(2)).toEqual([
      "tool: q ok + q2 ok",
      "user: and",
      "user: fast",
      "assistant: ok",
    ]);
    expect(kit.problems()).toEqual([]);
  });

  it("H3: with repair drop a group of which no call started is gone, its words stay", async () => {
    const { ran, tools } = bench();
    const kit = await openKit([callThenStall, "ok"], { tools, agent: { repair: "drop" } });
    await heldCalls(kit);
    await kit.session.resume({ input: "no" }).result;
    expect(ran).toEqual([]);
    expect(history(kit.session.messages)).toEqual([
      "user: go",
      "assistant~user: Let me see",
      "user: no",
      "assistant: ok",
    ]);
    expect(kit.problems()).toEqual([]);
  });

  it("H3: with repair drop a message of calls only is gone altogether, and its ids are not used again", async () => {
    const { ran, tools } = bench();
    const calls = [{ call: "quick", id: "q" }, { call: "quick", id: "q2" }, { stall: true }] as const;
    const kit = await openKit([calls, [{ call: "quick", id: "q" }], "ok"], { tools, agent: { repair: "drop" } });
    await heldCalls(kit);
    await kit.session.resume({ input: "no" }).result;
    expect(history(kit.session.messages.slice(0, 2))).toEqual(["user: go", "user: no"]);
    expect(ran).toHaveLength(1);
    expect(ran[0]).not.toBe("q");
    expect(kit.problems()).toEqual([]);
  });

  it("H3: with repair drop and rethink without input the model is asked the same again", async () => {
    const { tools } = bench();
    const calls = [{ call: "quick", id: "q" }, { call: "quick", id: "q2" }, { stall: true }] as const;
    const kit = await openKit([calls, "ok"], { tools, agent: { repair: "drop" } });
    await heldCalls(kit);
    await kit.session.resume({ mode: "rethink" }).result;
    expect(kit.requests[1]!.messages).toEqual(kit.requests[0]!.messages);
    expect(history(kit.session.messages)).toEqual(["user: go", "assistant: ok"]);
  });

  it("F4: they run in another process, once", async () => {
    const { tools } = bench();
    const first = await openKit([callThenStall], { tools });
    await heldCalls(first);
    const other = bench();
    const second = await openKit(["ok"], { tools: other.tools, store: first.store });
    await second.session.resume().result;
    expect(other.ran).toEqual(["q", "q2"]);
    expect(second.problems()).toEqual([]);
  });
});

describe("stopped calls", () => {
  const turn = [
    { call: "quick", id: "a" },
    { call: "slow", id: "b" },
    { call: "alone", id: "c" },
  ] as const;

  async function stopInTools(kit: Kit, slowRuns: Promise<void>) {
    const run = kit.session.run("go");
    listen(run);
    await slowRuns;
    const receipt = await kit.session.interrupt();
    expect(receipt).toMatchObject({ finished: ["a"], stopped: ["b"], notStarted: ["c"], late: [] });
    return run.result;
  }

  it("R2, X2: on continue ended calls keep their results, stopped ones stay interrupted, held ones run", async () => {
    const { ran, slowRuns, tools } = bench();
    const kit = await openKit([turn, "ok"], { tools });
    await stopInTools(kit, slowRuns);
    expect(history(kit.session.messages)).toEqual([
      "user: go",
      "assistant: call a + call b + call c",
      "tool: a ok + b interrupted",
    ]);
    const heard = listen(kit.session.resume());
    await heard.all;
    expect(unpaired(heard.events)).toEqual([]);
    expect(ran).toEqual(["a", "b", "c"]);
    expect(history(kit.session.messages).slice(1)).toEqual([
      "assistant: call a + call b + call c",
      "tool: a ok + b interrupted + c ok",
      "assistant: ok",
    ]);
    expect(kit.requests).toHaveLength(2);
    expect(kit.problems()).toEqual([]);
  });

  it("R1, D21, Y9: with input completed results stay, after the question and before the new message", async () => {
    const { ran, slowRuns, tools } = bench();
    const kit = await openKit([turn, "ok"], { tools });
    await stopInTools(kit, slowRuns);
    await kit.session.resume({ input: "enough" }).result;
    expect(ran).toEqual(["a", "b"]);
    expect(history(kit.session.messages)).toEqual([
      "user: go",
      "assistant: call a + call b + call c",
      "tool: a ok + b interrupted + c not-executed",
      "user: enough",
      "assistant: ok",
    ]);
    expect(kit.problems()).toEqual([]);
  });

  it("H3: repair drop keeps a group of which a call started", async () => {
    const { slowRuns, tools } = bench();
    const kit = await openKit([turn, "ok"], { tools, agent: { repair: "drop" } });
    await stopInTools(kit, slowRuns);
    await kit.session.resume({ input: "enough" }).result;
    expect(history(kit.session.messages)[2]).toBe("tool: a ok + b interrupted + c not-executed");
    expect(kit.problems()).toEqual([]);
  });

  it("D21: a stop when all calls have ended leaves a valid history, and the model gets the results on resume", async () => {
    const { ran, tools } = bench();
    const kit = await openKit([[{ call: "quick", id: "a" }], [{ stall: true }], "ok"], { tools });
    const run = kit.session.run("go");
    listen(run);
    while (kit.requests.length < 2) await new Promise((resolve) => setImmediate(resolve));
    await kit.session.interrupt();
    await kit.session.resume().result;
    expect(ran).toEqual(["a"]);
    expect(history(kit.session.messages)).toEqual(["user: go", "assistant: call a", "tool: a ok", "assistant: ok"]);
    expect(kit.problems()).toEqual([]);
  });
});
