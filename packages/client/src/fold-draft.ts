// Drafts: text, reasoning, arguments and progress while they stream. They may come late, twice or not at all, because a
// relay is lossy. A draft of an answer that is on record, or of a segment that is over, is void.

import type { Draft } from "@belay/core";
import { given } from "./given.ts";
import { type DraftAnswer, type DraftView, emptyDraft, type ThreadView } from "./thread-view.ts";

/** How many pieces of progress are kept for each call. */
const MOST_PROGRESS = 200;

type Delta = Extract<Draft, { messageId: string }>;

/** Returns the draft after `event`; undefined if that is not a draft. */
export function foldDraft(view: ThreadView, event: Draft): DraftView | undefined {
  const { draft } = view;
  const { type, seq, at, runPath } = event;
  const isVoid = seq < view.since;
  switch (type) {
    case "gap":
      return { ...draft, gap: true };
    case "owner-lost":
      return { ...draft, ownerLost: at };
    case "text-delta":
    case "reasoning-delta":
    case "tool-input-delta":
    case "superseded": {
      const answered = view.agents.find(({ path }) => path === runPath)?.answered ?? 0;
      if (isVoid || seq < answered) return draft;
      const known = draft.answers.find((answer) => answer.runPath === runPath);
      const answer = spoken(known?.messageId === event.messageId ? known : undefined, event);
      if (answer === known) return draft;
      const { wait: _wait, ownerLost: _lost, ...rest } = draft;
      const answers = [...draft.answers.filter((each) => each !== known), answer];
      const whole = type === "text-delta" && event.offset === 0;
      return { ...rest, answers, gap: rest.gap && !whole };
    }
    case "tool-progress": {
      if (isVoid) return draft;
      const { callId, tool, address, data } = event;
      const known = draft.progress.find((each) => each.callId === callId);
      const pieces = [...(known?.data ?? []).slice(1 - MOST_PROGRESS), data];
      const others = draft.progress.filter((each) => each !== known);
      return { ...draft, progress: [...others, { callId, tool, address, data: pieces }] };
    }
    case "turn-start":
    case "turn-end": {
      if (isVoid) return draft;
      const turns = draft.turns.filter((each) => each.runPath !== runPath);
      return { ...draft, turns: type === "turn-end" ? turns : [...turns, { runPath, turn: event.turn, at }] };
    }
    case "model-wait": {
      const { type: _type, ...wait } = event;
      return isVoid ? draft : { ...draft, wait };
    }
    default:
      event satisfies never;
      return undefined;
  }
}

/** Returns the rest of `draft` once the agent at `path` has an answer on record. */
export function answeredDraft(draft: DraftView, path: string): DraftView {
  const { wait, ...rest } = draft;
  const answers = draft.answers.filter(({ runPath }) => runPath !== path);
  return { ...rest, answers, gap: false, ...(wait?.runPath !== path && given({ wait })) };
}

/** Returns the rest of `draft` once the agent at `path` has its summary: its model no longer waits. */
export function summedDraft(draft: DraftView, path: string): DraftView {
  const { wait, ...rest } = draft;
  return wait?.runPath === path ? rest : draft;
}

/** Returns the rest of `draft` once a call has ended. */
export function endedDraft(draft: DraftView, callId: string): DraftView {
  if (!draft.progress.some((each) => each.callId === callId)) return draft;
  return { ...draft, progress: draft.progress.filter((each) => each.callId !== callId) };
}

/** A segment has begun or ended: nothing streams. */
export const restingDraft = emptyDraft;

function spoken(known: DraftAnswer | undefined, event: Delta): DraftAnswer {
  const { messageId, runPath, agentName, attempt, at } = event;
  const answer: DraftAnswer = known ?? {
    messageId,
    runPath,
    agentName,
    attempt,
    text: "",
    reasoning: "",
    missing: 0,
    superseded: [],
    inputs: [],
    at,
  };
  if (attempt < answer.attempt) return answer;
  if (event.type === "superseded") return voided(answer, attempt);
  const fresh = attempt > answer.attempt ? voided(answer, attempt) : answer;
  switch (event.type) {
    case "text-delta": {
      const { continues } = event as { readonly continues?: string };
      return { ...withText(fresh, event.text, event.offset), ...given({ continues }) };
    }
    case "reasoning-delta": {
      const { reasoning } = fresh;
      const { text, offset } = event;
      if (offset + text.length <= reasoning.length) return fresh;
      return { ...fresh, reasoning: reasoning.slice(0, offset) + text };
    }
    case "tool-input-delta": {
      const { callId, tool, text } = event;
      const last = fresh.inputs.findLastIndex((each) => each.callId === callId);
      const input = { callId, tool: tool || (fresh.inputs[last]?.tool ?? ""), text };
      if (last === -1) return { ...fresh, inputs: [...fresh.inputs, input] };
      return { ...fresh, inputs: fresh.inputs.with(last, { ...input, text: fresh.inputs[last]!.text + text }) };
    }
    default:
      return event satisfies never;
  }
}

function voided(answer: DraftAnswer, attempt: number): DraftAnswer {
  const { text, superseded } = answer;
  const more = text === "" ? superseded : [...superseded, text];
  return { ...answer, attempt, text: "", reasoning: "", missing: 0, superseded: more, inputs: [] };
}

/** Adds a piece that begins at `offset` of the whole text. Pieces may repeat known text, or leave a hole. */
function withText(answer: DraftAnswer, piece: string, offset: number): DraftAnswer {
  const { text, missing } = answer;
  const end = text.length + missing;
  if (offset === 0 && piece.length >= end) return { ...answer, text: piece, missing: 0 };
  if (offset >= end) return { ...answer, text: text + piece, missing: missing + offset - end };
  const rest = piece.slice(end - offset);
  return rest === "" ? answer : { ...answer, text: text + rest };
}
