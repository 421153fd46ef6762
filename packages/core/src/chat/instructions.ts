// The instructions of an agent: text, or a function that is asked once when the agent begins in a run (I8). Invariants:
// 1. The text of a function is on record before a model reads it. A resume uses the recorded text.
// 2. A text is of one run and one agent: each agent of a family has its own, in the scope that they share.

import type { Ended } from "../agent.ts";
import { noCalls } from "../agent.ts";
import { BelayError, belayError, errorText, shown } from "../error.ts";
import type { Frame } from "../frame.ts";
import { fitting } from "../json.ts";
import { isBlank, type Message } from "../message.ts";
import { valueOfFrame } from "../workflow/composite.ts";
import type { ChatDefinition } from "./definition.ts";
import { stoppedWith } from "./next.ts";

/** Makes the message that stands before the history; undefined for blank text. */
export function systemMessage(instructions: string | undefined): Message | undefined {
  if (instructions === undefined || isBlank(instructions)) return undefined;
  return {
    id: "instructions",
    role: "system",
    parts: [{ type: "text", text: instructions }],
    at: 0,
    origin: "runtime",
  };
}

/** Returns the message that stands before the history: the agent's text, or the recorded one of its function. */
export function instructionsIn(
  { steps }: Frame["scope"],
  { name, instructions, instruct }: Pick<ChatDefinition, "name" | "instructions" | "instruct">,
): Message | undefined {
  if (instruct === undefined) return instructions;
  const recorded = steps?.find(({ key }) => key === keyOf(name))?.value;
  return systemMessage(typeof recorded === "string" ? recorded : undefined);
}

/** Returns true if the agent's function has yet to be asked in this run. */
export function lacksInstructions(
  { steps }: Frame["scope"],
  { name, instruct }: Pick<ChatDefinition, "name" | "instruct">,
): boolean {
  return instruct !== undefined && !steps?.some(({ key }) => key === keyOf(name));
}

/** Asks the function and records its text. Resolves to the end of the segment if a stop or an error comes first. */
export async function recordInstructions(frame: Frame, agent: ChatDefinition): Promise<Ended | undefined> {
  const { deps, place, desk, scope, signal } = frame;
  const context = { deps, threadId: place.threadId, input: valueOfFrame(frame), values: desk.values };
  const stopped = () => stoppedWith([], noCalls, scope.attempt + 1);
  try {
    const made = await signal.orStopped(Promise.resolve(agent.instruct!(context)).then((text) => ({ text })));
    if (made === undefined) return stopped();
    const text = readText(agent.name, made.text, desk.maxBytes);
    const key = keyOf(agent.name);
    await frame.record(() => [frame.step(undefined, `${place.runPath}/${key}`, key, { value: text })]);
  } catch (error) {
    return { how: "failed", facts: [], error: failureOf(agent.name, error) };
  }
  return signal.halts("after-tools") ? stopped() : undefined;
}

function readText(agent: string, text: unknown, most: number): string {
  if (typeof text !== "string") {
    throw belayError("AGENT_INVALID", {
      agent,
      problem: `the function of its instructions gave ${shown(text)}, not text`,
    });
  }
  fitting(text, `The instructions of agent ${agent}`, most);
  return text;
}

function failureOf(agent: string, error: unknown): BelayError {
  if (error instanceof BelayError) return error;
  return belayError("AGENT_FAILED", { agent, reason: `the function of its instructions: ${errorText(error)}` }, error);
}

/** The key of the step that holds the text. A scope of a chat agent has no other steps of its own. */
function keyOf(agent: string): string {
  return `instructions:${agent}`;
}
