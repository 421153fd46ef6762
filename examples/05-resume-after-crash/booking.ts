// Shared by both processes: the agent, and the file that has its threads.
import { isBuiltin } from "node:module";
import { agent, createRunner, jsonSchema, tool } from "@belay/core";
import { sqliteStore } from "@belay/core/sqlite";
import { scriptedModel } from "@belay/core/testing";

// Node has it built in from 22.13 on; for those before it there is the same in a package.
const sqlite = isBuiltin("node:sqlite") ? "node:sqlite" : "@photostructure/sqlite";
const { DatabaseSync } = await import(sqlite);

export async function open(file: string, { dieIn = "" } = {}) {
  const book = (name: string) =>
    tool({
      name,
      description: "Books it. The same booking made twice is one booking.",
      input: jsonSchema({ type: "object" }),
      // A crash in the middle of it: it may run again, with the same ctx.idempotencyKey.
      repeatable: true,
      async execute() {
        if (name !== dieIn) return "booked";
        await new Promise((resolve) => setTimeout(resolve, 50));
        process.kill(process.pid, "SIGKILL");
      },
    });

  // Decides the next step from the request, as a model does.
  const model = scriptedModel(({ messages }) => {
    const done = messages.filter(({ role }) => role === "tool").length;
    return [[{ call: "book_train" }], [{ call: "book_hotel" }], "Train and hotel are booked."][done]!;
  });

  // region sqlite
  const db = new DatabaseSync(file);
  const travel = agent({ name: "travel", model, tools: [book("book_train"), book("book_hotel")] });
  const runner = createRunner({ agent: travel, store: sqliteStore(db) });
  // endregion
  return { runner, db };
}
