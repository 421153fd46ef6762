import { eachStore, enter, gate, listen, newLog, talker } from "@belay/testkit";
import { expect, test } from "vitest";
import { agent, type BelayEvent } from "../index.ts";
import { scriptedModel } from "../testing/index.ts";
import { loop } from "./loop.ts";
import { parallel } from "./parallel.ts";
import { sequential } from "./sequential.ts";

/** The turns that readers get, by agent. */
const turns = (events: readonly BelayEvent[]) =>
  events.flatMap((event) =>
    event.type === "turn-start" || event.type === "turn-end" ? [`${event.type} ${event.turn} ${event.runPath}`] : [],
  );

const refused = () => [{ throw: Object.assign(new Error("no"), { isRetryable: false }) }];
const hangs = () => [{ text: "so" }, { stall: true } as const];

for (const { name, make } of eachStore) {
  test(`W1 (${name}): every turn that starts has its end, also that of an agent which fails inside others`, async () => {
    const log = newLog();
    const bad = talker(log, "bad", refused);
    const root = parallel({ name: "par", agents: [sequential({ name: "seq", agents: [bad] })] });
    const session = await enter(root, await make());
    const run = session.run("hi");
    const heard = listen(run);
    expect((await run.result).status).toBe("failed");
    await heard.all;
    expect(turns(heard.events)).toEqual(["turn-start 1 par/0:seq/0:bad", "turn-end 1 par/0:seq/0:bad"]);
  });

  test(`S8, W1 (${name}): a stop ends the turn of the agent that it cut, and none of those around it, which have no turns`, async () => {
    const log = newLog();
    const inner = talker(log, "a", hangs);
    const root = sequential({ name: "seq", agents: [loop({ name: "loop", agents: [inner], maxIterations: 1 })] });
    const session = await enter(root, await make());
    const run = session.run("hi");
    const heard = listen(run);
    await heard.until((event) => event.type === "text-delta");
    expect(await session.interrupt()).toMatchObject({ accepted: true, partialText: "so" });
    await heard.all;
    expect(turns(heard.events)).toEqual(["turn-start 1 seq/0:loop/0.0:a", "turn-end 1 seq/0:loop/0.0:a"]);
  });
}

test("W5: input that arrives while a hook has the reply makes one more turn, and the turn before has its end", async () => {
  const looking = gate();
  const go = gate();
  let looked = 0;
  const hooks = {
    afterReply: async () => {
      looked += 1;
      looking.open();
      if (looked === 1) await go.opened;
    },
  };
  const root = agent({ name: "a", model: scriptedModel(["one", "two"]), hooks });
  const session = await enter(root, await eachStore[0]!.make());
  const run = session.run("hi");
  const heard = listen(run);
  await looking.opened;
  await session.steer("and?");
  go.open();
  expect(await run.result).toMatchObject({ status: "completed", text: "two" });
  await heard.all;
  const open = new Set<string>();
  for (const turn of turns(heard.events)) {
    const which = turn.slice(turn.indexOf(" "));
    const [wanted, change] = turn.startsWith("turn-start") ? [false, "add" as const] : [true, "delete" as const];
    expect(open.has(which), turn).toBe(wanted);
    open[change](which);
  }
  expect([...open]).toEqual([]);
});
