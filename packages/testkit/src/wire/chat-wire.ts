// OpenAI's chat completions, as many other providers speak them too.

import { halves, sse, type WireCall, type WireFinish, type WireFormat, wireUsage } from "./wire-format.ts";

export function chatWire(model: string): WireFormat {
  let calls = 0;
  const chunk = (delta: object, finish: string | null = null) =>
    sse({ ...head, choices: [{ index: 0, delta, finish_reason: finish }] });
  const head = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model };
  const finishes = { stop: "stop", "tool-calls": "tool_calls", length: "length" };
  return {
    begin: () => chunk({ role: "assistant", content: "" }),
    text: (delta) => chunk({ content: delta }),
    reasoning: (delta) => chunk({ reasoning_content: delta }),
    call(call: WireCall) {
      const index = calls++;
      const [first, ...rest] = halves(call);
      const { id, name } = call;
      return [
        chunk({ tool_calls: [{ index, id, type: "function", function: { name, arguments: first } }] }),
        ...rest.map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
      ].join("");
    },
    end(finish: WireFinish) {
      const { input, output } = wireUsage;
      const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
      return chunk({}, finishes[finish]) + sse({ ...head, choices: [], usage }) + sse("[DONE]");
    },
    fail: (message) => sse({ error: { message, type: "server_error", param: null, code: null } }),
    refusal: (_status, message) => ({ error: { message, type: "error", param: null, code: null } }),
  };
}
