// Whether a call can run: its tool exists, and its arguments fit.

import { shown } from "../error.ts";
import type { CallState } from "../journal/state.ts";
import type { Json } from "../json.ts";
import { validate } from "../schema/schema.ts";
import { parseArgs } from "./parse-args.ts";
import type { Tool } from "./tool.ts";

export interface ReadyCall {
  readonly call: CallState;
  readonly tool: Tool;
  readonly args: unknown;
  /** The arguments that run, if a person or a hook changed them. */
  readonly ranArgs?: Json;
  /** The source of a change that no person made. */
  readonly changedBy?: "hook";
  /** The permission rule that lets it run. */
  readonly rule?: string;
  /** Its start is on record: it continues after a person's answer, from its recorded steps. */
  readonly goesOn?: true;
  /** It was held after it ran in part. */
  readonly resumes?: true;
}

/** A call that can never run; the model reads why. */
export interface RefusedCall {
  readonly call: CallState;
  readonly refusal: string;
}

export type PreparedCall = ReadyCall | RefusedCall;

/** Finds the tool and checks the arguments; waits only if the schema does. */
export function prepareCall(
  tools: ReadonlyMap<string, Tool>,
  call: CallState,
  ranArgs?: Json,
): PreparedCall | Promise<PreparedCall> {
  const { tool: name } = call.part;
  const args = ranArgs ?? call.part.args;
  const tool = tools.get(name);
  if (tool === undefined) {
    const known = [...tools.keys()].join(", ") || "none";
    return { call, refusal: `There is no tool ${shown(name)}. The tools are: ${known}.` };
  }
  if (typeof args !== "object" || args === null || Array.isArray(args)) {
    const parsed = parseArgs(args);
    const problem = parsed.ok ? "the arguments must be a JSON object" : parsed.problem;
    return { call, refusal: `The call was not made: ${problem}. Call the tool again.` };
  }
  const checked = validate(tool.input, args);
  return checked instanceof Promise
    ? checked.then((c) => judge(call, tool, c, ranArgs))
    : judge(call, tool, checked, ranArgs);
}

type Checked = Awaited<ReturnType<typeof validate>>;

function judge(call: CallState, tool: Tool, checked: Checked, ranArgs: Json | undefined): PreparedCall {
  if (checked.ok) {
    return ranArgs === undefined ? { call, tool, args: checked.value } : { call, tool, args: checked.value, ranArgs };
  }
  return { call, refusal: `The arguments do not fit the tool's schema: ${checked.problem}. Call the tool again.` };
}
