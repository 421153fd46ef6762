// Shared by all processes: a tool that asks in the middle of its work, and the file that has its threads.
import { isBuiltin } from "node:module";
import { agent, createRunner, humanInput, jsonSchema, tool } from "@belay/core";
import { sqliteStore } from "@belay/core/sqlite";
import { scriptedModel } from "@belay/core/testing";

// Node has it built in from 22.13 on; for those before it there is the same in a package.
const sqlite = isBuiltin("node:sqlite") ? "node:sqlite" : "@photostructure/sqlite";
const { DatabaseSync } = await import(sqlite);

const say = (text: string) => console.log(`[${process.env.NAME}] ${text}`);

// region tool
const bookMovers = tool({
  name: "book_movers",
  description: "Books movers for a date.",
  input: jsonSchema<{ date: string }>({ type: "object", properties: { date: { type: "string" } } }),
  async execute({ date }, ctx) {
    // Recorded when it ends, and never repeated, in this process or in another.
    const offer = await ctx.step("reserve", () => {
      say("reserving movers");
      return { number: 17, euros: 480 };
    });

    // A plain await. The answer may come in a second, or next week and in another process.
    const floor = await ctx.ask(
      humanInput(`Movers cost ${offer.euros} €. Which floor do you live on?`, {
        schema: jsonSchema<number>({ type: "integer", minimum: 0 }),
      }),
    );

    const price = offer.euros + floor * 20;
    await ctx.step("confirm", () => say(`confirming offer ${offer.number}`));
    return `booked for ${date}: ${price} €, floor ${floor}`;
  },
});
// endregion

export function open(file: string) {
  const model = scriptedModel(({ messages }) => {
    const [part] = messages.at(-1)!.parts;
    return part?.type === "result" ? `Done, ${part.output}.` : [{ call: "book_movers", args: { date: "1 May" } }];
  });
  const db = new DatabaseSync(file);
  const runner = createRunner({ agent: agent({ name: "mover", model, tools: [bookMovers] }), store: sqliteStore(db) });
  return { runner, db, say };
}
