// The answers of a world's model: turns as data, so that a property test can draw, shrink and print them.

import type { ModelEvent, ModelRequest } from "@belay/core";
import { tick, ticks } from "../simulation/tick.ts";
import type { ToolName } from "./tools.ts";

export type Piece =
  | { readonly text: string }
  | { readonly reasoning: string; readonly signed: boolean }
  /** `ticks`: how many rounds of the event loop the tool works. `id`: the provider's, which may repeat. */
  | { readonly call: ToolName; readonly ticks: number; readonly id: number }
  | { readonly wait: number }
  /** Says nothing more; `deaf` models do not heed their signal either. */
  | { readonly stall: "heeding" | "deaf" }
  | { readonly fail: "retry" | "refused" }
  | { readonly length: true };

export type Turn = readonly Piece[];

export async function* speak(turn: Turn, request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
  let calls = 0;
  for (const piece of turn) {
    if ("text" in piece) {
      yield { type: "text", text: piece.text };
      await tick();
    } else if ("reasoning" in piece) {
      yield { type: "reasoning", text: piece.reasoning };
      if (piece.signed) yield { type: "reasoning-end", provider: { signature: "sig" } };
    } else if ("call" in piece) {
      calls += 1;
      yield { type: "call", id: `id_${piece.id}`, tool: piece.call, args: { ticks: piece.ticks } };
    } else if ("wait" in piece) {
      await ticks(piece.wait);
    } else if ("stall" in piece) {
      await new Promise<never>((_, reject) => {
        if (piece.stall === "heeding") signal.addEventListener("abort", () => reject(signal.reason));
      });
    } else if ("fail" in piece) {
      throw Object.assign(new Error(`the provider says ${piece.fail}`), { status: piece.fail === "retry" ? 503 : 400 });
    } else {
      yield { type: "finish", finish: "length", usage: { inputTokens: 1, outputTokens: 1 } };
      return;
    }
  }
  const usage = { inputTokens: request.messages.length, outputTokens: turn.length };
  yield { type: "finish", finish: calls > 0 ? "tool-calls" : "stop", usage };
}
