import { history, listen, openKit, said, unpaired, until } from "@belay/testkit";
import { expect, test } from "vitest";
import { agent, createRunner, jsonSchema, type LogEntry, messageText, sequential, tool } from "../index.ts";
import { scriptedModel } from "../testing/index.ts";
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

const turns = [[{ call: "work", id: "c1" }], "done", "done again"] as const;

/** A hook that throws the first time. */
function failing(name: HookName) {
  let times = 0;
  return {
    [name]: () => {
      times += 1;
      if (times === 1) throw new Error("no");
    },
  };
}

test("A9, W5: a beforeReply that throws leaves the thread as it was", async () => {
  const { session } = await openKit([...turns], { tools: [work()], agent: { hooks: failing("beforeReply") } });
  const result = await session.run("go").result;
  expect(result).toMatchObject({ status: "failed", error: { code: "HOOK_FAILED", cause: { message: "no" } } });
  expect(result.status === "failed" && result.error.message).toBe("Hook beforeReply of agent helper failed: no");
  expect([session.state, session.messages]).toEqual(["created", []]);
  expect((await session.run("go").result).status).toBe("completed");
});

test("A9, W5: a beforeModel that throws fails the run before the model is called; resume() asks it again", async () => {
  const { session, requests } = await openKit([...turns], {
    tools: [work()],
    agent: { hooks: failing("beforeModel") },
  });
  const run = session.run("go");
  const events = listen(run);
  expect(await run.result).toMatchObject({ status: "failed", error: { code: "HOOK_FAILED" } });
  expect([session.state, requests.length]).toEqual(["error", 0]);
  await events.all;
  expect(unpaired(events.events)).toEqual([]);
  expect((await session.resume().result).status).toBe("completed");
  expect(history(session.messages)).toEqual(["user: go", "assistant: call c1", "tool: c1 ok", "assistant: done"]);
});

test("A9, W5: after a beforeTool that throws the answer is kept; its calls are held, and run once after resume()", async () => {
  const ran: string[] = [];
  const { session, requests, problems } = await openKit([...turns], {
    tools: [work(ran)],
    agent: { hooks: failing("beforeTool") },
  });
  expect(await session.run("go").result).toMatchObject({ status: "failed", error: { code: "HOOK_FAILED" } });
  expect([history(session.messages), ran]).toEqual([["user: go", "assistant: call c1"], []]);
  expect((await session.resume().result).status).toBe("completed");
  expect([ran, requests.length, problems()]).toEqual([["ran"], 2, []]);
});

for (const name of ["afterReply", "afterModel", "afterTool"] as const) {
  test(`A9, W5: ${name} that throws loses nothing: the step is recorded unchanged, and the log gets the error`, async () => {
    const log: LogEntry[] = [];
    const { session } = await openKit([...turns], {
      tools: [work()],
      agent: { hooks: failing(name) },
      runner: { log: (entry) => void log.push(entry) },
    });
    const run = session.run("go");
    const events = listen(run);
    expect((await run.result).status).toBe("completed");
    await events.all;
    expect(unpaired(events.events)).toEqual([]);
    expect(history(session.messages)).toEqual(["user: go", "assistant: call c1", "tool: c1 ok", "assistant: done"]);
    expect(log.map(({ error, threadId, runPath }) => [error.code, error.message, threadId, runPath])).toEqual([
      ["HOOK_FAILED", `Hook ${name} of agent helper failed: no`, "thread", "helper"],
    ]);
  });
}

test("W5: an unusable value of a hook is a failure of the hook, also a prompt that no provider takes (H1)", async () => {
  const tried = await Promise.all(
    [
      { beforeModel: () => ({ messages: [] }) },
      { beforeModel: () => ({ messages: [{ id: "x", role: "tool", parts: [], at: 0, origin: "hook" }] }) },
      { beforeTool: () => ({ arguments: {} }) },
      { beforeTool: () => ({ args: "text" }) },
      { beforeReply: () => ({ messages: [] }) },
    ].map(async (hooks) => {
      const { session } = await openKit([...turns], { tools: [work()], agent: { hooks: hooks as never } });
      const result = await session.run("go").result;
      return result.status === "failed" ? result.error.code : result.status;
    }),
  );
  expect(tried).toEqual(tried.map(() => "HOOK_FAILED"));
});

test("W5: a child with a beforeReply that throws fails on record, and its hooks are called again with the next try", async () => {
  const seen: string[] = [];
  let times = 0;
  const child = agent({
    name: "child",
    model: scriptedModel((request) => request.messages.map(messageText).join("|")),
    hooks: {
      beforeReply: ({ input }) => {
        times += 1;
        if (times === 1) throw new Error("no");
        seen.push(JSON.stringify(input));
        return "changed";
      },
    },
  });
  const runner = createRunner({ agent: sequential({ name: "all", agents: [child] }) });
  const session = await runner.open("t");
  expect(await session.run("go").result).toMatchObject({ status: "failed", error: { code: "HOOK_FAILED" } });
  expect(await session.resume().result).toMatchObject({ status: "completed", output: "changed" });
  expect(seen.length).toBe(1);
  const read = listen(session.events());
  await read.until(({ type, ...event }) => type === "state" && "state" in event && event.state === "completed");
  const facts = read.events.filter(({ runPath, type }) => runPath.includes("/") && type.startsWith("run-"));
  expect(said(facts)).toEqual(["run-start", "run-end failed HOOK_FAILED", "run-start", "run-end completed"]);
});

test.each([
  [{ value: "  " }, "it left nothing of the input"],
  ["x".repeat(2000), "The input takes 2039 bytes; at most 1000 are taken."],
  [
    { messages: [{ parts: [{ type: "file", mediaType: "image/png" }] }] },
    "it gave a file that needs a mediaType and data: base64 or url",
  ],
])("W5: a beforeReply that returns an impossible input leaves the thread as it was (%#)", async (given, reason) => {
  const hooks = { beforeReply: () => given as never };
  const { session, requests } = await openKit(["done"], { agent: { hooks }, runner: { maxBytes: 1000 } });
  const result = await session.run("go").result;
  expect(result).toMatchObject({ status: "failed", error: { code: "HOOK_FAILED", details: { reason } } });
  expect([session.state, session.messages, requests.length]).toEqual(["created", [], 0]);
});

test.each([
  [{ tools: "none" }, 'its tools are "none"'],
  [{ messages: [{}] }, "message 0 is {}, which has no parts"],
  [{ messages: [null] }, "message 0 is null, which has no parts"],
])("W5: a beforeModel that returns an invalid request fails with the fault in words (%#)", async (given, reason) => {
  const { session, requests } = await openKit(["done"], { agent: { hooks: { beforeModel: () => given as never } } });
  const result = await session.run("go").result;
  expect(result).toMatchObject({ status: "failed", error: { code: "HOOK_FAILED", details: { reason } } });
  expect(requests).toEqual([]);
});

test("W5: a rejection of a hook without a reason is not the rejection of a person", async () => {
  const hooks = { beforeTool: () => ({ reject: "" }) };
  const { session, requests } = await openKit([...turns], { tools: [work()], agent: { hooks } });
  await session.run("go").result;
  expect(requests.at(-1)!.messages.at(-1)!.parts).toMatchObject([{ output: "Not executed: the program rejected it." }]);
});

test("W5: what onInterrupt says takes no more than an input may", async () => {
  const logged: LogEntry[] = [];
  const { session } = await openKit([[{ text: "well " }, { stall: true }]], {
    agent: { hooks: { onInterrupt: () => "x".repeat(2000) } },
    runner: { maxBytes: 1000, log: (entry) => void logged.push(entry) },
  });
  const run = session.run("go");
  for await (const event of run) if (event.type === "text-delta") break;
  expect(await session.interrupt()).toMatchObject({ accepted: true });
  expect(history(session.messages)).toEqual(["user: go", "assistant~user: well "]);
  expect(logged.map(({ error }) => error.message)).toEqual([
    "Hook onInterrupt of agent helper failed: What it says takes 2027 bytes; at most 1000 are taken.",
  ]);
});

test("W5: arguments of a hook that do not fit the tool fail the hook, and the model does not read them", async () => {
  const pay = tool({
    name: "work",
    description: "Works",
    input: jsonSchema<{ n: number }>({ type: "object", properties: { n: { type: "number" } } }),
    execute: () => "worked",
  });
  const hooks = { beforeTool: () => ({ args: { n: "five" } }) };
  const { session } = await openKit([...turns], { tools: [pay], agent: { hooks } });
  const reason = 'The arguments do not fit the tool\'s schema: n: expected number, got string "five".';
  expect(await session.run("go").result).toMatchObject({ error: { code: "HOOK_FAILED", details: { reason } } });
});

test("W5: a waiting input that a beforeReply refuses keeps waiting, and the log gets the error; after its withdrawal the next one runs", async () => {
  const logged: LogEntry[] = [];
  const hooks: Hooks = {
    beforeReply: ({ input }) => {
      if (JSON.stringify(input).includes("bad")) throw new Error("no");
    },
  };
  const log = (entry: LogEntry) => void logged.push(entry);
  const { session } = await openKit(() => "well", { agent: { hooks }, runner: { log } });
  await session.run("go").result;
  const { id } = await session.enqueue("bad");
  await until(() => logged.length > 0);
  expect(logged[0]).toMatchObject({ threadId: "thread", error: { code: "HOOK_FAILED" } });
  expect(session.state).toBe("completed");
  expect(await session.withdraw(id)).toBe(true);
  await session.enqueue("good");
  await until(() => history(session.messages).length === 4);
  expect(history(session.messages)).toEqual(["user: go", "assistant: well", "user: good", "assistant: well"]);
});

test.each([
  [{ args: { text: "x".repeat(2000) } }, "What it gave for the arguments takes 2011 bytes; at most 1000 are taken."],
  [{ reject: "x".repeat(2000) }, "What it says takes 2002 bytes; at most 1000 are taken."],
  [{ result: "x".repeat(2000) }, "A result takes 2002 bytes; at most 1000 are taken."],
])(
  "P12, W5: a beforeTool that gives more than maxBytes has failed, and the tool does not run (%#)",
  async (given, reason) => {
    const ran: string[] = [];
    const kit = await openKit([...turns], {
      tools: [work(ran)],
      agent: { hooks: { beforeTool: () => given } },
      runner: { maxBytes: 1000 },
    });
    const result = await kit.session.run("go").result;
    expect(result).toMatchObject({ status: "failed", error: { code: "HOOK_FAILED", details: { reason } } });
    expect(ran).toEqual([]);
  },
);

test("P12, W5: an afterTool that returns more than maxBytes leaves the result unchanged, and the log gets the error", async () => {
  const logged: LogEntry[] = [];
  const kit = await openKit([...turns], {
    tools: [work()],
    agent: { hooks: { afterTool: () => ({ output: "x".repeat(2000) }) } },
    runner: { maxBytes: 1000, log: (entry) => void logged.push(entry) },
  });
  await kit.session.run("go").result;
  expect(kit.session.messages[2]!.parts).toMatchObject([{ outcome: "ok", output: "worked" }]);
  expect(logged.map(({ error }) => error.message)).toEqual([
    "Hook afterTool of agent helper failed: A result takes 2002 bytes; at most 1000 are taken.",
  ]);
});
