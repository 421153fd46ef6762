import { expectTypeOf, test } from "vitest";
import { agent } from "../chat/agent.ts";
import { createRunner } from "../runner/runner.ts";
import { jsonSchema } from "../schema/schema.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import type { ToolContext } from "../tool/context.ts";
import { tool } from "../tool/tool.ts";

interface Shop {
  readonly price: number;
}

test("W5: a hook finds deps with the type that the tools need", () => {
  const sell = tool({
    name: "sell",
    description: "Sells",
    input: jsonSchema<object>({ type: "object" }),
    execute: (_args, ctx: ToolContext<Shop>) => ctx.deps.price,
  });
  const seller = agent({
    name: "seller",
    model: scriptedModel("x"),
    tools: [sell],
    hooks: {
      beforeTool: ({ deps, args }) => {
        expectTypeOf(deps).toEqualTypeOf<Shop>();
        return { args };
      },
    },
  });
  // @ts-expect-error what a hook returns is checked, too
  agent({ name: "seller", model: scriptedModel("x"), hooks: { afterTool: () => ({ result: 1 }) } });
  createRunner({
    agent: seller,
    deps: { price: 3 },
    hooks: { afterModel: ({ deps }) => expectTypeOf(deps.price).toEqualTypeOf<number>() && undefined },
  });
});
