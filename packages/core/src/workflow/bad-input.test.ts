import { expect, test } from "vitest";
import { agent } from "../index.ts";
import { scriptedModel } from "../testing/index.ts";
import { agentTool } from "./agent-tool.ts";
import { loop } from "./loop.ts";
import { parallel } from "./parallel.ts";
import { sequential } from "./sequential.ts";

const one = agent({ name: "one", model: scriptedModel("hi") });

const refused = (code: string, text: string) =>
  expect.objectContaining({ code, message: expect.stringContaining(text), hint: expect.any(String) });

// As a program without types writes it: the definition refuses the fault, not the run.
const cases: [string, () => unknown, string, string][] = [
  [
    "a loop of no rounds",
    () => loop({ name: "l", agents: [one], maxIterations: 0 }),
    "AGENT_INVALID",
    "maxIterations is 0, not a whole number from 1 on",
  ],
  [
    "rounds in words",
    () => loop({ name: "l", agents: [one], maxIterations: "3" as never }),
    "AGENT_INVALID",
    'maxIterations is "3"',
  ],
  [
    "an end that is no function",
    () => loop({ name: "l", agents: [one], until: "done" as never }),
    "AGENT_INVALID",
    'until is "done", not a function',
  ],
  ["an empty one", () => parallel({ name: "p", agents: [] }), "AGENT_INVALID", "it has no agents to run at once"],
  ["nothing at all", () => sequential(undefined as never), "AGENT_INVALID", "it is not an object"],
  ["a tool of a tool", () => agentTool(agentTool(one) as never), "TOOL_INVALID", "Tool one is not valid"],
];

test.each(cases)("a workflow refuses %s", (_name, make, code, text) => {
  expect(make).toThrow(refused(code, text));
});
