// A session on a thread that another process has continued: its refusals, and its use of inputs and answers.

import { eachStore, history, openKit, toolOf } from "@belay/testkit";
import { describe, expect, it } from "vitest";
import { humanInput, respond } from "../../index.ts";

const ask = toolOf("ask", (ctx) => ctx.ask(humanInput("Who?")));

describe.each(eachStore)("on $name, a session at a pause that another process has ended", ({ make }) => {
  async function stale() {
    const store = await make();
    const here = await openKit([[{ call: "ask" }], "here"], { store, tools: [ask] });
    await here.session.run("go").result;
    const [request] = here.session.interrupts;
    const there = await openKit(["there"], { store, tools: [ask] });
    const run = there.session.resume({ answers: { [request!.id]: respond("me") } });
    expect(await run.result).toMatchObject({ status: "completed", text: "there" });
    return { ...here, request: request! };
  }

  it("C3: reads it when it is opened again, and takes the next input", async () => {
    const { runner, session } = await stale();
    expect(session.pauseType).toBe("tool_interrupt");
    expect(await runner.open("thread")).toBe(session);
    expect([session.state, session.interrupts]).toEqual(["completed", []]);
    expect(await session.run("and?").result).toMatchObject({ status: "completed", text: "here" });
    expect(history(session.messages).filter((line) => line.startsWith("user"))).toEqual(["user: go", "user: and?"]);
  });

  it("R4: refuses an input by its own state, with a hint to open again; no part of the input is kept", async () => {
    const { session, store } = await stale();
    const before = (await store.load({ tenant: "default", threadId: "thread" }))?.row.head;
    const refused = { code: "NEED_RESUME", hint: expect.stringContaining("runner.open()") };
    expect(() => session.run("and?")).toThrow(expect.objectContaining(refused));
    expect((await store.load({ tenant: "default", threadId: "thread" }))?.row.head).toBe(before);
  });

  it("R4: resumes with an input: it is refused because another process has resumed, and then takes the input", async () => {
    const { session } = await stale();
    const message = expect.stringContaining("the thread was resumed by other means");
    const refused = { status: "failed", error: { code: "TOKEN_SPENT", message } };
    expect(await session.resume({ input: "and?" }).result).toMatchObject(refused);
    expect(await session.run("and?").result).toMatchObject({ status: "completed", text: "here" });
    expect(history(session.messages).filter((line) => line.startsWith("user"))).toEqual(["user: go", "user: and?"]);
  });

  it("Q6: answers: it is refused because another process was faster, and then takes the input", async () => {
    const { session, request } = await stale();
    await expect(session.answer(request.id, respond("you"))).rejects.toMatchObject({ code: "ANSWER_TAKEN" });
    expect(await session.run("and?").result).toMatchObject({ status: "completed", text: "here" });
  });
});
