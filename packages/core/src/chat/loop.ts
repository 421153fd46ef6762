// The loop of model and tools. It keeps no state of its own: the next step is read from the scope's history, so a
// run continues from any point, in any process, by the same code that runs it the first time.

import type { Ended } from "../agent.ts";
import { noCalls } from "../agent.ts";
import { BelayError, belayError, errorText, GENERAL } from "../error.ts";
import type { Action, Fact } from "../event.ts";
import type { Frame } from "../frame.ts";
import { hooksNamed } from "../hooks/hooks.ts";
import { callAddress, turnAddress } from "../interrupt/address.ts";
import type { CallState } from "../journal/state.ts";
import { asText } from "../json.ts";
import type { Message, Part } from "../message.ts";
import { messageText } from "../message.ts";
import type { ModelCall, ModelCallEnd } from "./call-model.ts";
import { keepWithin, withFocus } from "./compact.ts";
import type { ChatDefinition, ContextBudget } from "./definition.ts";
import { lacksInstructions, recordInstructions } from "./instructions.ts";
import { metBy } from "./met-by.ts";
import { callHooked } from "./model-hooks.ts";
import { type Next, stoppedWith } from "./next.ts";
import { type NextCall, newCall, openCall } from "./open-call.ts";
import { promptFor } from "./request.ts";
import { exitOutput, settle } from "./settle.ts";
import { afterToolHooks } from "./tool-hooks.ts";
import { TurnCalls } from "./turn-calls.ts";

export async function chatLoop(frame: Frame, agent: ChatDefinition): Promise<Ended> {
  for (;;) {
    const { action, active, last, callsBy } = frame.scope;
    // While only answered calls run, no turn starts and no agent ends.
    if (!frame.beginning.mayCallModel && last !== "calls") return { how: "asking", facts: [], calls: noCalls };
    if (action !== undefined && last !== "calls") return acted(frame, agent, action);
    // Open calls belong to the agent that made them, also if one of them has handed over.
    const name = last === "calls" ? callsBy : active;
    const own = name === undefined || name === agent.name;
    const speaker = own ? frame : frame.child(name, frame.place.runPath, frame.scope, frame.hears);
    if (hasMail(speaker)) {
      await speaker.desk.takeMail(speaker);
      continue;
    }
    const next = await (own ? step(frame, agent) : handedOver(speaker, agent, name));
    if (next !== "on") return next;
    speaker.turnEnd(frame.scope.turn);
  }
}

/** Something was said, or a call that was left behind has ended: it enters before the next model call. */
function hasMail(frame: Frame): boolean {
  const { scope, signal, desk } = frame;
  const { last } = scope;
  if (last === "calls" || last === "answer" || signal.halts("after-tools")) return false;
  // A late result does not come between a cut answer and its rest: it waits for the next turn.
  return desk.hasMail(frame, last === "cut" ? "steer" : undefined);
}

/** A call ended the run, or the loop it is in, with an output of its own. */
async function acted(frame: Frame, agent: ChatDefinition, action: Action): Promise<Ended> {
  const given = action.exit?.output ?? action.breakLoop?.output ?? null;
  const made = await exitOutput(frame, agent, given);
  if (made === undefined) return stoppedWith([]);
  if ("error" in made) return { how: "failed", facts: [], ...made };
  return { how: "completed", facts: [], text: asText(given), ...made, finish: "stop", action };
}

/** Another agent of the family has the word: the same history, other instructions, tools and model. */
function handedOver(frame: Frame, agent: ChatDefinition, name: string): Promise<Next> | Ended {
  const active = agent.family?.get(name);
  if (active === undefined) {
    const known = [...(agent.family?.keys() ?? [agent.name])].join(", ");
    return { how: "failed", facts: [], error: belayError("AGENT_UNKNOWN", { agent: name, known }) };
  }
  return step(frame, active);
}

function step(frame: Frame, agent: ChatDefinition): Promise<Next> | Ended {
  const { scope } = frame;
  switch (scope.last) {
    case "calls":
      return openCalls(frame, agent);
    case "answer":
      return openAnswer(frame, agent);
    case "nothing":
    case "input":
    case "results":
    case "cut":
      return modelTurn(frame, agent);
    default:
      return scope.last satisfies never;
  }
}

/** A whole answer that an earlier segment left unchecked. */
async function openAnswer(frame: Frame, agent: ChatDefinition): Promise<Next> {
  const { turn, messages } = frame.scope;
  const answer = messages.at(-1)!;
  frame.turnStart(turn, 1);
  const next = await settle(frame, agent, messageText(answer), [], answer.finish);
  return next === "on" ? next : { ...next, turn };
}

/** Calls that an earlier segment left open: each continues by its record. */
async function openCalls(frame: Frame, agent: ChatDefinition): Promise<Next> {
  const { scope } = frame;
  frame.turnStart(scope.turn, 1);
  const lost: Fact[] = [];
  const found: (NextCall | Promise<NextCall>)[] = [];
  for (const call of scope.calls) {
    const next = call.status === "ended" ? undefined : openCall(frame, agent, call, lost);
    if (next !== undefined) found.push(next);
  }
  const { turn } = scope;
  // Also one that ends before any of them has moved.
  return new Promise((then) => runCalls(frame, agent, found, lost, scope.calls, turn, then));
}

/** Called once with the rest of a turn. By callbacks, down to the model: promises for each part of a turn were much of its cost. */
type Then = (next: Next | Promise<Next>) => void;

function runCalls(
  frame: Frame,
  agent: ChatDefinition,
  found: readonly (NextCall | Promise<NextCall>)[],
  first: readonly Fact[],
  open: readonly CallState[],
  turn: number,
  then: Then,
): void {
  if (found.every(isReady)) return runReady(frame, agent, found, first, turn, then);
  const all = Promise.all(found).catch((error: unknown) => ({ error }));
  const next = frame.signal.orStopped(all).then((calls): Promise<Next> | Ended => {
    if (Array.isArray(calls)) return new Promise((each) => runReady(frame, agent, calls, first, turn, each));
    for (const next of found) if (isReady(next) && "live" in next) next.live.drop();
    // A hook failed: no call has started, and facts that are not appended yet are kept.
    if (calls !== undefined) return { how: "failed", facts: first, error: failureOf(agent, calls.error) };
    return stoppedWith(first, metBy(frame, open));
  });
  then(next.then((each) => inTurn(each, turn)));
}

function failureOf(agent: ChatDefinition, error: unknown): BelayError {
  if (error instanceof BelayError) return error;
  return belayError("AGENT_FAILED", { agent: agent.name, reason: errorText(error) }, error);
}

function isReady(found: NextCall | Promise<NextCall>): found is NextCall {
  return !(found instanceof Promise);
}

function runReady(
  frame: Frame,
  agent: ChatDefinition,
  calls: readonly NextCall[],
  first: readonly Fact[],
  turn: number,
  then: Then,
): void {
  const resolve = (call: CallState) => {
    // The fold has its own record of a call of this turn.
    const known = frame.scope.calls.find(({ part }) => part.id === call.part.id) ?? call;
    return openCall(frame, agent, known, []) ?? { call, left: true };
  };
  const done = (ended: TurnCalls) => then(inTurn(afterCalls(frame, ended), turn));
  new TurnCalls(frame, calls, agent.graceMs, first, resolve, done, afterToolHooks(frame, agent)).start();
}

function afterCalls(frame: Frame, calls: TurnCalls): Next {
  const { turn } = frame.scope;
  if (frame.signal.stop !== undefined) {
    return {
      how: "stopped",
      turn,
      facts: calls.holds(),
      partialText: calls.partialText,
      calls: calls.summary(),
      attempt: 1,
    };
  }
  if (calls.broken !== undefined) return { how: "failed", turn, facts: calls.breaks(), error: calls.broken };
  const unwritten = calls.unwritten();
  if (calls.waitsForPeople || !frame.beginning.mayCallModel) {
    return { how: "asking", turn, facts: unwritten, calls: calls.summary() };
  }
  if (calls.complete && !frame.signal.halts("after-tools")) return "on";
  return {
    how: "stopped",
    turn,
    facts: calls.holds(),
    partialText: calls.partialText,
    calls: calls.summary(),
    attempt: 1,
  };
}

// Written as small functions that await only if there is something to wait for: the allocations of a turn are most of the cost
// of many runs at once.
function modelTurn(frame: Frame, agent: ChatDefinition): Promise<Next> | Ended {
  const { scope, signal } = frame;
  // Also a stop that came while rows were consumed: it costs no request.
  if (signal.halts("after-tools")) return stoppedWith([], noCalls, scope.attempt + 1);
  if (lacksInstructions(scope, agent)) return instructFirst(frame, agent);
  return agent.budget === undefined ? askModel(frame, agent) : shortenFirst(frame, agent, agent.budget);
}

async function instructFirst(frame: Frame, agent: ChatDefinition): Promise<Next> {
  const ended = await recordInstructions(frame, agent);
  if (ended !== undefined) return ended;
  // Said while the function ran.
  if (hasMail(frame)) await frame.desk.takeMail(frame);
  return modelTurn(frame, agent);
}

async function shortenFirst(frame: Frame, agent: ChatDefinition, budget: ContextBudget): Promise<Next> {
  for (;;) {
    const wish = budget.wanted?.();
    const ended = await keepWithin(frame, agent, withFocus(budget, wish), wish !== undefined);
    if (ended !== undefined) return ended;
    // A stop that came while a summary was written costs no request; inputs that came in the meantime enter before it.
    if (frame.signal.halts("after-tools")) return stoppedWith([], noCalls, frame.scope.attempt + 1);
    if (!hasMail(frame)) return askModel(frame, agent);
    await frame.desk.takeMail(frame);
  }
}

function askModel(frame: Frame, agent: ChatDefinition): Promise<Next> | Ended {
  const { scope } = frame;
  // Another agent may have the word than the one that was asked.
  frame.onText = hooksNamed(frame.desk.hooks, agent.hooks, "onText");
  const continued = scope.last === "cut" ? scope.messages.at(-1)! : undefined;
  const turn = continued === undefined ? scope.turn + 1 : scope.turn;
  if (turn > scope.allowedFrom + agent.maxTurns) {
    return {
      how: "failed",
      facts: [],
      error: belayError("MAX_TURNS", { agent: agent.name, maxTurns: agent.maxTurns }),
    };
  }
  const { runId, segment, agentName, runPath } = frame.place;
  const place = runPath === agentName ? runId : `${runId}.${runPath}`;
  const messageId = continued === undefined ? `${place}.${turn}` : `${place}.${turn}c${segment}`;
  const messages = promptFor(scope, agent);
  frame.turnStart(turn, scope.attempt + 1);
  const { model, timeouts, retry } = agent;
  const request = { ...agent.request, messages };
  const call = { model, request, messageId, continues: continued?.id, timeouts, retry, attempt: scope.attempt };
  return new Promise((then, failed) => {
    callHooked(frame, agent, call, turn, (end) => {
      const said = { frame, agent, end, turn, id: messageId, continues: continued?.id };
      const tooLong = agent.budget !== undefined && end.how === "failed" && end.error.code === "CONTEXT_OVERFLOW";
      try {
        if (tooLong) then(shortened(said, call, agent.budget!));
        else conclude(said, then);
      } catch (error) {
        failed(error);
      }
    });
  });
}

/** The provider counts more than we do: summarise once, against any estimate. */
async function shortened(said: Said, call: ModelCall, budget: ContextBudget): Promise<Next> {
  const { frame, agent, end, turn } = said;
  const [oldest] = frame.scope.prompt;
  const ended = await keepWithin(frame, agent, budget, true);
  if (ended !== undefined) return { ...ended, turn };
  if (frame.scope.prompt[0] === oldest) return new Promise((then) => conclude(said, then));
  const request = { ...agent.request, messages: promptFor(frame.scope, agent) };
  const asked = { ...call, request, attempt: end.attempt };
  const again = await new Promise<ModelCallEnd>((ended) => callHooked(frame, agent, asked, turn, ended));
  return new Promise((then) => conclude({ ...said, end: again }, then));
}

function inTurn(next: Next, turn: number): Next {
  if (next === "on" || next.turn === turn) return next;
  return next.turn === undefined ? { turn, ...next } : { ...next, turn };
}

/** The model's answer, and its place. */
interface Said {
  readonly frame: Frame;
  readonly agent: ChatDefinition;
  readonly end: ModelCallEnd;
  readonly turn: number;
  readonly id: string;
  readonly continues: string | undefined;
}

/** Makes the message of the answer, and decides the next step. */
function conclude(said: Said, then: Then): void {
  const { frame, agent, end, turn, continues } = said;
  const { answer } = end;
  if (end.how === "failed") return then(inTurn(failed(said, end.error), turn));
  if (end.how === "stopped") return then(inTurn(stopped(said), turn));
  const parts = answer.parts();
  const finish = answer.finish ?? (answer.calls > 0 ? "tool-calls" : "stop");
  if (finish === "length") {
    const error = belayError("MAX_TOKENS", { model: agent.model.id, turn });
    return then(inTurn(failed(said, error, finish), turn));
  }
  if (answer.calls > 0) {
    const calls = newCalls(frame, parts, answer.calls, turn);
    const found = calls.map((call) => newCall(frame, agent, call));
    return runCalls(frame, agent, found, [messageFact(said, parts, finish)], calls, turn, then);
  }
  // An answer that had nothing to add to its cut beginning is complete all the same.
  const facts = parts.length > 0 || continues !== undefined ? [messageFact(said, parts, finish)] : [];
  const before = continues === undefined ? "" : messageText(frame.scope.messages.at(-1)!);
  then(settle(frame, agent, before + answer.text(), facts, finish).then((next) => inTurn(next, turn)));
}

/** Keeps the shown part of an answer that an error ended, without calls: the next try makes its own. */
function failed(said: Said, error: BelayError, finish?: Message["finish"]): Ended {
  const { answer, attempt } = said.end;
  const parts = answer.cutParts()?.filter((part) => part.type !== "call");
  const interrupted = { by: "error", at: said.frame.clock.now(), reason: error.code };
  if (parts === undefined || !parts.some((part) => part.type === "text")) {
    return { how: "failed", facts: [], error, attempt: attempt + 1 };
  }
  return { how: "failed", facts: [messageFact(said, parts, finish, interrupted)], error };
}

function stopped(said: Said): Ended {
  const { answer, attempt } = said.end;
  const { stop } = said.frame.signal;
  const parts = stop?.rollbackPartial ? undefined : answer.cutParts();
  const { by = "user", at = 0, reason = GENERAL } = stop ?? {};
  const facts = parts === undefined ? [] : [messageFact(said, parts, undefined, { by, at, reason })];
  const held = parts === undefined ? [] : newCalls(said.frame, parts, answer.calls, said.turn);
  return {
    how: "stopped",
    facts,
    partialText: parts === undefined ? "" : answer.text(),
    calls: held.map(({ part: { id }, address }) => ({ id, address, how: "notStarted" })),
    attempt: facts.length > 0 ? 1 : attempt + 1,
  };
}

function messageFact(
  { frame, agent, end, turn, id, continues }: Said,
  parts: readonly Part[],
  finish: Message["finish"],
  interrupted?: Message["interrupted"],
): Fact {
  const { usage } = end.answer;
  const at = frame.clock.now();
  const { id: model } = agent.model;
  const role = "assistant";
  const origin = "model";
  // The literal has the fields of most answers, the others are assigned: objects spread into one another cost more than all
  // else here.
  let message: { -readonly [K in keyof Message]: Message[K] };
  if (usage !== undefined && finish !== undefined) {
    message = { id, role, parts, at, origin, model, usage, finish };
  } else {
    message = { id, role, parts, at, origin, model };
    if (usage !== undefined) message.usage = usage;
    if (finish !== undefined) message.finish = finish;
  }
  if (continues !== undefined) message.continues = continues;
  if (interrupted !== undefined) message.interrupted = interrupted;
  return frame.message(message, turn, end.attempt);
}

function newCalls(frame: Frame, parts: readonly Part[], count: number, turn: number): CallState[] {
  const at = turnAddress(frame.place.runPath, turn);
  const calls = new Array<CallState>(count);
  let index = 0;
  for (const part of parts) {
    if (part.type !== "call") continue;
    calls[index] = { part, address: callAddress(at, index), status: "held", cut: false, result: undefined };
    index += 1;
  }
  return calls;
}
