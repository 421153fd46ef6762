// Shared by both processes: an agent that looks something up and describes it.
import { agent, createRunner, jsonSchema, messageText, type Store, tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";

/** Looking something up takes until `found`. */
export function guideOn(store: Store, found: Promise<unknown> = Promise.resolve()) {
  const lookUp = tool({
    name: "look_up",
    description: "Looks something up.",
    input: jsonSchema({ type: "object" }),
    readOnly: true,
    async execute() {
      await found;
      return "Tea is a leaf; it came to Europe by ship.";
    },
  });

  // Decides the next step from the request, as a model does.
  const model = scriptedModel(({ messages }) => {
    const said = messages.map(messageText);
    if (said.includes("Only what it is, please.")) return "It is a leaf, dried. That is all.";
    if (messages.some(({ role }) => role === "tool"))
      return [{ text: "It came to Europe by ship, and" }, { stall: true }];
    return [{ call: "look_up" }];
  });
  return createRunner({ agent: agent({ name: "guide", model, tools: [lookUp] }), store });
}
