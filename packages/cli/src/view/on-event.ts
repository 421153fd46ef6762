// The effect of an event of the thread on the screen. The fold has it first; what is drawn once, above everything that still
// moves, is drawn from the view that the fold returned.

import type { DraftAnswer, StopView } from "@belay/client";
import type { BelayEvent, Json, Message } from "@belay/core";
import { messageText } from "@belay/core";
import { survivorsIn } from "../output-text.ts";
import { peopleWords } from "../problem.ts";
import { afterLine, isTableRow } from "../rows/markdown.ts";
import { sanitizeLine } from "../terminal/sanitize.ts";
import { sentences } from "../texts/sentences.ts";
import type { Texts } from "../texts/texts.ts";
import { openDialog } from "./dialog.ts";
import { labelOf, ownAnswer, withEvent } from "./from-thread.ts";
import { append } from "./list.ts";
import { newReasoning } from "./model-work.ts";
import { type Block, type Effect, type Step, type Stream, still, type Tone, type View } from "./view.ts";

type EventOf<T extends BelayEvent["type"]> = Extract<BelayEvent, { type: T }>;

/** A line without an end is drawn in pieces: the screen has only so many rows. */
const MOST_LINE = 2_000;
/** The part of a long delta that is drawn at once. */
const MOST_LINES = 100;
const MOST_READ = 200;
/** Rows of a table that wait for its end: a longer one is drawn in pieces. */
const MOST_TABLE = 100;

/** Events that show the model at work, or an answer to it on its way. */
const heard: ReadonlySet<BelayEvent["type"]> = new Set([
  "turn-start",
  "superseded",
  "model-wait",
  "reasoning-delta",
  "text-delta",
  "tool-input-delta",
  "message",
  "tool-start",
  "run-end",
  "state",
] as const);

export function onEvent(before: View, event: BelayEvent, texts: Texts): Step {
  const folded = withEvent(before, event);
  // It was there before, or is void.
  if (folded === before) return still(before);
  // The words of nested agents reach the person through the agent that the person talks to.
  const own = !event.runPath.includes("/");
  const view = own && heard.has(event.type) ? { ...folded, heardAt: event.at } : folded;
  switch (event.type) {
    case "turn-start":
      return still(own ? { ...view, stream: undefined } : view);
    case "text-delta":
      return still(own ? streamed(thoughtOf(view, ownAnswer(view.thread), event.at), before, event, texts) : view);
    case "tool-input-delta":
      return still(own ? thoughtOf(view, ownAnswer(view.thread), event.at) : view);
    case "message":
      return still(own ? onMessage(view, before, event, texts) : view);
    case "superseded":
      return still(own ? superseded(view, before, texts) : view);
    case "tool-start":
      return still({ ...endStream(view), goesOn: false });
    case "tool-end":
      return still(onToolEnd(view, before, event, texts));
    case "tool-late":
      return still(onLate(view, event, texts));
    case "action": {
      const next = onAction(onChange(view, event.action.customized), before, event);
      const asks = next.requests.length > before.requests.length;
      return { view: next, effects: asks ? notify(view, event.at, "asks") : [] };
    }
    case "drift":
      return still(own ? note(view, texts.stop.drifted(driftText(event.report, texts)), "dim") : view);
    case "request-answered":
      return onAnswered(view, before, event, texts);
    case "input-queued":
      return view.mail.some(({ id }) => id === event.id) ? still(view) : { view, effects: [{ do: "look" }] };
    case "input-consumed":
      return still({
        ...view,
        mail: view.mail.filter(({ id }) => id !== event.id),
        read: [...view.read, event.id].slice(-MOST_READ),
      });
    case "state": {
      const step = onState(view, before, event);
      const ended = before.state === "running" && (event.state === "completed" || event.state === "error");
      const told = ended ? notify(before, event.at, event.state === "error" ? "failed" : "done") : [];
      return told.length === 0 ? step : { ...step, effects: [...step.effects, ...told] };
    }
    case "run-end":
      return still(onRunEnd(view, event, own, texts));
    case "owner-lost":
      return still(onOwnerLost(view, before, event, texts));
    default:
      return still(view);
  }
}

/** A terminal that does not report its focus may be in view: only the end of something long is notified there. */
const LONG_MS = 20_000;

function notify(view: View, at: number, why: Extract<Effect, { do: "notify" }>["why"]): Effect[] {
  if (view.past || view.focused === true) return [];
  const isLong = view.startedAt !== undefined && at - view.startedAt >= LONG_MS;
  return view.focused === false || isLong ? [{ do: "notify", why }] : [];
}

function driftText({ model, instructions, tools }: EventOf<"drift">["report"], { stop }: Texts): string {
  const names = [...(tools?.added ?? []), ...(tools?.removed ?? []), ...(tools?.changed ?? [])];
  return [
    ...(model === undefined ? [] : [stop.driftModel(model.was ?? "–", model.is ?? "–")]),
    ...(instructions === undefined ? [] : [stop.driftInstructions]),
    ...(names.length === 0 ? [] : [stop.driftTools(names.slice(0, 8).join(", "))]),
  ].join(" · ");
}

export function block(view: View, one: Block): View {
  return { ...view, transcript: append(view.transcript, one) };
}

export function note(view: View, text: string, tone: Tone): View {
  return block(view, { kind: "note", text, tone });
}

/** Adds the new part of the answer that streams. The message that follows has any missing part. */
function streamed(given: View, before: View, { text }: { readonly text: string }, texts: Texts): View {
  const answer = ownAnswer(given.thread)!;
  const { messageId, attempt } = answer;
  const isVoid = given.stream?.messageId === messageId && given.stream.attempt < attempt;
  const view = isVoid ? superseded(given, before, texts) : given;
  const known = view.stream?.messageId === messageId ? view.stream : undefined;
  const flushed = known === undefined ? endStream(view) : view;
  const stream: Stream = known ?? streamOf(messageId, attempt);
  const more = answer.missing > 0 ? 0 : answer.text.length - stream.length;
  if (more <= 0) return { ...flushed, stream };
  // Usually the end of the piece that came. A slice of the whole text would copy it for each piece.
  const fresh = more <= text.length ? text.slice(text.length - more) : answer.text.slice(stream.length);
  return withText(flushed, { ...stream, length: answer.text.length }, fresh);
}

function streamOf(messageId: string, attempt: number): Stream {
  return { messageId, attempt, length: 0, line: "", from: {}, begun: false };
}

/** The rest of a message on record; nothing of it streams any more. */
function whole(view: View, { id }: Message, text: string): View {
  const known = view.stream?.messageId === id ? view.stream : undefined;
  const flushed = known === undefined ? endStream(view) : view;
  const stream = known ?? streamOf(id, 1);
  const fresh = text.slice(stream.length);
  return endStream(fresh === "" ? flushed : withText(flushed, { ...stream, length: text.length }, fresh));
}

function withText(view: View, stream: Stream, fresh: string): View {
  const lines = (stream.line + fresh).split("\n");
  let rest = lines.pop()!;
  if (view.goesOn && !stream.begun && stream.line === "" && fresh.trim() !== "") {
    return withText({ ...view, goesOn: false }, stream, `… ${fresh.trimStart()}`);
  }
  // The first line of an answer is no empty one.
  while (!stream.begun && lines.length > 0 && lines[0]!.trim() === "") lines.shift();
  while (rest.length > MOST_LINE) {
    const cut = rest.lastIndexOf(" ", MOST_LINE);
    const at = cut > MOST_LINE / 2 ? cut + 1 : MOST_LINE;
    lines.push(rest.slice(0, at));
    rest = rest.slice(at);
  }
  const held = heldTable(lines, stream.from);
  lines.splice(lines.length - held.length);
  let drawn = view;
  let { from, begun } = stream;
  for (let at = 0; at < lines.length; at += MOST_LINES) {
    const some = lines.slice(at, at + MOST_LINES);
    drawn = block(drawn, { kind: "answer", lines: some, from, first: !begun });
    from = some.reduce((state, line) => afterLine(line, state), from);
    begun = true;
  }
  return { ...drawn, stream: { ...stream, line: [...held, rest].join("\n"), from, begun } };
}

/** The rows at the end that a table may still add to: how wide its columns are is known when it has ended. */
function heldTable(lines: readonly string[], from: Stream["from"]): readonly string[] {
  const inFence = lines.reduce((state, line) => afterLine(line, state), from).fence !== undefined;
  if (inFence) return [];
  const first = lines.findLastIndex((line) => !isTableRow(line)) + 1;
  return lines.length - first > MOST_TABLE ? [] : lines.slice(first);
}

/** The last line is whole, too. */
function endStream(view: View): View {
  const { stream } = view;
  if (stream === undefined) return view;
  const done = { ...view, stream: undefined };
  if (stream.line.trim() === "") return done;
  return block(done, { kind: "answer", lines: stream.line.split("\n"), from: stream.from, first: !stream.begun });
}

/** The text of a failed try is void: it stays in place, and a line says so. */
function superseded(given: View, { thread }: View, texts: Texts): View {
  const view = { ...given, thought: undefined };
  if (view.stream === undefined || (view.stream.line === "" && !view.stream.begun))
    return { ...view, stream: undefined };
  const why = sanitizeLine(thread.draft.wait?.retry?.problem ?? "", 160);
  return note(endStream(view), why === "" ? texts.stop.superseded : texts.stop.supersededBy(why), "dim");
}

/** Reasoning that has ended with the first word, or the first argument, of a message. */
function thoughtOf(view: View, answer: DraftAnswer | undefined, at: number): View {
  const text = newReasoning(view, answer);
  if (answer === undefined || text.trim() === "") return view;
  const { messageId, reasoning } = answer;
  const isFirst = view.thought?.messageId !== messageId;
  const shown = { ...view, thought: { messageId, length: reasoning.length } };
  return thoughtBlock(shown, text, isFirst ? at - answer.at : undefined);
}

function thoughtBlock(view: View, text: string, ms?: number): View {
  const one: Extract<Block, { kind: "thought" }> = {
    kind: "thought",
    text,
    whole: view.unfolded,
    ...(ms !== undefined && { ms }),
  };
  const { stream } = view;
  const told = { ...block(endStream(view), one), folded: view.unfolded ? undefined : one };
  // The words after it are of the same message.
  return stream === undefined ? told : { ...told, stream: { ...stream, line: "", begun: false } };
}

/** Reasoning of a message that was not shown while it streamed. */
function withReasoning(view: View, message: Message): View {
  const text = message.parts.map((part) => (part.type === "reasoning" ? part.text : "")).join("");
  if (text.trim() === "" || view.thought?.messageId === message.id || view.stream?.messageId === message.id)
    return view;
  return thoughtBlock({ ...view, thought: { messageId: message.id, length: text.length } }, text);
}

/** A change that was made to a file, in full or folded. */
function onChange(view: View, customized: Json | undefined): View {
  const { change } = (customized ?? {}) as { readonly change?: { readonly diff?: Json } };
  if (typeof change?.diff !== "string" || change.diff === "") return view;
  const one: Extract<Block, { kind: "diff" }> = { kind: "diff", diff: change.diff, whole: view.unfolded };
  return { ...block(view, one), folded: view.unfolded ? undefined : one };
}

function onMessage(given: View, { thread }: View, event: EventOf<"message">, texts: Texts): View {
  const { message } = event;
  const shown = thoughtOf(given, ownAnswer(thread), event.at);
  const view = message.role === "assistant" ? withReasoning(shown, message) : shown;
  const text = messageText(message);
  if (message.summary !== undefined) {
    const summed = note(endStream(view), texts.slash.compacted(view.contextTokens), "dim");
    return { ...summed, contextTokens: 0 };
  }
  if (message.role === "user") {
    if (message.origin !== "person" || text.trim() === "") return view;
    const said = block(endStream({ ...view, goesOn: false }), { kind: "person", text });
    return { ...said, history: [...view.history.filter((each) => each !== text), text].slice(-200) };
  }
  if (message.role !== "assistant") return view;
  const { usage } = message;
  const contextTokens = usage === undefined ? view.contextTokens : usage.inputTokens + usage.outputTokens;
  return { ...whole(view, message, text), contextTokens };
}

function onToolEnd(view: View, before: View, event: EventOf<"tool-end">, texts: Texts): View {
  // It has not run, and will: the line about the stop says so.
  if (event.held === true && event.outcome !== "unknown") return view;
  const { callId, tool, outcome, output, at } = event;
  const ran = before.calls.find(({ id }) => id === callId);
  const ended: Block = {
    kind: "call",
    tool,
    label: labelOf(view.thread, callId, tool),
    outcome,
    output,
    whole: view.unfolded,
    ...(ran !== undefined && { ms: at - ran.startedAt }),
  };
  const told = { ...block(endStream(view), ended), folded: view.unfolded ? undefined : ended };
  const survivors = outcome === "interrupted" ? survivorsIn(output) : [];
  if (survivors.length === 0) return told;
  const names = survivors.map(({ pid, command }) => `${pid} ${sanitizeLine(command, 120)}`);
  return note(told, texts.stop.survives(names.join("\n")), "error");
}

/** A call that was left behind has ended: reported once, as soon as it is known. */
export function onLate(view: View, late: { readonly callId: string; readonly tool: string }, texts: Texts): View {
  const { callId, tool } = late;
  const next = { ...view, behind: view.behind.filter((id) => id !== callId) };
  if (view.toldLate.includes(callId)) return next;
  const told = note(next, texts.stop.lateResult(labelOf(view.thread, callId, tool)), "dim");
  return { ...told, toldLate: [...view.toldLate, callId].slice(-MOST_READ) };
}

function onAction(view: View, before: View, { action: { interrupted } }: EventOf<"action">): View {
  if (interrupted?.kind === "user") {
    const stop = view.thread.stops.findLast(({ id }) => id === interrupted.id)!;
    const told = block(endStream(view), stopBlock(view, stop));
    // Those of a past that is only read have ended with their process, or belong to another one.
    return view.past ? told : { ...told, behind: [...view.behind, ...stop.late] };
  }
  return view.requests.length > before.requests.length ? openDialog(endStream(view)) : view;
}

/** Stopped, finished and not started calls. */
function stopBlock({ thread, startedAt }: View, { stopped, finished, notStarted, late, askedAt }: StopView): Block {
  const named = (ids: readonly string[]) =>
    ids.map((id) => (thread.calls.some((call) => call.id === id) ? labelOf(thread, id, "") : id));
  return {
    kind: "stop",
    ...(startedAt !== undefined && { ms: Math.max(0, askedAt - startedAt) }),
    stopped: named(stopped.filter((id) => !late.includes(id))),
    finished: named(finished),
    notStarted: named(notStarted),
    late: named(late),
  };
}

function onAnswered(view: View, before: View, event: EventOf<"request-answered">, texts: Texts): Step {
  if (event.refused !== undefined || event.open === true) return still(view);
  if (!before.requests.some(({ id }) => id === event.id)) return still(view);
  const next = openDialog({ ...view, dialog: view.dialog?.id === event.id ? undefined : view.dialog });
  if (event.answer.type === "withdraw") return still(next);
  const told = answeredNote(before, next, event, texts);
  // After the last answer, from here or from another terminal, the run continues here.
  if (view.requests.length > 0 || view.state !== "paused" || view.past) return still(told);
  return { view: { ...told, starting: true }, effects: [{ do: "go-on" }] };
}

/** A line for an answer that the person did not give here. A rejected call says so by its end. */
function answeredNote(before: View, view: View, event: EventOf<"request-answered">, texts: Texts): View {
  const { answer, by, id } = event;
  if (answer.type === "withdraw") return view;
  const here = before.dialog?.id === id && before.dialog.sending === true;
  if (here || (before.past && by === before.me)) return view;
  const request = before.requests.find((each) => each.id === id);
  const label = request?.callId === undefined ? undefined : labelOf(view.thread, request.callId, request.tool ?? "");
  if (answer.type === "reject" && label !== undefined) return view;
  const words = { approve: "approved", reject: "rejected", respond: "responded", expire: "expired" } as const;
  const { answered, elsewhere, ...dialog } = texts.dialog;
  const how = dialog[words[answer.type]];
  const said = answer.type === "expire" ? how : by === before.me ? elsewhere(how) : answered(how, by);
  return note(view, `${label ?? request?.tool ?? request?.reason ?? id}: ${said}`, "dim");
}

function onState(view: View, before: View, event: EventOf<"state">): Step {
  const { state, at } = event;
  const running = state === "running";
  const startedAt = running ? at : view.startedAt;
  const goesOn = running && event.mode === "continue" && wasCut(view);
  // A run that is only initialized has not begun, and begins at once.
  const starting = view.starting && state === "initialized";
  const next: View = { ...view, startedAt, starting, goesOn };
  if (running || state === "initialized") return still(running ? { ...next, stopping: 0 } : next);
  const rested: View = { ...endStream(next), stopping: 0, restedAt: at };
  if (state !== "paused") return still({ ...rested, dialog: undefined, afterStop: undefined });
  if (before.afterStop === undefined || rested.requests.length > 0) return still(rested);
  const effects: Effect[] = [{ do: "resume", input: before.afterStop }];
  return { view: { ...rested, afterStop: undefined, starting: true }, effects };
}

/** Another process ran the thread, and is gone: it can be resumed here. Of its calls nothing more is known. */
function onOwnerLost(view: View, before: View, { at }: EventOf<"owner-lost">, texts: Texts): View {
  if (view.state === before.state) return view;
  const cut = before.calls.map(({ label }) => label).join(", ");
  const words = cut === "" ? texts.stop.crashed : `${texts.stop.crashed} ${texts.stop.cutOff(cut)}`;
  return note({ ...endStream(view), stopping: 0, restedAt: at }, words, "stop");
}

/** The last thing said is an answer that a stop, a failure or a crash has cut. */
function wasCut({ transcript }: View): boolean {
  for (let at = transcript.length - 1; at >= 0; at -= 1) {
    const { kind } = transcript.at(at);
    if (kind !== "note" && kind !== "stop") return kind === "answer";
  }
  return false;
}

/** An end that is not visible looks like a model that still thinks. */
function withoutWords(view: View, { finish }: EventOf<"run-end">, texts: Texts): View {
  if (finish === "content-filter") return note(view, texts.stop.filtered, "stop");
  const { length } = view.transcript;
  const last = length === 0 ? undefined : view.transcript.at(length - 1).kind;
  return last === "person" || last === "call" ? note(view, texts.stop.noWords, "dim") : view;
}

function onRunEnd(view: View, event: EventOf<"run-end">, own: boolean, texts: Texts): View {
  if (!own) return view;
  if (event.status === "completed") return withoutWords(endStream(view), event, texts);
  if (event.status !== "failed" || event.error === undefined) return view;
  const ended = endStream(view);
  const words = sentences(...peopleWords(event.error, texts));
  // A limit that the person can lift by one key is a pause.
  if (event.error.code === "MAX_TURNS") return note(ended, words, "stop");
  return note(note(ended, words, "error"), texts.stop.failed, "dim");
}
