// How a record reads to a model: the truth about calls that were cut, not executed, or are unknown (H2). None of these
// words are stored; they are made from the recorded outcome.

import { canonical } from "../interrupt/digest.ts";
import type { Json } from "../json.ts";
import type { CallPart, Message, Outcome, Part, ResultPart } from "../message.ts";
import { addUsage, isBlank, NAME } from "../message.ts";

export const CONTINUE_NOTE =
  "[Your last answer was cut off. Go on exactly where it stopped: do not repeat any of it, do not comment on the cut.]";

/** The text of an answer without text, for providers that cannot take its other parts alone. */
const NO_WORDS = "[An answer without words.]";

/** The result part of a call that ended. */
export function resultPart(
  call: Pick<CallPart, "id" | "tool"> & { readonly args?: Json },
  outcome: Outcome,
  output: Json,
  ranArgs?: Json,
  changedBy?: "hook",
): ResultPart {
  const words = wording(outcome, output);
  const told = ranArgs === undefined ? words : withRanArgs(words, call.args ?? null, ranArgs, changedBy);
  return { type: "result", id: call.id, tool: call.tool, outcome, output: told };
}

/** Adds a note for the model if other arguments ran than it asked for. */
function withRanArgs(output: Json, args: Json, ranArgs: Json, changedBy: "hook" | undefined): Json {
  const changed = changes(args, ranArgs);
  if (changed === "") return output;
  const who = changedBy === undefined ? "A person" : "The program";
  const note = `${who} changed the arguments before it ran: ${changed}.`;
  return typeof output === "string" ? `[${note}]\n${output}` : { note, output };
}

/** Returns only the differences: the model has written the rest itself, and it may be long. */
function changes(from: Json, to: Json): string {
  if (!isObject(from) || !isObject(to)) return `they are now ${JSON.stringify(to)}`;
  const words: string[] = [];
  for (const [name, value] of Object.entries(to)) {
    const was = Object.hasOwn(from, name) ? from[name] : undefined;
    if (was === undefined || canonical(was) !== canonical(value)) words.push(`${name} is now ${JSON.stringify(value)}`);
  }
  for (const name of Object.keys(from)) if (!Object.hasOwn(to, name)) words.push(`${name} is left out`);
  return words.join(", ");
}

function isObject(value: Json): value is { readonly [name: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function wording(outcome: Outcome, output: Json): Json {
  switch (outcome) {
    case "ok":
      return output;
    case "error":
      return output === "" || output === null ? "Failed, without saying why." : output;
    case "rejected":
      return `Not executed: ${typeof output === "string" && output !== "" ? output : "a person rejected it."}`;
    case "interrupted":
      return `Interrupted before it finished. It may have taken effect.${soFar(output)}`;
    case "not-executed":
      return "Not executed: the user interrupted before this call started.";
    case "unknown":
      return `Outcome unknown: the program stopped while this call was running. It may have taken effect.${typeof output === "string" ? ` ${output}` : ""}`;
    default:
      return outcome satisfies never;
  }
}

export function lateNote(callId: string, outcome: Outcome, output: Json): string {
  const words = typeof output === "string" ? output : JSON.stringify(output);
  const how = outcome === "ok" ? "has finished after all. Its result" : "has ended after all, with an error";
  return `[The call ${callId}, which was interrupted before, ${how}: ${words}]`;
}

function soFar(output: Json): string {
  if (output === null || (Array.isArray(output) && output.length === 0)) return "";
  const pieces: readonly Json[] = Array.isArray(output) ? output : [output];
  return ` Its output so far:\n${pieces.map((p) => (typeof p === "string" ? p : JSON.stringify(p))).join("\n")}`;
}

/** A message as a model may read it; undefined when nothing of it can be sent. `mark` says that it was cut. */
export function sendable(message: Message, mark: boolean): Message | undefined {
  const cut = mark && message.interrupted !== undefined;
  if (!cut && isSendable(message)) return message;
  const words: Part[] = [];
  const calls: Part[] = [];
  for (const part of message.parts) if (isWanted(part)) (part.type === "call" ? calls : words).push(plain(part));
  if (!words.some((part) => part.type !== "reasoning") && calls.length === 0) return undefined;
  if (cut) words.push({ type: "text", text: markText(message) });
  else if (message.role === "assistant" && calls.length === 0 && !words.some((part) => part.type === "text")) {
    words.push({ type: "text", text: NO_WORDS });
  }
  // Providers refuse words after a call.
  return { ...message, parts: [...words, ...calls] };
}

function isSendable({ role, parts }: Message): boolean {
  let calls = false;
  let words = false;
  for (const part of parts) {
    if (!isWanted(part) || plain(part) !== part) return false;
    if (part.type === "call") calls = true;
    else if (calls) return false;
    if (part.type === "text" || part.type === "call" || role !== "assistant") words = true;
  }
  return words;
}

function isWanted(part: Part): boolean {
  switch (part.type) {
    case "text":
      return !isBlank(part.text);
    case "reasoning":
      return part.provider !== undefined;
    default:
      return true;
  }
}

/** Returns the part itself, or the nearest valid one: for half a character, arguments that are not an object, or an empty name. */
function plain(part: Part): Part {
  switch (part.type) {
    case "text":
      return part.text.isWellFormed() ? part : { ...part, text: part.text.toWellFormed() };
    case "file":
      return (part.name ?? "").isWellFormed() ? part : { ...part, name: part.name!.toWellFormed() };
    case "call": {
      const tool = plainName(part.tool);
      const args = wellFormed(part.args);
      if (typeof args !== "object" || args === null || Array.isArray(args)) {
        return { ...part, tool, args: { invalid_arguments: args } };
      }
      return args === part.args && tool === part.tool ? part : { ...part, tool, args };
    }
    case "result": {
      const tool = plainName(part.tool);
      const output = wellFormed(part.output);
      return output === part.output && tool === part.tool ? part : { ...part, tool, output };
    }
    default:
      return part;
  }
}

/** Models also call names that are no tools, such as `functions.add`: the refusal names them in a form that can be sent. */
function plainName(name: string): string {
  if (NAME.test(name)) return name;
  const letters = name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 63);
  return /^[A-Za-z_]/.test(letters) ? letters : `_${letters}`;
}

/** The value itself where all of its texts are whole. */
function wellFormed(value: Json): Json {
  return isWellFormed(value) ? value : mended(value);
}

function isWellFormed(value: Json): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) return value.every(isWellFormed);
  const items = value as { readonly [key: string]: Json };
  for (const key in items) if (!key.isWellFormed() || !isWellFormed(items[key]!)) return false;
  return true;
}

function mended(value: Json): Json {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(mended);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key.toWellFormed(), mended(item)]));
}

function markText(message: Message): string {
  switch (message.interrupted?.by) {
    case "error":
      return "\n[cut off by an error]";
    case "runtime":
      return "\n[cut off: the program stopped]";
    default:
      return "\n[interrupted by the user]";
  }
}

/**
 * Joins the two pieces of an answer that was cut and then continued into one message with the first one's id. `continues` stays:
 * the provider knows the pieces as two answers, so its data on text no longer fits. Signed reasoning of the second
 * piece goes to the front, as providers require; that of the first is not sent again.
 */
export function joined(cut: Message, rest: Message): Message {
  const reasoning = rest.parts.filter((part) => part.type === "reasoning");
  const said = rest.parts.filter((part) => part.type !== "reasoning");
  const parts: Part[] = [...reasoning, ...cut.parts.map((part) => (part.type === "reasoning" ? unsigned(part) : part))];
  const last = parts.at(-1);
  const [next, ...more] = said;
  if (last?.type === "text" && next?.type === "text") {
    parts[parts.length - 1] = { type: "text", text: last.text + next.text };
    parts.push(...more);
  } else {
    parts.push(...said);
  }
  const { interrupted: _cut, ...start } = cut;
  const { id: _id, at: _at, usage: _usage, ...end } = rest;
  const usage = cut.usage === undefined && rest.usage === undefined ? undefined : addUsage(cut.usage, rest.usage);
  return { ...start, ...end, ...(usage && { usage }), parts };
}

function unsigned(part: Part): Part {
  return part.type === "reasoning" ? { type: "reasoning", text: part.text } : part;
}
