// A model that plays a script: for tests, examples and offline use.

import type { Finish, Usage } from "../message.ts";
import type { Model, ModelEvent, ModelRequest } from "../model/model.ts";
import { type KnownOptions, refuseUnknown } from "../refuse-unknown.ts";

/** One thing the model does in a turn. */
export type ScriptedPart =
  /** Streams it, in pieces if it is an array. */
  | { readonly text: string | readonly string[] }
  | { readonly reasoning: string | readonly string[]; readonly signature?: string }
  | { readonly call: string; readonly args?: unknown; readonly id?: string }
  /** Waits; a stop ends the wait. */
  | { readonly wait: number }
  /** Never says another word, and never ends, unless it is stopped. */
  | { readonly stall: true }
  | { readonly throw: unknown }
  | { readonly finish: Finish; readonly usage?: Usage };

/** A turn: text, parts, or a function of the request. */
export type ScriptedTurn =
  | string
  | readonly ScriptedPart[]
  | ((
      request: ModelRequest,
      call: number,
    ) => string | readonly ScriptedPart[] | Promise<string | readonly ScriptedPart[]>);

/** The options of `scriptedModel()`. */
export interface ScriptedModelOptions {
  readonly id?: string | undefined;
  readonly prefill?: boolean | undefined;
  /** Time between two pieces of text. */
  readonly delayMs?: number | undefined;
  /** Splits text given as one string into pieces of about this many characters. */
  readonly chunkSize?: number | undefined;
}

const OPTIONS: KnownOptions<ScriptedModelOptions> = { id: true, prefill: true, delayMs: true, chunkSize: true };

/** A model that plays a script, and keeps the requests that it got. */
export interface ScriptedModel extends Model {
  /** The requests, call by call. */
  readonly requests: readonly ModelRequest[];
}

/** Plays `turns` one call after the other; a function alone answers every call. */
export function scriptedModel(
  turns: readonly ScriptedTurn[] | ScriptedTurn,
  options: ScriptedModelOptions = {},
): ScriptedModel {
  refuseUnknown("scriptedModel()", options, OPTIONS);
  const requests: ModelRequest[] = [];
  const list =
    Array.isArray(turns) && (turns.length === 0 || isTurnList(turns)) ? (turns as readonly ScriptedTurn[]) : undefined;
  let ids = 0;
  return {
    id: options.id ?? "scripted",
    provider: "scripted",
    prefill: options.prefill ?? false,
    requests,
    async *stream(request: ModelRequest, { signal }: { readonly signal: AbortSignal }): AsyncGenerator<ModelEvent> {
      const index = requests.push(request) - 1;
      const turn = list === undefined ? (turns as ScriptedTurn) : list[index];
      if (turn === undefined) throw new Error(`The script has ${list?.length} turns; this is call ${index + 1}.`);
      const said = typeof turn === "function" ? await turn(request, index) : turn;
      const parts: readonly ScriptedPart[] = typeof said === "string" ? [{ text: said }] : said;
      let finish: Finish | undefined;
      let usage: Usage = { inputTokens: request.messages.length, outputTokens: parts.length };
      for (const part of parts) {
        if ("text" in part) {
          for (const text of pieces(part.text, options.chunkSize)) {
            if (options.delayMs) await wait(options.delayMs, signal);
            yield { type: "text", text };
          }
        } else if ("reasoning" in part) {
          for (const text of pieces(part.reasoning, options.chunkSize)) yield { type: "reasoning", text };
          if (part.signature !== undefined) yield { type: "reasoning-end", provider: { signature: part.signature } };
        } else if ("call" in part) {
          ids += 1;
          finish ??= "tool-calls";
          yield { type: "call", id: part.id ?? `call_${ids}`, tool: part.call, args: part.args ?? {} };
        } else if ("wait" in part) {
          await wait(part.wait, signal);
        } else if ("stall" in part) {
          await new Promise<never>(() => {});
        } else if ("throw" in part) {
          throw part.throw;
        } else {
          finish = part.finish;
          usage = part.usage ?? usage;
        }
      }
      yield { type: "finish", finish: finish ?? "stop", usage };
    },
  };
}

/** A list of turns, not one turn written as a list of parts. */
function isTurnList(turns: readonly unknown[]): boolean {
  return turns.every((turn) => typeof turn === "string" || typeof turn === "function" || Array.isArray(turn));
}

function pieces(text: string | readonly string[], size: number | undefined): readonly string[] {
  if (typeof text !== "string") return text;
  if (size === undefined) return [text];
  return text.match(new RegExp(`[\\s\\S]{1,${size}}(?=\\s|$)|[\\s\\S]{1,${size}}`, "g")) ?? [];
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", cancel);
      resolve();
    }, ms);
    const cancel = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    signal.addEventListener("abort", cancel, { once: true });
  });
}
