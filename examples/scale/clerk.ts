// The agent that every worker has. Its model decides the next step from the request, as a model does.
import { existsSync } from "node:fs";
import { agent, jsonSchema, messageText, tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";

/** A file that exists once a worker was killed: from then on the long answer has an end. */
export function clerk(killed: string) {
  const pay = tool({
    name: "pay",
    description: "Pays the bill.",
    input: jsonSchema({ type: "object" }),
    needsApproval: true,
    onCrash: "fail",
    execute: () => "paid",
  });
  const model = scriptedModel(({ messages }) => {
    const said = messageText(messages.findLast(({ role }) => role === "user")!);
    if (said.startsWith("Pay")) return messages.at(-1)?.role === "tool" ? "It is paid." : [{ call: "pay" }];
    if (said.startsWith("Count")) return [{ text: "One, two, three," }, { stall: true }];
    if (said.startsWith("Work long") && !existsSync(killed)) return [{ text: "I begin" }, { stall: true }];
    return `Done: ${said}`;
  });
  return agent({ name: "clerk", model, tools: [pay] });
}
