import { asker, eachStore, echo, enter, gated, hanging, listen, newLog, until, worker } from "@belay/testkit";
import { describe, expect, test } from "vitest";
import { approve, humanInput, type Interrupt, type InterruptView, type RunResult } from "../index.ts";
import { defineAgent } from "./define-agent.ts";
import { loop } from "./loop.ts";
import { parallel } from "./parallel.ts";
import { sequential } from "./sequential.ts";

function interrupted(result: RunResult) {
  if (result.status !== "interrupted") throw new Error(`it ended ${result.status}`);
  return result;
}

/** The address of a request, without its other fields. */
function shape(view: InterruptView): unknown {
  const { data } = view;
  switch (data.type) {
    case "workflow": {
      const { parallel, interrupt, type: _type, ...told } = data;
      const at = Object.fromEntries(Object.entries(parallel).map(([index, each]) => [index, shape(each)]));
      const where = { ...told, parallel: at };
      return interrupt === undefined ? where : { ...where, interrupt: shape(interrupt) };
    }
    case "tools":
    case "graph":
      return { [data.type]: data.interrupts.map(shape) };
    case "none":
      return view.address;
    default:
      return data satisfies never;
  }
}

function leaves(view: InterruptView): Interrupt[] {
  const { data, ...original } = view;
  switch (data.type) {
    case "workflow":
      return [...Object.values(data.parallel), ...(data.interrupt ? [data.interrupt] : [])].flatMap(leaves);
    case "tools":
    case "graph":
      return data.interrupts.flatMap(leaves);
    case "none":
      return [original];
    default:
      return data satisfies never;
  }
}

describe.each(eachStore)("interrupts as the root sees them, on $name", ({ make }) => {
  test("W2: every level has its position; the innermost has the interrupt as it was raised; all of it is JSON", async () => {
    const log = newLog();
    const pay = (name: string) => worker(log, name, gated(log, "pay"), `${name}-pay`);
    const root = sequential({
      name: "seq",
      agents: [
        echo(log, "a"),
        parallel({
          name: "par",
          agents: [
            echo(log, "b"),
            loop({ name: "loop", maxIterations: 3, agents: [echo(log, "c"), asker(log, "outer", pay("inner"))] }),
            defineAgent({ name: "code", run: (ctx) => ctx.ask(humanInput("Who?")) }),
          ],
        }),
      ],
    });
    const session = await enter(root, await make());
    let result = interrupted(await session.run("hi").result);
    const ask = session.interrupts.find(({ kind }) => kind === "input")!;
    const [first] = session.interrupts.filter(({ kind }) => kind === "approval");
    result = interrupted(await session.resume({ answers: { [first!.id]: approve() } }).result);
    expect(shape(result.interrupt)).toEqual({
      origInput: "hi",
      sequentialIndex: 1,
      loopIterations: 0,
      parallel: {},
      interrupt: {
        origInput: "a(hi)",
        loopIterations: 0,
        parallel: {
          1: {
            origInput: "a(hi)",
            sequentialIndex: 1,
            loopIterations: 1,
            parallel: {},
            interrupt: { tools: [{ tools: ["seq/1:par/1:loop/1.1:outer/t1/c0/inner/t1/c0/approval"] }] },
          },
          2: ask.address,
        },
      },
    });
    const byId = (a: Interrupt, b: Interrupt) => a.id.localeCompare(b.id);
    expect(leaves(result.interrupt).sort(byId)).toEqual([...result.interrupts].sort(byId));
    expect(JSON.parse(JSON.stringify(result.interrupt))).toEqual(result.interrupt);
  });

  test("W2: a stop: each agent that was cut has it, those that ended are not listed; between two there is none inside", async () => {
    const log = newLog();
    const session = await enter(
      parallel({ name: "par", agents: [hanging(log, "x", {}), echo(log, "e"), hanging(log, "y", {})] }),
      await make(),
    );
    const run = session.run("hi");
    await until(() => log.calls.length === 3);
    await listen(run).until((event) => event.type === "run-end");
    await session.interrupt();
    const { interrupt, interrupts } = interrupted(await run.result);
    const where = { origInput: "hi", loopIterations: 0 };
    expect(shape(interrupt)).toEqual({ ...where, parallel: { 0: "par/0:x/t1", 2: "par/2:y/t1" } });
    const [stop] = interrupts;
    expect(interrupt).toMatchObject({ id: stop!.id, kind: "user", address: stop!.address });
    expect(leaves(interrupt).map(({ id }) => id)).toEqual([`${stop!.id}:par/0:x`, `${stop!.id}:par/2:y`]);
    const other = await enter(sequential({ name: "seq", agents: [echo(log, "a")] }), await make());
    const early = other.run("hi");
    void other.interrupt();
    expect(shape(interrupted(await early.result).interrupt)).toEqual({ ...where, sequentialIndex: 0, parallel: {} });
  });

  test("W2: for one agent with tools it lists the requests of its calls; for one that was cut in mid-text, the stop", async () => {
    const log = newLog();
    const session = await enter(worker(log, "w", gated(log, "pay"), "pay-call"), await make());
    const { interrupt, interrupts } = interrupted(await session.run("hi").result);
    expect(interrupt).toMatchObject({ id: interrupts[0]!.id, kind: "approval", address: "w" });
    expect(interrupt.data).toEqual({ type: "tools", interrupts: [{ ...interrupts[0], data: { type: "none" } }] });
    const cut = await enter(hanging(log, "x", {}), await make());
    const run = cut.run("hi");
    await listen(run).until((event) => event.type === "text-delta");
    await cut.interrupt();
    const stopped = interrupted(await run.result);
    expect(stopped.interrupt).toEqual({ ...stopped.interrupts[0], data: { type: "none" } });
  });
});
