// A supervisor with agents as tools. One of them plans, executes and plans again; it is a function over agents.
import {
  agent,
  agentTool,
  defineAgent,
  humanApproval,
  jsonSchema,
  type ModelRequest,
  messageText,
  tool,
} from "@belay/core";
import { type ScriptedPart, scriptedModel } from "@belay/core/testing";

/** Says when it is called. */
const script = (name: string, turn: (request: ModelRequest) => string | ScriptedPart[]) =>
  scriptedModel((request) => {
    console.log(`· ${name}`);
    return turn(request);
  });

const given = ({ messages }: ModelRequest) => messageText(messages.find(({ role }) => role === "user")!);

const results = ({ messages }: ModelRequest) =>
  messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "result" ? [String(part.output)] : [])));

const steps = jsonSchema<string[]>({ type: "array", items: { type: "string" } });

const planner = agent({
  name: "planner",
  output: steps,
  model: script("planner", () => JSON.stringify(["find a date", "book the room"])),
});

// region approval
const book = tool({
  name: "book",
  description: "Books a room.",
  input: jsonSchema<{ room: string }>({ type: "object", properties: { room: { type: "string" } } }),
  needsApproval: ({ room }) => humanApproval(`Book the ${room} room?`),
  execute: ({ room }) => `the ${room} room is booked`,
});
// endregion

const executor = agent({
  name: "executor",
  tools: [book],
  model: script("executor", (request) => {
    if (given(request) === "find a date") return "1 May";
    if (given(request) === "tell everyone") return "everyone knows";
    return results(request)[0] ?? [{ call: "book", args: { room: "blue" } }];
  }),
});

const replanner = agent({
  name: "replanner",
  output: steps,
  model: script("replanner", (request) => {
    const { done, left } = JSON.parse(given(request));
    // This task was not in the first plan.
    return JSON.stringify(done.length === 2 ? ["tell everyone"] : left);
  }),
});

// region plan
export const project = defineAgent({
  name: "project",
  agents: [planner, executor, replanner],
  async run(ctx, goal) {
    const done: string[] = [];
    let plan = (await ctx.run(planner, goal)) as string[];
    for (let round = 1; plan.length > 0; round++) {
      const [next = "", ...left] = plan;
      // Each run has its key. After a stop, a crash or an answer this function may begin again: what has run under its
      // key is then read from the record.
      done.push(String(await ctx.run(executor, next, { key: `execute ${round}` })));
      plan = (await ctx.run(replanner, { goal, done, left }, { key: `replan ${round}` })) as string[];
    }
    return done.join(", ");
  },
});
// endregion

const researcher = agent({ name: "researcher", model: script("researcher", () => "Twelve people will come.") });

// region supervisor
export const supervisor = agent({
  name: "supervisor",
  instructions: "Ask the researcher for the guests, then hand the work to the project.",
  tools: [agentTool(researcher), agentTool(project)],
  model: script("supervisor", (request) => {
    const [people, work] = results(request);
    if (people === undefined) return [{ call: "researcher", args: { request: "Who comes?" } }];
    if (work === undefined) return [{ call: "project", args: { request: "A meeting for twelve." } }];
    return `${people} Done: ${work}.`;
  }),
});
// endregion
