// An agent inside another one. Invariants:
// 1. A child begins and ends on record: one that has ended in this run never runs again, its output is read (F4).
// 2. A child that was cut continues from its own history, by the same code that runs it the first time.
// 3. Nothing begins after a stop, nor while only open calls may run.
// 4. Its input and its output are within the runner's `maxBytes` (P12): else it does not begin, or has failed.

import type { Definition, Ended } from "../agent.ts";
import { noCalls } from "../agent.ts";
import { type BelayError, errorFromRecord, errorRecord } from "../error.ts";
import type { Action, Fact, Patch } from "../event.ts";
import type { Frame } from "../frame.ts";
import { hookFailed } from "../hooks/call-hooks.ts";
import type { ReplyInput } from "../hooks/hooks.ts";
import type { Scope } from "../journal/state.ts";
import { asText, fitting, type Json, toJson } from "../json.ts";
import type { Message, Part } from "../message.ts";
import { messageText } from "../message.ts";
import { point } from "../point.ts";
import { inputAfterHooks, runReply } from "../reply.ts";

/** The input of a child: messages of people, or a value. */
export type ChildInput = { readonly messages: readonly Message[] } | { readonly value: Json };

export interface ChildPlace {
  readonly agent: Definition;
  readonly path: string;
  /** It begins without the history of earlier runs under its path. */
  readonly fresh?: true;
  /** It runs at the same time as others. */
  readonly beside?: true;
  /** It does not get the input of a resume. */
  readonly deaf?: true;
}

export type ChildEnd =
  | { readonly how: "completed"; readonly output: Json; readonly action?: Action }
  | Exclude<Ended, { how: "completed" }>;

export async function runChild(frame: Frame, place: ChildPlace, input: ChildInput): Promise<ChildEnd> {
  const { agent, path } = place;
  const { desk, signal } = frame;
  const known = desk.scope(path);
  const begun = known?.runId === frame.place.runId;
  if (begun && known.ended !== undefined) {
    const { output, action } = known.ended;
    return { how: "completed", output, ...(action && { action }) };
  }
  const failed = begun ? known.failed : undefined;
  if (failed !== undefined && failed !== "again") return { how: "failed", facts: [], error: errorFromRecord(failed) };
  if (!begun || failed === "again") {
    if (!frame.beginning.mayCallModel) return asking;
    if (signal.halts("after-tools")) return stopped;
    const isNew = !begun || wasGivenNothing(agent, known);
    const hooks = isNew ? hooked(frame, place, input) : undefined;
    const made = hooks === undefined ? { input } : await hooks;
    if (made === undefined) return stopped;
    if ("error" in made) return refused(frame, place, made.error);
    const tooLarge = isNew ? inputTooLarge(agent, made.input, desk.maxBytes) : undefined;
    if (tooLarge !== undefined) return refused(frame, place, tooLarge);
    await frame.record(() => (isNew ? startFacts(frame, place, made.input) : [frame.childStart(agent.name, path)]));
    point("child:start", path);
  }
  const child = frame.child(agent.name, path, desk.scope(path)!, frame.hears && !place.deaf);
  child.branches = branchesOf(frame, place);
  child.isNew = !begun;
  // Its turn ends here: the agent around it has turns of its own, or none.
  const { turn, ...ended } = await runReply(agent, child);
  if (turn !== undefined && ended.how !== "completed") child.speaker.turnEnd(turn);
  switch (ended.how) {
    case "completed": {
      // The output of an action is not the last text of the agent.
      const isLastSaid = agent.chats && ended.action === undefined && ended.output === ended.text;
      let output: Json = ended.text;
      try {
        if (!isLastSaid) output = storable(ended.output, agent.name, desk.maxBytes);
      } catch (error) {
        return unrecordable(frame, child, ended.facts, turn, error as BelayError);
      }
      const { values, outputKey } = ended;
      const shared = { ...(values && { values }), ...(outputKey !== undefined && { outputKey }) };
      const more = isLastSaid ? shared : { output, ...shared };
      let unfit: BelayError | undefined;
      const ends = (patch: Patch | undefined) => {
        const end = frame.childEnd(child, "completed", patch === undefined ? more : { ...more, patch });
        const action = acts(child, ended.action);
        return ended.facts.length + action.length === 0 ? [end] : [...ended.facts, ...action, end];
      };
      await recordEnd(frame, ended, ends, (error) => {
        unfit = error;
        return failedBy(frame, child, ended.facts, error);
      });
      if (turn !== undefined) child.speaker.turnEnd(turn);
      if (unfit !== undefined) return { how: "failed", facts: [], error: unfit };
      point("child:end", path);
      return ended.action === undefined
        ? { how: "completed", output }
        : { how: "completed", output, action: ended.action };
    }
    case "failed": {
      const end = frame.childEnd(child, "failed", { error: errorRecord(ended.error) });
      return { ...ended, facts: [...ended.facts, end] };
    }
    case "asking":
    case "stopped":
      return ended;
    default:
      return ended satisfies never;
  }
}

/** It has run, and its output cannot be recorded. The failure is on record at once, so that only a person's resume runs it again. */
async function unrecordable(
  frame: Frame,
  child: Frame,
  facts: readonly Fact[],
  turn: number | undefined,
  error: BelayError,
): Promise<ChildEnd> {
  await frame.record(() => failedBy(frame, child, facts, error));
  if (turn !== undefined) child.speaker.turnEnd(turn);
  return { how: "failed", facts: [], error };
}

function failedBy(frame: Frame, child: Frame, facts: readonly Fact[], error: BelayError): readonly Fact[] {
  return [...facts, frame.childEnd(child, "failed", { error: errorRecord(error) })];
}

function branchesOf({ branches }: Frame, { beside, path }: ChildPlace): readonly string[] {
  return beside ? [...branches, path] : branches;
}

/**
 * Its effect on the agents above is decided when it is written, by the record at that time; `failed` returns the facts if that
 * is impossible.
 */
function recordEnd(
  frame: Frame,
  { patch }: Extract<Ended, { how: "completed" }>,
  facts: (patch: Patch | undefined) => readonly Fact[],
  failed: (error: BelayError) => readonly Fact[],
): Promise<void> {
  if (patch === undefined) return frame.record(() => facts(undefined));
  const made = () => {
    let change: Patch | undefined;
    try {
      change = patch();
    } catch (error) {
      return failed(error as BelayError);
    }
    return facts(change);
  };
  return new Promise((recorded) => frame.desk.record({ facts: made, recorded, alone: true }));
}

/** An action that ends the agents above is on record with its own end. A chat's action was recorded with its call. */
function acts(child: Frame, action: Action | undefined): readonly Fact[] {
  return action === undefined || child.scope.action !== undefined ? [] : [child.acted(action)];
}

const asking: ChildEnd = { how: "asking", facts: [], calls: noCalls };
const stopped: ChildEnd = { how: "stopped", facts: [], partialText: "", calls: noCalls, attempt: 1 };

/** Returns the input after its hooks: undefined after a stop, or the error of a hook. */
function hooked(
  frame: Frame,
  { agent, path }: ChildPlace,
  input: ChildInput,
): Promise<{ readonly input: ChildInput } | { readonly error: BelayError } | undefined> | undefined {
  if (frame.desk.hooks === undefined && agent.hooks === undefined) return undefined;
  const { signal, clock, deps, desk } = frame;
  const host = { place: { ...frame.place, agentName: agent.name, runPath: path }, signal, clock, deps, desk };
  const made = inputAfterHooks(agent, host, input)?.then(
    (given) => {
      // Whether it is too large is not theirs to answer for.
      if (given === input) return { input };
      const own = childInput(given);
      const error = inputTooLarge(agent, own, desk.maxBytes);
      return error === undefined ? { input: own } : { error: hookFailed(host, "beforeReply", error.message, error) };
    },
    (error: BelayError) => ({ error }),
  );
  // One that comes at the boundary costs no start, either.
  return made && signal.orStopped(made).then((end) => (signal.halts("after-tools") ? undefined : end));
}

/** The outputs of other agents may be too large only together, as the input of a join. */
function inputTooLarge(agent: Definition, input: ChildInput, most: number): BelayError | undefined {
  const what = `The input of agent ${agent.name}`;
  try {
    if ("value" in input) fitting(asGiven(agent, input.value), what, most);
    else if (!agent.chats) fitting(wordsOf(input.messages), what, most);
    else for (const { parts } of input.messages) fitting(parts, what, most);
    return undefined;
  } catch (error) {
    return error as BelayError;
  }
}

/** Returns the value as it is recorded: a chat gets a value as text, in which its quotes are escaped once more. */
export function asGiven({ chats }: Pick<Definition, "chats">, value: Json): Json {
  return chats ? asText(value) : value;
}

function childInput(given: ReplyInput): ChildInput {
  if ("value" in given) return given;
  const of = { id: "", role: "user", at: 0, origin: "person" } as const;
  return { messages: given.messages.map(({ parts }): Message => ({ ...of, parts })) };
}

/** It begins and ends on record, with nothing given to it: once it is tried again, its hooks are asked again. */
function refused(frame: Frame, { agent, path, fresh }: ChildPlace, error: BelayError): ChildEnd {
  const start = frame.childStart(agent.name, path, undefined, fresh);
  const place = { ...frame.place, agentName: agent.name, runPath: path };
  const end = frame.childEnd({ place }, "failed", { error: errorRecord(error) });
  return { how: "failed", facts: [start, end], error };
}

function wasGivenNothing({ chats }: Definition, scope: Scope): boolean {
  return chats ? scope.given.length === 0 : scope.input === undefined;
}

function startFacts(frame: Frame, place: ChildPlace, input: ChildInput): readonly Fact[] {
  const { agent, path, fresh, deaf } = place;
  const value = "value" in input ? input.value : wordsOf(input.messages);
  const start = frame.childStart(agent.name, path, agent.chats ? undefined : value, fresh);
  if (!agent.chats) return [start];
  const given = "messages" in input ? input.messages.map(({ parts }) => parts) : [[textPart(value)]];
  const at = frame.clock.now();
  const { runId } = frame.place;
  const origin = "messages" in input ? "person" : "runtime";
  const messages = given.map(
    (parts, i): Message => ({ id: `${runId}.${path}.i${i}`, role: "user", parts, at, origin }),
  );
  if (frame.hears && !deaf) messages.push(...frame.desk.saidMeanwhile(frame.place, branchesOf(frame, place)));
  const { threadId, segment } = frame.place;
  const of = { threadId, runId, segment, attempt: 1, agentName: agent.name, runPath: path };
  return [start, ...messages.map((message) => ({ type: "message" as const, seq: 0, at: 0, ...of, turn: 0, message }))];
}

function textPart(value: Json): Part {
  const text = asText(value);
  // No provider takes an empty message.
  return { type: "text", text: text.trim() === "" ? "(nothing)" : text };
}

/** A value as a model reads it. */
export function wordsOf(messages: readonly Message[]): string {
  return messages.map(messageText).join("\n");
}

/** Returns the output in its recorded form. Throws if it cannot be recorded. */
export function storable(output: unknown, agent: string, most: number): Json {
  return toJson(output, `The output of agent ${agent}`, most);
}
