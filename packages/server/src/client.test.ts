import { approve, connect, isThreadEvent, reject } from "@belay/client";
import { agent, createRunner, humanApproval, jsonSchema, tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { expect, test } from "vitest";
import { startServer } from "./testing.ts";

const pay = tool({
  name: "pay",
  description: "Pays.",
  input: jsonSchema<{ euros: number }>({ type: "object", properties: { euros: { type: "number" } } }),
  needsApproval: ({ euros }) => humanApproval(`Pay ${euros} €?`),
  execute: ({ euros }) => `${euros} paid`,
});

test("a run on the server is read, and its result is that of the runner", async () => {
  const runner = createRunner({ agent: agent({ name: "guide", model: scriptedModel(["A rope.", "A device."]) }) });
  await using server = await startServer({ runner });
  const belay = connect({ url: server.url, token: server.server.token });
  const thread = belay.open("climbing");
  const run = await thread.run("What is a belay?");
  const types: string[] = [];
  for await (const event of run) types.push(event.type);
  expect(types.filter((type) => !/delta|turn/.test(type))).toEqual(
    (await thread.facts()).items.map(({ type }) => type),
  );
  expect(await run.result).toMatchObject({ status: "completed", text: "A rope.", output: "A rope.", runId: run.runId });
  const second = await thread.run("And then?");
  expect(await second.result).toMatchObject({ status: "completed", text: "A device." });
  const first = (await run.result) as { runId: string };
  expect(second.runId).not.toBe(first.runId);
  expect(await thread.look()).toMatchObject({ state: "completed" });
  expect((await thread.messages()).items.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
});

test("a guarded stop hits its own segment, and a resume with input is a new one", async () => {
  const model = scriptedModel([[{ text: ["A belay ", "has a rope,"] }, { stall: true }], "The device."]);
  await using server = await startServer({ runner: createRunner({ agent: agent({ name: "guide", model }) }) });
  const thread = connect({ url: server.url, token: () => server.server.token }).open("t");
  const run = await thread.run("What is a belay?");
  await expect.poll(() => model.requests.length).toBe(1);
  expect(await run.interrupt({ reason: "add_info" })).toMatchObject({ accepted: true, runId: run.runId });
  expect(await run.result).toMatchObject({ status: "interrupted", interruptType: "user_interrupt" });
  const resumed = await thread.resume({ input: "Only the device." });
  expect(await resumed.result).toMatchObject({ status: "completed", text: "The device.", segment: 2 });
  expect(await run.interrupt()).toMatchObject({ accepted: false });
});

test("the inbox stays true, and the refusal of a late answer names the faster person", async () => {
  const model = scriptedModel([[{ call: "pay", args: { euros: 900 } }], "Done."]);
  const runner = createRunner({ agent: agent({ name: "support", model, tools: [pay] }) });
  await using server = await startServer({ runner, user: "anna" });
  const belay = connect({ url: server.url, token: server.server.token });
  const gone = new AbortController();
  const counts: number[] = [];
  const live = (async () => {
    for await (const { items } of belay.inbox({ mine: true }).live({ signal: gone.signal })) counts.push(items.length);
  })();
  await (await belay.open("t").run("Refund B.")).result;
  await expect.poll(() => counts.at(-1)).toBe(1);
  const { items } = await belay.inbox({ kind: "approval" });
  const [item] = items;
  expect(await belay.answer(item!.id, approve({ args: { euros: 90 } }))).toEqual({ open: 0, resumed: true });
  await expect.poll(() => counts.at(-1)).toBe(0);
  const late = await belay.answer(item!.id, reject("no")).catch((error) => error);
  expect(late).toMatchObject({ code: "ANSWER_TAKEN", status: 409, details: { by: "anna" } });
  gone.abort();
  await live;
});

test("a stream continues over a server that goes away and comes back", async () => {
  const runner = createRunner({ agent: agent({ name: "guide", model: scriptedModel(["One.", "Two."]) }) });
  await using server = await startServer({ runner });
  let breaks = 0;
  // The line breaks in the middle of the first answer.
  const breaking: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (!String(input).includes("/events") || breaks-- <= 0) return response;
    let left = 700;
    const cut = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        left -= chunk.length;
        if (left < 0) controller.error(new Error("cut"));
        else controller.enqueue(chunk);
      },
    });
    return new Response(response.body!.pipeThrough(cut), response);
  };
  const thread = connect({ url: server.url, token: server.server.token, fetch: breaking }).open("t");
  await (await thread.run("Go.")).result;
  breaks = 1;
  const seqs: number[] = [];
  const states: string[] = [];
  const gone = new AbortController();
  for await (const event of thread.events({ drafts: false, signal: gone.signal })) {
    if (event.type === "connection") states.push(event.state);
    if (isThreadEvent(event)) seqs.push(event.seq);
    if (event.type === "live") gone.abort();
  }
  const { head } = await thread.look();
  expect(seqs).toEqual(Array.from({ length: head }, (_, i) => i + 1));
  expect(states).toEqual(["connecting", "open", "lost", "connecting", "open"]);
});

test("a write without its whole answer is repeated under its key: one run", async () => {
  const runner = createRunner({ agent: agent({ name: "guide", model: scriptedModel(["One.", "Two."]) }) });
  await using server = await startServer({ runner });
  let breaks = 1;
  const breaking: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (breaks-- <= 0) return response;
    await response.text();
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"runId":'));
        controller.error(new TypeError("terminated"));
      },
    });
    return new Response(body, response);
  };
  const thread = connect({ url: server.url, token: server.server.token, fetch: breaking }).open("t");
  expect(await (await thread.run("Go.")).result).toMatchObject({ text: "One." });
  expect((await thread.facts()).items.filter(({ type }) => type === "run-start")).toHaveLength(1);
});

test("a refused login ends a stream instead of repeating it", async () => {
  const runner = createRunner({ agent: agent({ name: "guide", model: scriptedModel([]) }) });
  await using server = await startServer({ runner });
  const belay = connect({ url: server.url, token: "wrong" });
  const events = [];
  for await (const event of belay.open("t").events()) events.push(event);
  expect(events).toMatchObject([
    { state: "connecting" },
    { state: "closed", error: { code: "UNAUTHENTICATED", status: 401 } },
  ]);
  await expect(belay.threads()).rejects.toMatchObject({ code: "UNAUTHENTICATED", hint: expect.any(String) });
});
