import { describe, expect, it } from "vitest";
import { agent, createRunner, jsonSchema, tool } from "./index.ts";
import { scriptedModel } from "./testing/index.ts";

const pay = { name: "pay", description: "", input: jsonSchema<object>({ type: "object" }), execute: () => "paid" };
const bot = { name: "bot", model: scriptedModel("hi") };
const given = (options: object) => options as never;

describe("an option that is nearly the name of another", () => {
  it("Q1: is refused, for it may be the one that asks a person first", () => {
    for (const name of ["needApproval", "needsaproval", "NeedsApproval", "needsApprovel"])
      expect(() => tool(given({ ...pay, [name]: true }))).toThrow(
        expect.objectContaining({
          code: "TOOL_INVALID",
          message: `Tool pay is not valid: there is no option ${name}; needsApproval was meant.`,
        }),
      );
    expect(() => tool(given({ ...pay, timeout: 5 }))).toThrow("timeoutMs was meant");
    expect(() => agent(given({ ...bot, instruction: "Be kind." }))).toThrow(
      expect.objectContaining({ code: "AGENT_INVALID", message: expect.stringContaining("instructions was meant") }),
    );
    expect(() => agent(given({ ...bot, permission: {} }))).toThrow("permissions was meant");
    expect(() => createRunner(given({ agent: agent(bot), unatended: true }))).toThrow(
      expect.objectContaining({ code: "OPTION_INVALID", message: expect.stringContaining("unattended") }),
    );
  });

  it("leaves alone what is nothing like any, what is undefined, and what stands beside the right one", () => {
    const more = { title: "Pay", icon: "coin", needApproval: undefined, timeout: 5, timeoutMs: 5 };
    expect(tool(given({ ...pay, ...more })).timeoutMs).toBe(5);
    expect(agent(given({ ...bot, description: "A bot.", owner: "ann", content: "…" })).name).toBe("bot");
    expect(() => createRunner(given({ agent: agent(bot), environment: "test" }))).not.toThrow();
    const made = tool(pay);
    expect(tool(given({ ...made, name: "again" })).name).toBe("again");
  });
});
