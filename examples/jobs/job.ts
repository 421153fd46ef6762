// What both processes share: the agent that does a job, and the file that the jobs are in.
import { isBuiltin } from "node:module";
import { agent, messageText } from "@belay/core";
import { sqliteStore } from "@belay/core/sqlite";
import { scriptedModel } from "@belay/core/testing";

const { DatabaseSync } = await import(isBuiltin("node:sqlite") ? "node:sqlite" : "@photostructure/sqlite");

export const open = (file: string) => sqliteStore(new DatabaseSync(file));

export const clerk = agent({
  name: "clerk",
  model: scriptedModel(({ messages }) => `Filed: ${messageText(messages.at(-1)!)}`),
});
