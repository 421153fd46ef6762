import { humanInput, tool } from "@belay/core";
import { object, text } from "./schema.ts";

export function askUserTool() {
  return tool({
    name: "ask_user",
    description: "Asks the person a question and gives the answer. For what only they can know or decide.",
    input: object<{ question: string; options?: string[] }>(
      { question: text("One question.", { minLength: 1, maxLength: 4_000 }) },
      {
        options: {
          type: "array",
          description: "Answers to choose from; the person may give another one.",
          items: { type: "string", minLength: 1, maxLength: 400 },
          maxItems: 10,
        },
      },
    ),
    readOnly: true,
    execute: ({ question, options }, ctx) =>
      ctx.ask(humanInput(question, { onNewInput: "answer", ...(options && { context: { options } }) })),
  });
}
