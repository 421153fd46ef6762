import { expectTypeOf, test } from "vitest";
import { agent, createRunner, jsonSchema, type ToolContext, tool } from "../index.ts";
import { scriptedModel } from "../testing/index.ts";

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
  // @ts-expect-error the return value of a hook is checked, too
  agent({ name: "seller", model: scriptedModel("x"), hooks: { afterTool: () => ({ result: 1 }) } });
  createRunner({
    agent: seller,
    deps: { price: 3 },
    hooks: { afterModel: ({ deps }) => expectTypeOf(deps.price).toEqualTypeOf<number>() && undefined },
  });
});
