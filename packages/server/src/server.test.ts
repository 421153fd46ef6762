import { agent, createRunner, humanApproval, jsonSchema, memoryStore, tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, test } from "vitest";
import { readStream, startServer } from "./testing.ts";

const refund = tool({
  name: "refund",
  description: "Pays money back.",
  input: jsonSchema<{ euros: number }>({
    type: "object",
    properties: { euros: { type: "number" } },
    required: ["euros"],
  }),
  needsApproval: ({ euros }) => humanApproval(`Pay ${euros} €?`),
  execute: ({ euros }) => `${euros} paid`,
});

test("a thread is created, followed to its end, listed, looked at and deleted", async () => {
  const runner = createRunner({ agent: agent({ name: "guide", model: scriptedModel(["A rope.", "A device."]) }) });
  await using server = await startServer({ runner });
  const made = await server.post("/threads", { threadId: "climbing", input: "What is a belay?" });
  expect(made.status).toBe(201);
  expect(made.body.run).toMatchObject({ segment: 1 });

  const events = await readStream(server, "/threads/climbing/events", (all) =>
    all.some(({ event, data }) => event === "state" && data.state === "completed"),
  );
  const facts = events.filter(({ id }) => id !== undefined);
  expect(facts.map(({ data }) => data.seq)).toEqual(facts.map((_, i) => i + 1));
  expect(events.filter(({ event }) => event === "live")).toHaveLength(1);
  expect(JSON.stringify(events)).not.toContain("tokenHash");

  const look = await server.get("/threads/climbing");
  expect(look.body).toMatchObject({ state: "completed", agent: "guide", head: facts.length });
  const again = await server.get("/threads/climbing", { "if-none-match": look.headers.get("etag")! });
  expect(again.status).toBe(304);
  expect((await server.get("/threads")).body.items).toMatchObject([{ threadId: "climbing", state: "completed" }]);
  expect((await server.get("/threads/climbing/messages")).body.items).toMatchObject([
    { role: "user" },
    { role: "assistant" },
  ]);
  expect((await server.get("/threads/climbing/facts?after=1&limit=2")).body).toMatchObject({
    items: [{ seq: 2 }, { seq: 3 }],
    head: facts.length,
  });
  const waited = await server.post("/threads/climbing/runs", { input: "And?" }, { prefer: "wait=30" });
  expect(waited).toMatchObject({ status: 200, body: { status: "completed", text: "A device." } });
  expect((await server.delete("/threads/climbing")).status).toBe(204);
  expect((await server.get("/threads/climbing")).body).toMatchObject({ code: "THREAD_UNKNOWN", status: 404 });
});

test("a request in the inbox is answered by the login, and the run continues", async () => {
  const model = scriptedModel([[{ call: "refund", args: { euros: 900 } }], "Done."]);
  const runner = createRunner({ agent: agent({ name: "support", model, tools: [refund] }), store: memoryStore() });
  await using server = await startServer({ runner, user: "anna" });
  await server.post("/threads/t/runs", { input: "Refund B." }, { prefer: "wait=30" });
  const inbox = await server.get("/inbox?kind=approval");
  expect(inbox.body).toMatchObject({ items: [{ tool: "refund", args: { euros: 900 } }], counts: { open: 1, mine: 1 } });
  const { id } = inbox.body.items[0];
  expect((await server.get(`/requests/${id}`)).body).toMatchObject({ item: { id }, messages: [{ role: "user" }, {}] });
  const named = await server.post(`/requests/${id}/answer`, { type: "approve", by: "ben" });
  expect(named.body).toMatchObject({ status: 400, code: "BY_NOT_ALLOWED" });
  const wrong = await server.post(`/requests/${id}/answer`, { type: "approve", args: { euros: "x" } });
  expect(wrong.body).toMatchObject({ status: 422, code: "ANSWER_INVALID" });
  const answered = await server.post(`/requests/${id}/answer`, { type: "approve", args: { euros: 90 } });
  expect(answered).toMatchObject({ status: 200, body: { open: 0, resumed: true } });
  const taken = await server.post(`/requests/${id}/answer`, { type: "reject", reason: "no" });
  expect(taken.body).toMatchObject({ status: 409, code: "ANSWER_TAKEN", details: { by: "anna" } });
  await readStream(server, "/threads/t/events", (all) => all.some(({ event }) => event === "run-end"));
  expect((await server.get("/threads/t")).body.state).toBe("completed");
  const decided = async (filter: string) => (await server.get(`/inbox?state=decided${filter}`)).body.items;
  for (const filter of ["", "&threadId=t", "&kind=approval", "&tool=refund", "&mine=1"]) {
    expect(await decided(filter), filter).toMatchObject([{ id, by: "anna" }]);
  }
  for (const filter of ["&threadId=u", "&kind=input", "&tool=pay"]) expect(await decided(filter), filter).toEqual([]);
});

test("a stop returns its receipt, and a resume with input reasons again", async () => {
  const model = scriptedModel([[{ text: ["A belay ", "has a rope,"] }, { stall: true }], "The device."]);
  const runner = createRunner({ agent: agent({ name: "guide", model }) });
  await using server = await startServer({ runner, user: "anna" });
  await server.post("/threads/t/runs", { input: "What is a belay?" });
  await readStream(server, "/threads/t/events", (all) => all.some(({ data }) => data.text?.endsWith("rope,")));
  const stopped = await server.post("/threads/t/interrupt", { reason: "add_info" });
  expect(stopped).toMatchObject({ status: 200, body: { accepted: true, partialText: "A belay has a rope," } });
  const resumed = await server.post("/threads/t/resume", { input: "Only the device." }, { prefer: "wait=30" });
  expect(resumed.body).toMatchObject({ status: "completed", text: "The device." });
  const history = await server.get("/threads/t/history");
  expect(history.body.items.some(({ kind }: { kind: string }) => kind === "stop")).toBe(true);
  const { body: fork } = await server.post("/threads/t/fork", { at: history.body.items[0].seq });
  expect(fork).toMatchObject({ effects: [] });
  expect((await server.get(`/threads/${fork.threadId}`)).body.parent).toMatchObject({ threadId: "t" });
});

test("the OpenAPI document is valid and has every route", async () => {
  const runner = createRunner({ agent: agent({ name: "guide", model: scriptedModel([]) }) });
  await using server = await startServer({ runner });
  const { body } = await server.get("/openapi.json");
  const { valid, errors } = await new Validator().validate(body);
  expect(errors).toBeUndefined();
  expect(valid).toBe(true);
});

test("threads are found by state, label and title, a page at a time, without the inner side of a lease", async () => {
  const model = scriptedModel(["One.", "Two.", [{ text: "Three" }, { stall: true }]]);
  const runner = createRunner({ agent: agent({ name: "guide", model }) });
  await using server = await startServer({ runner });
  await server.post("/threads", { threadId: "a", input: "Climb the Zugspitze", labels: { env: "prod" } });
  await server.post("/threads", { threadId: "b", input: "Climb the Watzmann", title: "A walk" });
  await expect.poll(async () => (await server.get("/threads?state=completed")).body.items.length).toBe(2);
  await server.post("/threads", { threadId: "c", input: "Wait" });
  const found = async (query: string) =>
    (await server.get(`/threads?${query}`)).body.items.map(({ threadId }: { threadId: string }) => threadId);
  expect(await found("label=env:prod")).toEqual(["a"]);
  expect(await found("search=zugsp")).toEqual(["a"]);
  expect(await found("search=walk")).toEqual(["b"]);
  expect(await found("state=running")).toEqual(["c"]);
  const running = (await server.get("/threads?state=running")).body.items[0];
  expect(running).toMatchObject({ title: "Wait", open: 0, owner: { name: runner.owner } });
  expect(running).not.toHaveProperty("lease");
  const first = (await server.get("/threads?limit=2")).body;
  const second = (await server.get(`/threads?limit=2&cursor=${encodeURIComponent(first.next)}`)).body;
  expect([...first.items, ...second.items]).toHaveLength(3);
  expect((await server.get("/threads?cursor=x")).body).toMatchObject({ status: 400, code: "CURSOR_INVALID" });
  const labelled = await server.send("PATCH", "/threads/a", {
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ title: "Up", labels: { env: null, team: "red" } }),
  });
  expect(labelled.body).toMatchObject({ title: "Up", labels: { team: "red" } });
});

test("a resume with an agent that has changed is refused with the report if it asks for that, and a look has the last report", async () => {
  const store = memoryStore();
  const made = (instructions: string, turns: Parameters<typeof scriptedModel>[0]) =>
    createRunner({
      agent: agent({ name: "support", model: scriptedModel(turns), tools: [refund], instructions }),
      store,
    });
  const before = made("Be kind.", [[{ call: "refund", args: { euros: 9 } }]]);
  await (await before.start("t", "Refund B.")).result;
  await before.close();
  await using server = await startServer({ runner: made("Be quick.", ["Done."]), work: false });
  const [{ id }] = (await server.get("/inbox")).body.items;
  const report = { instructions: true };
  const answers = { [id]: { type: "approve" } };
  const refused = await server.post("/threads/t/resume", { drift: "refuse", answers });
  expect(refused.body).toMatchObject({ status: 409, code: "DRIFT_REFUSED", details: { report } });
  expect((await server.get("/threads/t")).body).not.toHaveProperty("lastDrift");
  const resumed = await server.post("/threads/t/resume", { drift: "warn", answers }, { prefer: "wait=30" });
  expect(resumed.body.status).toBe("completed");
  expect((await server.get("/threads/t")).body.lastDrift).toEqual({
    seq: expect.any(Number),
    at: expect.any(Number),
    report,
  });
});
