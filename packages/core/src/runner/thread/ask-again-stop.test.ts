import { eachStore, openKit, toolOf, until } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { approve, humanApproval, humanInput, respond, type Store } from "../../index.ts";

/** Asks two things at once, as soon as `ready` lets its code come to that. */
function asking(ready: () => Promise<void>) {
  return toolOf("pay", async (ctx) => {
    await ready();
    const name = ctx.ask(humanInput("Who?"), { key: "who" });
    const { approved } = await ctx.ask(humanApproval("Pay?"), { key: "pay" });
    return `${approved} ${await name}`;
  });
}

/** A call that was begun again after a restart by an answer, and has not come to its second request yet. */
async function begunAgain(store: Store) {
  const first = await openKit([[{ call: "pay", id: "a" }], "done"], { store, tools: [asking(async () => {})] });
  await first.session.run("go").result;
  const [who, pay] = ["who", "pay"].map((key) => first.session.interrupts.find((each) => each.key === key)!.id);
  await first.runner.close();
  let begun = false;
  let isHeld = true;
  const ready = () => {
    begun = true;
    return isHeld ? new Promise<void>(() => {}) : Promise.resolve();
  };
  const kit = await openKit(["done"], { store, tools: [asking(ready)] });
  await kit.session.answer(pay!, approve());
  await until(() => begun);
  const release = () => {
    isHeld = false;
  };
  return { ...kit, store, who: who!, release };
}

describe.each(eachStore)("a stop of a call that was begun again, on $name", ({ make }) => {
  test("S9: with the call end the requests on record that its code has not come to yet, in one append", async () => {
    const { session, store, who } = await begunAgain(await make());
    await session.interrupt();
    expect(session.interrupts.map(({ kind }) => kind)).toEqual(["user"]);
    const lines = (await store.load({ tenant: "default", threadId: "thread" }))!.lines.map(({ body }) => body);
    const end = lines.find((body) => body.includes('"end":"a"'));
    expect(end).toContain(`"answered":"${who}"`);
  });

  test("S9: a stop that keeps requests leaves it waiting, and it ends with their answer", async () => {
    const { session, who, release } = await begunAgain(await make());
    await session.interrupt({ requests: "keep", force: true });
    expect(session.interrupts.map(({ id }) => id)).toContain(who);
    release();
    await session.answer(who, respond("Ann"));
    expect(await session.resume().result).toMatchObject({ status: "completed" });
    const [result] = session.messages.flatMap(({ parts }) => parts.filter(({ type }) => type === "result"));
    expect(result).toMatchObject({ outcome: "ok", output: "true Ann" });
  });
});
