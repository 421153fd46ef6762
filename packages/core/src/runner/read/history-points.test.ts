import { expect, test } from "vitest";
import { agent, createRunner, END, graph, START } from "../../index.ts";
import { scriptedModel } from "../../testing/index.ts";

const told = (points: readonly { seq: number; kind: string; text: string; path?: string }[]) =>
  points.map(({ seq, kind, text, path }) => `${seq} ${kind}${path === undefined ? "" : ` ${path}`}: ${text}`);

test("T2: the history of a graph shows the results of its nodes and its stops, each a point to fork at", async () => {
  let broken = true;
  const g = graph<{ n: number }>("g")
    .node("count", (_input: string, ctx) => {
      ctx.setState(({ n }) => ({ n: n + 1 }));
    })
    .node("chat", agent({ name: "chat", model: scriptedModel(() => "hello") }))
    .node("send", () => {
      if (broken) throw new Error("no line");
      return "sent";
    })
    .edge(START, "count")
    .edge("count", "chat")
    .edge("chat", "send")
    .edge("send", END)
    .compile({ state: { n: 0 }, interruptBefore: ["send"] });
  const runner = createRunner({ agent: g });
  const session = await runner.open("t");
  await session.run("hi").result;
  await session.resume().result;
  broken = false;
  await session.resume().result;

  const points = await runner.history("t");
  expect(told(points)).toEqual([
    "4 input: hi",
    "6 result g/count#0:count: count: completed",
    "8 input g/chat#0:chat: (nothing)",
    "9 answer g/chat#0:chat: hello",
    "12 stop: by g: before send",
    "15 result g/send#0:send: send: failed: Agent send failed: no line",
    "17 end: failed: Agent send failed: no line",
    "22 result g/send#0:send: send: completed",
    "23 answer: sent",
    "25 end: completed",
  ]);

  const at = async (seq: number) => (await runner.fork("t", { at: seq })).session;
  const counted = await at(6);
  expect([counted.state, counted.pauseType, (await counted.checkpoint())!.state]).toEqual([
    "paused",
    "manual",
    { n: 1 },
  ]);
  // As the thread stood: stopped at the node, failed, completed.
  const stopped = await at(12);
  expect([stopped.pauseType, (await stopped.checkpoint())!.beforeNodes]).toEqual(["node_interrupt", ["send"]]);
  expect(await stopped.resume({ state: { n: 5 } }).result).toMatchObject({ status: "completed", output: "sent" });
  const failed = await at(17);
  expect(failed.state).toBe("error");
  expect(await failed.resume().result).toMatchObject({ status: "completed", output: "sent" });
  expect((await at(25)).state).toBe("completed");
});

test("T2: the point of a person's stop is the thread as it was stopped", async () => {
  const chat = agent({ name: "chat", model: scriptedModel([[{ text: "Once " }, { stall: true }], "upon a time"]) });
  const runner = createRunner({ agent: chat });
  const session = await runner.open("t");
  const run = session.run("A tale, please.");
  for await (const { type } of run) if (type === "text-delta") break;
  await session.interrupt({ by: "ann", reason: "add_info" });
  const stop = (await runner.history("t")).find(({ kind }) => kind === "stop")!;
  expect(stop.text).toBe("by ann: add_info");
  const { session: fork } = await runner.fork("t", { at: stop.seq });
  expect([fork.state, fork.pauseType]).toEqual(["paused", "user_interrupt"]);
});
