import {
  eachStore,
  echo,
  enter,
  factsOf,
  gated,
  type Log,
  lastWords,
  listen,
  newLog,
  toolOf,
  until,
  worker,
  wrong,
} from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { agent, approve, jsonSchema, type ModelRequest, type Tool, tool } from "../index.ts";
import { promptProblems, type ScriptedPart, scriptedModel } from "../testing/index.ts";
import { agentTool } from "./agent-tool.ts";
import { sequential } from "./sequential.ts";

const done = (output: unknown) => ({ status: "completed", output });
const handOver = (to: string, id: string): ScriptedPart => ({
  call: "transfer_to_agent",
  id,
  args: { agent_name: to },
});

function member(
  log: Log,
  name: string,
  speak: (request: ModelRequest) => string | readonly ScriptedPart[],
  more: { readonly tools?: readonly Tool<unknown>[]; readonly subAgents?: readonly ReturnType<typeof member>[] } = {},
): ReturnType<typeof agent<undefined, unknown>> {
  const model = scriptedModel((request) => {
    const system = request.messages.find(({ role }) => role === "system");
    const words = system?.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
    log.calls.push(`${name} (${words}; ${request.tools.map((tool) => tool.name).join(" ")})`);
    log.problems.push(...promptProblems(request.messages));
    return speak(request);
  });
  return agent({ name, model, instructions: `you are ${name}`, ...more });
}

/** root hands over to sub, which pays and hands back. */
const family = (log: Log) => {
  const sub = member(
    log,
    "sub",
    (request) => (lastWords(request).includes("pay done") ? [handOver("root", "back")] : [{ call: "pay", id: "p" }]),
    { tools: [gated(log, "pay")] },
  );
  return member(
    log,
    "root",
    (request) => (lastWords(request).includes("root goes on") ? "all done" : [handOver("sub", "over")]),
    { subAgents: [sub] },
  );
};

describe.each(eachStore)("handing over, on $name", ({ make }) => {
  test("W1, W4: the same history with other instructions and tools, there and back; an approval after it, also in another process", async () => {
    for (const how of ["hot", "cold", "answered cold"]) {
      const store = await make();
      const log = newLog();
      let session = await enter(family(log), store);
      expect(await session.run("hi").result).toMatchObject({ interruptType: "tool_interrupt" });
      expect(session.interrupts[0]).toMatchObject({ by: "sub", tool: "pay", address: "root/t2/c0/approval" });
      if (how !== "hot") {
        await session.close();
        session = await enter(family(log), store);
      }
      const { id } = session.interrupts[0]!;
      if (how === "answered cold") {
        await session.answer(id, approve());
        await until(() => log.did.length === 1);
        await session.close();
        session = await enter(family(log), store);
      }
      const run = session.resume(how === "answered cold" ? {} : { answers: { [id]: approve() } });
      expect(await run.result).toMatchObject(done("all done"));
      expect(log.did).toEqual(["pay"]);
      expect(log.calls).toEqual([
        "root (you are root; transfer_to_agent)",
        "sub (you are sub; pay transfer_to_agent)",
        "sub (you are sub; pay transfer_to_agent)",
        "root (you are root; transfer_to_agent)",
      ]);
      const said = (await factsOf(store)).flatMap((fact) =>
        fact.type === "message" && fact.message.role === "assistant" ? [`${fact.agentName} in ${fact.runPath}`] : [],
      );
      expect(said).toEqual(["root in root", "sub in root", "sub in root", "root in root"]);
      expect(await wrong(store, log)).toEqual([]);
    }
  });

  test("W1: events carry the name of the agent that has the word", async () => {
    const log = newLog();
    const sub = member(log, "sub", () => "I am sub");
    const root = member(log, "root", () => [handOver("sub", "over")], { subAgents: [sub] });
    const session = await enter(root, await make());
    const events = await listen(session.run("hi")).all;
    const told = events.flatMap((event) =>
      ["turn-start", "text-delta", "turn-end", "tool-end"].includes(event.type)
        ? [`${event.type} ${event.agentName}`]
        : [],
    );
    expect(told).toEqual([
      "turn-start root",
      "tool-end root",
      "turn-end root",
      "turn-start sub",
      "text-delta sub",
      "turn-end sub",
    ]);
  });

  test("W1: calls made beside a hand-over stay with the agent that made them", async () => {
    for (const cold of [false, true]) {
      const store = await make();
      const log = newLog();
      const make1 = () => {
        const sub = member(log, "sub", () => "sub ends");
        return member(log, "root", () => [handOver("sub", "over"), { call: "pay", id: "p" }], {
          subAgents: [sub],
          tools: [gated(log, "pay")],
        });
      };
      let session = await enter(make1(), store);
      await session.run("hi").result;
      if (cold) {
        await session.close();
        session = await enter(make1(), store);
      }
      const { id } = session.interrupts[0]!;
      expect(await session.resume({ answers: { [id]: approve() } }).result).toMatchObject(done("sub ends"));
      expect(log.did).toEqual(["pay"]);
      expect(await wrong(store, log)).toEqual([]);
    }
  });

  test("Q4, W4: the request of an agent that is a tool of the active member is judged by its own tool, in another process, too", async () => {
    const store = await make();
    const log = newLog();
    const root = () => {
      const note = tool({
        name: "note",
        description: "",
        input: jsonSchema<{ n: number }>({ type: "object", properties: { n: { type: "number" } }, required: ["n"] }),
        needsApproval: true,
        execute: ({ n }) => `noted ${n} ${log.did.push(`note ${n}`) > 0}`,
      });
      const inner = worker(log, "inner", note, "n", { n: 1 });
      const sub = member(
        log,
        "sub",
        (request) =>
          lastWords(request).includes("noted") ? "sub ends" : [{ call: "inner", id: "i", args: { request: "go" } }],
        { tools: [agentTool(inner)] },
      );
      return member(log, "root", () => [handOver("sub", "over")], { subAgents: [sub] });
    };
    const first = await enter(root(), store);
    await first.run("hi").result;
    const [request] = first.interrupts;
    expect(request).toMatchObject({ by: "inner", address: "root/t2/c0/inner/t1/c0/approval" });
    await first.close();
    const second = await enter(root(), store);
    const edited = (n: unknown) => second.answer(request!.id, approve({ args: { n } as never }));
    await expect(edited("many")).rejects.toMatchObject({ code: "ANSWER_INVALID" });
    await edited(2);
    expect(await second.resume().result).toMatchObject(done("sub ends"));
    expect(log.did).toEqual(["note 2"]);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("S3: a stop while the other one speaks: the other one continues", async () => {
    const store = await make();
    const log = newLog();
    let hung = false;
    const make1 = () => {
      const sub = member(log, "sub", () => {
        if (hung) return "two";
        hung = true;
        return [{ text: "one " }, { stall: true }];
      });
      return member(log, "root", () => [handOver("sub", "over")], { subAgents: [sub] });
    };
    const session = await enter(make1(), store);
    const run = session.run("hi");
    await listen(run).until((event) => event.type === "text-delta");
    expect(await session.interrupt()).toMatchObject({ partialText: "one " });
    await session.close();
    const other = await enter(make1(), store);
    expect(await other.resume().result).toMatchObject(done("one two"));
    expect(log.calls.at(-1)).toBe("sub (you are sub; transfer_to_agent)");
    expect(await wrong(store, log)).toEqual([]);
  });

  test("W3: an unknown name is an error that the model reads; from a tool's code it fails the run, and resume() meets it again", async () => {
    const log = newLog();
    const sub = member(log, "sub", () => "sub");
    let n = 0;
    const root = member(log, "root", () => (n++ === 0 ? [handOver("nobody", "over")] : "went on"), {
      subAgents: [sub],
    });
    const session = await enter(root, await make());
    expect(await session.run("hi").result).toMatchObject(done("went on"));
    const lost = toolOf("lost", (ctx) => ctx.transferTo("nobody"));
    const other = await enter(
      member(log, "root", () => [{ call: "lost", id: "l" }], { tools: [lost] }),
      await make(),
    );
    expect(await other.run("hi").result).toMatchObject({ status: "failed", error: { code: "AGENT_UNKNOWN" } });
    expect(await other.resume().result).toMatchObject({ status: "failed", error: { code: "AGENT_UNKNOWN" } });
  });

  test("W3: exit of one that was handed over to ends the whole run", async () => {
    const store = await make();
    const log = newLog();
    const stop = toolOf("stop", (ctx) => ctx.exit("the end"));
    const sub = member(log, "sub", () => [{ text: "I am sub" }, { call: "stop", id: "s" }], { tools: [stop] });
    const root = member(log, "root", () => [handOver("sub", "over")], { subAgents: [sub] });
    const session = await enter(sequential({ name: "seq", agents: [root, echo(log, "never")] }), store);
    expect(await session.run("hi").result).toMatchObject(done("the end"));
    expect(log.calls).toHaveLength(2);
    expect(await wrong(store, log)).toEqual([]);
  });

  test("F7: a second run begins with the root again, with the whole history", async () => {
    const store = await make();
    const log = newLog();
    const sub = () => member(log, "sub", ({ messages }) => `sub ${messages.length}`);
    const root = () => member(log, "root", () => [handOver("sub", "over")], { subAgents: [sub()] });
    const session = await enter(root(), store);
    expect(await session.run("hi").result).toMatchObject(done("sub 4"));
    expect(await session.run("again").result).toMatchObject(done("sub 8"));
    expect(log.calls.map((call) => call.split(" ")[0])).toEqual(["root", "sub", "root", "sub"]);
    expect(await wrong(store, log)).toEqual([]);
  });
});

test("W1: a user tool with the name of the one that hands over is refused: the model would have lost it silently", () => {
  const own = toolOf("transfer_to_agent", () => "mine");
  const model = scriptedModel("hi");
  const plain = agent({ name: "plain", model });
  const taken = expect.objectContaining({ code: "TOOL_DUPLICATE" });
  expect(() => agent({ name: "root", model, tools: [own], subAgents: [plain] })).toThrow(taken);
  const sub = agent({ name: "sub", model, tools: [own] });
  expect(() => agent({ name: "root", model, subAgents: [sub] })).toThrow(taken);
  const family = agent({ name: "family", model, subAgents: [plain] });
  expect(agent({ name: "root", model, subAgents: [family] }).name).toBe("root");
});
