import { faultyStore, gate, openDatabase, openKit } from "@belay/testkit";
import { expect, test } from "vitest";
import { type Json, jsonSchema, memoryStore, tool } from "../index.ts";
import { sqliteStore } from "../sqlite.ts";
import { fakeClock } from "../testing/index.ts";
import type { Hooks } from "./hooks.ts";

const stores = ["memory", "sqlite"] as const;

for (const name of stores) {
  test(`W5, C1, F4 (${name}): after a crash in mid-call the call runs again with the arguments of the hook; its hook is not called again`, async () => {
    const clock = fakeClock();
    const store = name === "memory" ? memoryStore({ clock }) : sqliteStore(await openDatabase(":memory:"), { clock });
    const calls: string[] = [];
    const ran: Json[] = [];
    const running = gate();
    const hooks: Hooks = {
      beforeReply: () => void calls.push("beforeReply"),
      beforeModel: () => void calls.push("beforeModel"),
      beforeTool: () => {
        calls.push("beforeTool");
        return { args: { seats: 3 } };
      },
      afterTool: ({ args }) => void calls.push(`afterTool ${JSON.stringify(args)}`),
    };
    const book = (execute: () => Promise<string>) =>
      tool({
        name: "book",
        description: "Books",
        input: jsonSchema<{ seats: number }>({ type: "object" }),
        repeatable: true,
        execute: (args) => {
          ran.push(args as Json);
          return execute();
        },
      });
    const hang = () => {
      running.open();
      return new Promise<never>(() => {});
    };
    const dying = faultyStore(store);
    const first = await openKit([[{ call: "book", args: { seats: 2 }, id: "c1" }]], {
      tools: [book(hang)],
      store: dying,
      clock,
      agent: { hooks },
    });
    void first.session.run("go");
    await running.opened;
    dying.kill();
    await clock.advance(60_000);
    const second = await openKit(["done"], { tools: [book(async () => "booked")], store, clock, agent: { hooks } });
    expect(second.session.pauseType).toBe("crash");
    expect((await second.session.resume().result).status).toBe("completed");
    expect(calls).toEqual(["beforeReply", "beforeModel", "beforeTool", 'afterTool {"seats":3}', "beforeModel"]);
    expect(ran).toEqual([{ seats: 3 }, { seats: 3 }]);
    expect(second.session.messages[1]!.parts[0]).toMatchObject({
      args: { seats: 2 },
      ranArgs: { seats: 3 },
      changedBy: "hook",
    });
  });
}
