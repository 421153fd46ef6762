// OpenAI's Responses API: an answer is a list of items, each with an id that later requests may refer to.

import { halves, sse, type WireCall, type WireFinish, type WireFormat, wireUsage } from "./wire-format.ts";

export function responsesWire(model: string, request: number): WireFormat {
  let index = -1;
  let sequence = 0;
  /** The events that complete the open item. */
  let open: { readonly kind: "message" | "reasoning"; readonly id: string } | undefined;

  const say = (type: string, more: object) => sse({ type, sequence_number: sequence++, ...more }, type);
  const added = (item: object) => say("response.output_item.added", { output_index: ++index, item });
  const done = (item: object) => say("response.output_item.done", { output_index: index, item });

  function close(encrypted?: string): string {
    if (open === undefined) return "";
    const { kind, id } = open;
    open = undefined;
    if (kind === "message") return done({ type: "message", id, role: "assistant", status: "completed", content: [] });
    const part = say("response.reasoning_summary_part.done", { item_id: id, output_index: index, summary_index: 0 });
    return part + done({ type: "reasoning", id, summary: [], encrypted_content: encrypted ?? null });
  }

  function item(kind: "message" | "reasoning"): { readonly id: string; readonly begun: string } {
    if (open?.kind === kind) return { id: open.id, begun: "" };
    const before = close();
    const id = `${kind === "message" ? "msg" : "rs"}_${request}_${index + 1}`;
    open = { kind, id };
    if (kind === "message") return { id, begun: before + added({ type: kind, id, role: "assistant", content: [] }) };
    const begun = added({ type: kind, id, summary: [], encrypted_content: null });
    const part = say("response.reasoning_summary_part.added", { item_id: id, output_index: index, summary_index: 0 });
    return { id, begun: before + begun + part };
  }

  return {
    begin: () => say("response.created", { response: { id: `resp_${request}`, created_at: 1, model } }),
    text(delta) {
      const { id, begun } = item("message");
      const place = { item_id: id, output_index: index, content_index: 0 };
      return begun + say("response.output_text.delta", { ...place, delta, logprobs: [] });
    },
    reasoning(delta, signature) {
      const { id, begun } = item("reasoning");
      const place = { item_id: id, output_index: index, summary_index: 0 };
      const said = begun + say("response.reasoning_summary_text.delta", { ...place, delta });
      return signature === undefined ? said : said + close(signature);
    },
    call(call: WireCall) {
      const before = close();
      const { id: call_id, name, args } = call;
      const id = `fc_${request}_${index + 1}`;
      const begun = added({ type: "function_call", id, call_id, name, arguments: "", status: "in_progress" });
      const place = { item_id: id, output_index: index };
      const pieces = halves(call).map((delta) => say("response.function_call_arguments.delta", { ...place, delta }));
      if (call.unfinished) return before + begun + pieces.join("");
      const whole = say("response.function_call_arguments.done", { ...place, arguments: args });
      const ended = done({ type: "function_call", id, call_id, name, arguments: args, status: "completed" });
      return before + begun + pieces.join("") + whole + ended;
    },
    end(finish: WireFinish) {
      const { input, output } = wireUsage;
      const usage = { input_tokens: input, output_tokens: output, total_tokens: input + output };
      const cut = finish === "length";
      const response = {
        id: `resp_${request}`,
        usage,
        incomplete_details: cut ? { reason: "max_output_tokens" } : null,
      };
      return close() + say(cut ? "response.incomplete" : "response.completed", { response });
    },
    fail: (message) => say("error", { code: "server_error", message, param: null }),
    refusal: (_status, message) => ({ error: { message, type: "error", param: null, code: null } }),
  };
}
