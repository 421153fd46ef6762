import { expect, inject, test } from "vitest";
import { agent, agentTool, jsonSchema, tool } from "../index.ts";
import { interruptAnywhere, scriptedModel, speak } from "../testing/index.ts";

const { strikes: mostPoints } = inject("effort");

test("W5, C2, H1: hooks that look on, change and speak, with every fault at every point", async () => {
  const report = await interruptAnywhere({
    mostPoints,
    agent: (kit) => {
      const book = tool({
        name: "book",
        description: "Books",
        input: jsonSchema<{ seats: number }>({ type: "object" }),
        repeatable: true,
        execute: ({ seats }, ctx) => {
          kit.effect(ctx.address);
          return `booked ${seats}`;
        },
      });
      const clerk = agent({
        name: "clerk",
        model: scriptedModel(({ messages }) => `${messages.length}`),
        hooks: { beforeReply: () => "changed", onInterrupt: () => "clerk stopped" },
      });
      return agent({
        name: "agent",
        model: scriptedModel((request) =>
          request.messages.some(({ role }) => role === "tool")
            ? speak("All done.")(request)
            : [
                { text: "Booking. " },
                { call: "book", args: { seats: 2 }, id: "b" },
                { call: "clerk", args: { request: "?" }, id: "k" },
              ],
        ),
        tools: [book, agentTool(clerk)],
        hooks: {
          beforeReply: async ({ input }) => ("messages" in input ? undefined : "x"),
          beforeModel: ({ request }) => ({ messages: request.messages }),
          afterModel: async () => {},
          beforeTool: async ({ tool }) => (tool === "book" ? { args: { seats: 3 } } : undefined),
          afterTool: ({ output }) => ({ output: `${output}!` }),
          afterReply: async () => {},
          onInterrupt: async () => "stopped",
        },
      });
    },
    input: "go",
    repeatable: () => true,
  });
  expect(report).toMatchObject({ unstruck: 0, problems: [] });
});

test("W5, Q5: a call that a hook changed and a person approves, with every fault at every point", async () => {
  const report = await interruptAnywhere({
    mostPoints,
    agent: (kit) => {
      const book = tool({
        name: "book",
        description: "Books",
        input: jsonSchema<{ seats: number }>({ type: "object" }),
        needsApproval: ({ seats }) => seats === 3,
        repeatable: true,
        execute: ({ seats }, ctx) => {
          kit.effect(ctx.address);
          return `booked ${seats}`;
        },
      });
      return agent({
        name: "agent",
        model: scriptedModel((request) => {
          const result = request.messages.flatMap(({ parts }) => parts).find(({ type }) => type === "result");
          if (result === undefined) return [{ call: "book", args: { seats: 2 }, id: "b" }];
          return speak("All done.")(request);
        }),
        tools: [book],
        hooks: { beforeTool: async () => ({ args: { seats: 3 } }), onInterrupt: async () => "stopped" },
      });
    },
    input: "go",
    repeatable: () => true,
  });
  expect(report).toMatchObject({ unstruck: 0, problems: [] });
});
