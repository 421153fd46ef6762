// A search tool without a network asks to be run again. The other call keeps its result; resume() runs only the search.
import { agent, createRunner, jsonSchema, rerun, tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";

const input = jsonSchema<{ query: string }>({
  type: "object",
  properties: { query: { type: "string" } },
  required: ["query"],
});

// region tool
const network = { online: false };

const webSearch = tool({
  name: "web_search",
  description: "Searches the web.",
  input,
  execute: ({ query }) => {
    console.log(`· web_search ${query}`);
    if (!network.online) throw rerun({ lastError: "Connection timeout after 5s" });
    return `3 pages about ${query}`;
  },
});
// endregion

const notes = tool({
  name: "notes",
  description: "Searches the notes.",
  input,
  execute: ({ query }) => {
    console.log(`· notes ${query}`);
    return `1 note about ${query}`;
  },
});

const model = scriptedModel([
  [
    { call: "notes", args: { query: "belay" }, id: "n" },
    { call: "web_search", args: { query: "belay" }, id: "w" },
  ],
  "Three pages and a note.",
]);

// region run
const runner = createRunner({ agent: agent({ name: "searcher", model, tools: [webSearch, notes] }) });
const session = await runner.open("search");
const first = await session.run("What do we know about belays?").result;

if (first.status === "interrupted" && first.interrupt.data.type === "tools") {
  const { executedTools, rerunTools, extra } = first.interrupt.data;
  console.log(`— ${first.interruptType}`, { executedTools, rerunTools, extra });
}

network.online = true;
const second = await session.resume().result;
if (second.status === "completed") console.log(second.text);
// endregion
