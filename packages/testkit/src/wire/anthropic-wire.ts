// Anthropic's messages: an answer is a list of blocks, one open at a time; a thinking block ends with its signature.

import { halves, sse, type WireCall, type WireFinish, type WireFormat, wireUsage } from "./wire-format.ts";

export function anthropicWire(model: string): WireFormat {
  let index = -1;
  let open: "text" | "thinking" | undefined;

  const say = (type: string, more: object) => sse({ type, ...more }, type);
  const start = (block: object) => say("content_block_start", { index: ++index, content_block: block });
  const delta = (more: object) => say("content_block_delta", { index, delta: more });

  function close(): string {
    if (open === undefined) return "";
    open = undefined;
    return say("content_block_stop", { index });
  }

  function block(kind: "text" | "thinking"): string {
    if (open === kind) return "";
    const before = close();
    open = kind;
    return before + start(kind === "text" ? { type: kind, text: "" } : { type: kind, thinking: "", signature: "" });
  }

  const reasons = { stop: "end_turn", "tool-calls": "tool_use", length: "max_tokens" };
  return {
    begin() {
      const usage = { input_tokens: wireUsage.input, output_tokens: 1 };
      const empty = { content: [], stop_reason: null, stop_sequence: null };
      const message = { id: "msg_1", type: "message", role: "assistant", model, ...empty, usage };
      return say("message_start", { message }) + say("ping", {});
    },
    text: (said) => block("text") + delta({ type: "text_delta", text: said }),
    reasoning(said, signature) {
      const begun = block("thinking") + delta({ type: "thinking_delta", thinking: said });
      return signature === undefined ? begun : begun + delta({ type: "signature_delta", signature }) + close();
    },
    call(call: WireCall) {
      const before = close();
      const begun = start({ type: "tool_use", id: call.id, name: call.name, input: {} });
      const pieces = halves(call).map((piece) => delta({ type: "input_json_delta", partial_json: piece }));
      return before + begun + pieces.join("") + (call.unfinished ? "" : say("content_block_stop", { index }));
    },
    end(finish: WireFinish) {
      const why = { stop_reason: reasons[finish], stop_sequence: null };
      const last = say("message_delta", { delta: why, usage: { output_tokens: wireUsage.output } });
      return close() + last + say("message_stop", {});
    },
    fail: (message) => say("error", { error: { type: "overloaded_error", message } }),
    refusal(status, message) {
      const type = status === 429 ? "rate_limit_error" : status >= 500 ? "api_error" : "invalid_request_error";
      return { type: "error", error: { type, message } };
    },
  };
}
