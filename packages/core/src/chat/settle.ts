// The last answer of a run: its output; an answer that does not fit the schema is sent back.

import { BelayError, belayError } from "../error.ts";
import type { Fact } from "../event.ts";
import type { Frame } from "../frame.ts";
import { asText, type Json, toJson } from "../json.ts";
import type { Message } from "../message.ts";
import { validate } from "../schema/schema.ts";
import type { ChatDefinition } from "./definition.ts";
import { type Next, stoppedWith } from "./next.ts";

/** The run's end: its text, or, with an output schema, the value in it. An answer that does not fit is sent back. */
export async function settle(
  frame: Frame,
  agent: ChatDefinition,
  text: string,
  facts: readonly Fact[],
  finish?: Message["finish"],
): Promise<Next> {
  if (frame.desk.hasMail(frame, "steer")) {
    // The person has said more meanwhile: one more turn, now or after the stop.
    if (frame.signal.halts("after-model")) return stoppedWith(facts);
    await frame.record(() => facts);
    await frame.desk.takeMail(frame);
    if (frame.scope.last !== "answer") return "on";
    facts = [];
  }
  // The model has ended, and there are no calls to hold: the agent around this one runs no other.
  if (frame.signal.halts("after-model")) frame.signal.haltAt("after-tools");
  const ended = { how: "completed", facts, text, finish: finish ?? "stop" } as const;
  if (agent.output === undefined) return { output: text, ...ended };
  const checked = await frame.signal.orStopped(readOutput(agent, text));
  if (checked === undefined) return stoppedWith(facts);
  if (checked.ok) {
    // Said while it was checked.
    if (frame.desk.hasMail(frame, "steer")) return settle(frame, agent, text, facts, finish);
    const stored = storedOutput(frame, agent, checked.value);
    return "error" in stored ? { how: "failed", facts, ...stored } : { ...stored, ...ended };
  }
  const error = belayError("OUTPUT_INVALID", { agent: agent.name, problem: checked.problem });
  const words = `Your answer does not fit the required JSON Schema: ${checked.problem}. Answer again, with that JSON only.`;
  const { runId, segment, runPath } = frame.place;
  const place = runPath.includes("/") ? `${runId}.${runPath}` : runId;
  const id = `${place}.o${segment}.${frame.scope.messages.length}`;
  const parts = [{ type: "text" as const, text: words }];
  const correction = frame.message({ id, role: "user", parts, at: frame.clock.now(), origin: "runtime" }, 0, 1);
  if (corrections(frame.scope.messages) >= agent.maxCorrections) {
    return { how: "failed", facts: [...facts, correction], error };
  }
  if (frame.signal.halts("after-model")) return stoppedWith([...facts, correction]);
  await frame.record(() => [...facts, correction]);
  return "on";
}

/**
 * Returns the output of the whole run, if a call has ended it with `exit()` or `breakLoop()`: the value as the agent's schema
 * reads it. A call of a nested agent ends a run of another agent, whose output may have any type.
 */
export async function exitOutput(
  frame: Frame,
  agent: ChatDefinition,
  given: Json,
): Promise<{ readonly output: Json } | { readonly error: BelayError } | undefined> {
  if (frame.place.runPath.includes("/")) return { output: given };
  if (agent.output === undefined) return { output: asText(given) };
  const checked = await frame.signal.orStopped(Promise.resolve(validate(agent.output, given)));
  if (checked === undefined) return undefined;
  if (checked.ok) return storedOutput(frame, agent, checked.value);
  const problem = `a call ended the run with a value of another shape: ${checked.problem}`;
  return { error: belayError("OUTPUT_INVALID", { agent: agent.name, problem, ended: "by a call" }) };
}

/** Returns the output as it is recorded. A schema may return a value that is too large to record, or that JSON cannot hold (I4). */
function storedOutput(
  { desk }: Frame,
  agent: ChatDefinition,
  output: unknown,
): { readonly output: Json } | { readonly error: BelayError } {
  try {
    return { output: toJson(output, `The output of agent ${agent.name}`, desk.maxBytes) };
  } catch (error) {
    if (!(error instanceof BelayError)) throw error;
    if (error.code !== "NOT_SERIALIZABLE") return { error };
    const { found, path } = error.details;
    const problem = `the schema makes ${found} at ${path}, which JSON cannot hold`;
    return { error: belayError("OUTPUT_INVALID", { agent: agent.name, problem, ended: "by its schema" }, error) };
  }
}

async function readOutput(agent: ChatDefinition, text: string): Promise<Awaited<ReturnType<typeof validate>>> {
  let value: unknown;
  try {
    value = JSON.parse(text.trim().replace(/^```(?:json)?\s*([\s\S]*?)\s*```$/, "$1"));
  } catch (error) {
    return { ok: false, problem: `it is not JSON (${error instanceof Error ? error.message : String(error)})` };
  }
  return validate(agent.output!, value);
}

/** How often the present question was sent back. */
function corrections(messages: readonly Message[]): number {
  let count = 0;
  for (let i = messages.length - 1; i >= 0; i--) {
    const message = messages[i]!;
    if (message.role !== "user") continue;
    if (message.origin !== "runtime") break;
    // Late results stand between them.
    if (!message.id.endsWith(".late")) count += 1;
  }
  return count;
}
