// The effect of an event of the thread on the screen.

import type { BelayEvent, Interrupt, Json, Message } from "@belay/core";
import { messageText } from "@belay/core";
import { outputText, survivorsIn } from "../output-text.ts";
import { peopleWords } from "../problem.ts";
import { afterLine, isTableRow } from "../rows/markdown.ts";
import { sanitizeLine } from "../terminal/sanitize.ts";
import { sentences } from "../texts/sentences.ts";
import type { Texts } from "../texts/texts.ts";
import { callLabel } from "./call-label.ts";
import { openDialog } from "./dialog.ts";
import { append } from "./list.ts";
import { workAfter } from "./model-work.ts";
import { type Block, type Effect, type Step, type Stream, still, type Tone, type View } from "./view.ts";

type EventOf<T extends BelayEvent["type"]> = Extract<BelayEvent, { type: T }>;

/** The kept output of a running call. */
const MOST_TAIL = 4_000;
/** A line without an end is drawn in pieces: the screen has only so many rows. */
const MOST_LINE = 2_000;
/** The part of a long delta that is drawn at once. */
const MOST_LINES = 100;
const MOST_READ = 200;
/** Rows of a table that wait for its end: a longer one is drawn in pieces. */
const MOST_TABLE = 100;

export function onEvent(before: View, event: BelayEvent, texts: Texts): Step {
  // The words of nested agents reach the person through the agent that the person talks to.
  const own = !event.runPath.includes("/");
  const view = own ? { ...before, model: workAfter(before.model, event) } : before;
  switch (event.type) {
    case "turn-start":
      return still(own ? { ...view, stream: undefined } : view);
    case "text-delta":
      return still(own ? streamed(thought(view, event), event.messageId, event.offset, event.text) : view);
    case "tool-input-delta":
      return still(own ? thought(view, event) : view);
    case "message":
      return still(own ? onMessage(view, event, texts) : view);
    case "superseded":
      return still(own ? superseded(view, before, texts) : view);
    case "tool-start":
      return still(onToolStart(view, event));
    case "tool-progress":
      return still(onProgress(view, event));
    case "tool-end":
      return still(onToolEnd(view, event, texts));
    case "tool-late":
      return still(onLate(view, event, texts));
    case "action": {
      const next = onAction(onChange(view, event.action.customized), event.action.interrupted);
      const asks = next.requests.length > view.requests.length;
      return { view: next, effects: asks ? notify(view, event.at, "asks") : [] };
    }
    case "drift":
      return still(own ? note(view, texts.stop.drifted(driftText(event.report, texts)), "dim") : view);
    case "request-answered":
      return onAnswered(view, event, texts);
    case "input-queued":
      return view.mail.some(({ id }) => id === event.id) ? still(view) : { view, effects: [{ do: "look" }] };
    case "input-consumed":
      return still({
        ...view,
        mail: view.mail.filter(({ id }) => id !== event.id),
        read: [...view.read, event.id].slice(-MOST_READ),
      });
    case "state": {
      const step = onState(view, event);
      const ended = view.state === "running" && (event.state === "completed" || event.state === "error");
      const told = ended ? notify(view, event.at, event.state === "error" ? "failed" : "done") : [];
      return told.length === 0 ? step : { ...step, effects: [...step.effects, ...told] };
    }
    case "run-end":
      return still(onRunEnd(view, event, own, texts));
    case "owner-lost":
      return still(onOwnerLost(view, event, texts));
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

/** Adds the new part of a message's text. The message that follows has any missing part. */
function streamed(view: View, messageId: string, offset: number, text: string): View {
  const known = view.stream?.messageId === messageId ? view.stream : undefined;
  const flushed = known === undefined ? endStream(view) : view;
  const stream: Stream = known ?? { messageId, length: 0, line: "", from: {}, begun: false };
  if (offset > stream.length) return { ...flushed, stream };
  const fresh = text.slice(stream.length - offset);
  if (fresh === "") return { ...flushed, stream };
  return withText(flushed, { ...stream, length: stream.length + fresh.length }, fresh);
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
function superseded(view: View, { model }: View, texts: Texts): View {
  if (view.stream === undefined || (view.stream.line === "" && !view.stream.begun))
    return { ...view, stream: undefined };
  const why = sanitizeLine(model.wait?.retry?.problem ?? "", 160);
  return note(endStream(view), why === "" ? texts.stop.superseded : texts.stop.supersededBy(why), "dim");
}

/** Reasoning that has ended with the first word, or the first argument, of a message. */
function thought(view: View, { messageId, at }: { readonly messageId: string; readonly at: number }): View {
  const { reasoning, ...model } = view.model;
  if (reasoning === undefined || reasoning.text.trim() === "") return view;
  const ms = at - reasoning.startedAt;
  return thoughtBlock({ ...view, model, thoughtOf: messageId }, reasoning.text, ms);
}

function thoughtBlock(view: View, text: string, ms?: number): View {
  const one: Extract<Block, { kind: "thought" }> = {
    kind: "thought",
    text,
    whole: view.unfolded,
    ...(ms !== undefined && { ms }),
  };
  return { ...block(endStream(view), one), folded: view.unfolded ? undefined : one };
}

/** Reasoning of a message that was not shown while it streamed. */
function withReasoning(view: View, message: Message): View {
  const text = message.parts.map((part) => (part.type === "reasoning" ? part.text : "")).join("");
  if (text.trim() === "" || view.thoughtOf === message.id || view.stream?.messageId === message.id) return view;
  return thoughtBlock({ ...view, thoughtOf: message.id }, text);
}

/** A change that was made to a file, in full or folded. */
function onChange(view: View, customized: Json | undefined): View {
  const { change } = (customized ?? {}) as { readonly change?: { readonly diff?: Json } };
  if (typeof change?.diff !== "string" || change.diff === "") return view;
  const one: Extract<Block, { kind: "diff" }> = { kind: "diff", diff: change.diff, whole: view.unfolded };
  return { ...block(view, one), folded: view.unfolded ? undefined : one };
}

function onMessage(before: View, event: EventOf<"message">, texts: Texts): View {
  const { message } = event;
  const shown = thought(before, { messageId: message.id, at: event.at });
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
  const { inputTokens = 0, outputTokens = 0 } = usage ?? {};
  const tokens = { input: view.tokens.input + inputTokens, output: view.tokens.output + outputTokens };
  const contextTokens = usage === undefined ? view.contextTokens : inputTokens + outputTokens;
  const labels = { ...view.labels };
  for (const part of message.parts) {
    if (part.type === "call") labels[part.id] = callLabel(part.tool, part.ranArgs ?? part.args);
  }
  return { ...endStream(streamed(view, message.id, 0, text)), tokens, contextTokens, labels };
}

function onToolStart(view: View, event: EventOf<"tool-start">): View {
  const label = callLabel(event.tool, event.ranArgs ?? event.args);
  const call = { id: event.callId, tool: event.tool, label, startedAt: event.at, tail: "" };
  const calls = [...view.calls.filter(({ id }) => id !== event.callId), call];
  return { ...endStream(view), calls, goesOn: false, labels: { ...view.labels, [event.callId]: label } };
}

function onProgress(view: View, event: EventOf<"tool-progress">): View {
  const said = outputText(event.data);
  const calls = view.calls.map((call) =>
    call.id === event.callId ? { ...call, tail: (call.tail + said).slice(-MOST_TAIL) } : call,
  );
  return { ...view, calls };
}

function onToolEnd(view: View, event: EventOf<"tool-end">, texts: Texts): View {
  const call = view.calls.find(({ id }) => id === event.callId);
  const calls = view.calls.filter(({ id }) => id !== event.callId);
  // It has not run, and will: the line about the stop says so.
  if (event.held === true && event.outcome !== "unknown") return { ...view, calls };
  const ended: Block = {
    kind: "call",
    tool: event.tool,
    label: nameOf(view, event.callId, event.tool),
    outcome: event.outcome,
    output: event.output,
    whole: view.unfolded,
    ...(call !== undefined && { ms: event.at - call.startedAt }),
  };
  const told = { ...block({ ...endStream(view), calls }, ended), folded: view.unfolded ? undefined : ended };
  const survivors = event.outcome === "interrupted" ? survivorsIn(event.output) : [];
  if (survivors.length === 0) return told;
  const names = survivors.map(({ pid, command }) => `${pid} ${sanitizeLine(command, 120)}`);
  return note(told, texts.stop.survives(names.join("\n")), "error");
}

function nameOf(view: View, callId: string, tool: string): string {
  return view.labels[callId] ?? callLabel(tool, undefined);
}

/** A call that was left behind has ended: reported once, as soon as it is known. */
export function onLate(view: View, late: { readonly callId: string; readonly tool: string }, texts: Texts): View {
  const { callId, tool } = late;
  const next = { ...view, behind: view.behind.filter((id) => id !== callId) };
  if (view.toldLate.includes(callId)) return next;
  const told = note(next, texts.stop.lateResult(nameOf(view, callId, tool)), "dim");
  return { ...told, toldLate: [...view.toldLate, callId].slice(-MOST_READ) };
}

function onAction(view: View, interrupt: Interrupt | undefined): View {
  if (interrupt === undefined) return view;
  if (interrupt.kind === "user") {
    const told = block(endStream(view), stopBlock(view, interrupt));
    // Those of a past that is only read have ended with their process, or belong to another one.
    return view.past ? told : { ...told, behind: [...view.behind, ...(interrupt.calls?.late ?? [])] };
  }
  // The view of a pause repeats requests that were raised.
  if ("data" in interrupt) return view;
  if (interrupt.kind === "manual" || interrupt.kind === "node" || interrupt.kind === "rerun") return view;
  if (view.requests.some(({ id }) => id === interrupt.id)) return view;
  return openDialog({ ...endStream(view), requests: [...view.requests, interrupt] });
}

/** Stopped, finished and not started calls. */
function stopBlock(view: View, { calls, raisedAt }: Interrupt): Block {
  const named = (ids: readonly string[] = []) => ids.map((id) => view.labels[id] ?? id);
  const late = new Set(calls?.late);
  return {
    kind: "stop",
    ...(view.startedAt !== undefined && { ms: Math.max(0, raisedAt - view.startedAt) }),
    stopped: named(calls?.stopped.filter((id) => !late.has(id))),
    finished: named(calls?.finished),
    notStarted: named(calls?.notStarted),
    late: named(calls?.late),
  };
}

function onAnswered(view: View, event: EventOf<"request-answered">, texts: Texts): Step {
  if (event.refused !== undefined || event.open === true) return still(view);
  const request = view.requests.find(({ id }) => id === event.id);
  if (request === undefined) return still(view);
  const requests = view.requests.filter(({ id }) => id !== event.id);
  const dialog = view.dialog?.id === event.id ? undefined : view.dialog;
  const next = openDialog({ ...view, requests, dialog });
  if (event.answer.type === "withdraw") return still(next);
  const told = answeredNote(view, next, event, texts);
  // After the last answer, from here or from another terminal, the run continues here.
  if (requests.length > 0 || view.state !== "paused" || view.past) return still(told);
  return { view: { ...told, starting: true }, effects: [{ do: "go-on" }] };
}

/** A line for an answer that the person did not give here. A rejected call says so by its end. */
function answeredNote(before: View, view: View, event: EventOf<"request-answered">, texts: Texts): View {
  const { answer, by, id } = event;
  if (answer.type === "withdraw") return view;
  const here = before.dialog?.id === id && before.dialog.sending === true;
  if (here || (before.past && by === before.me)) return view;
  const request = before.requests.find((each) => each.id === id);
  const label = request?.callId === undefined ? undefined : before.labels[request.callId];
  if (answer.type === "reject" && label !== undefined) return view;
  const words = { approve: "approved", reject: "rejected", respond: "responded", expire: "expired" } as const;
  const { answered, elsewhere, ...dialog } = texts.dialog;
  const how = dialog[words[answer.type]];
  const said = answer.type === "expire" ? how : by === before.me ? elsewhere(how) : answered(how, by);
  return note(view, `${label ?? request?.tool ?? request?.reason ?? id}: ${said}`, "dim");
}

function onState(view: View, event: EventOf<"state">): Step {
  const { state, pauseType } = event;
  const running = state === "running";
  const startedAt = running ? event.at : view.startedAt;
  const goesOn = running && event.mode === "continue" && wasCut(view);
  // A run that is only initialized has not begun, and begins at once.
  const starting = view.starting && state === "initialized";
  const next: View = { ...view, state, pauseType, startedAt, starting, goesOn };
  if (running || state === "initialized") return still(running ? { ...next, stopping: 0, calls: [] } : next);
  const rested: View = { ...endStream(next), stopping: 0, calls: [], restedAt: event.at, labels: view.labels };
  if (state !== "paused") return still({ ...rested, requests: [], dialog: undefined, afterStop: undefined });
  if (view.afterStop === undefined || rested.requests.length > 0) return still(rested);
  const effects: Effect[] = [{ do: "resume", input: view.afterStop }];
  return { view: { ...rested, afterStop: undefined, starting: true }, effects };
}

/** Another process ran the thread, and is gone: it can be resumed here. Of its calls nothing more is known. */
function onOwnerLost(view: View, { at }: EventOf<"owner-lost">, texts: Texts): View {
  if (view.state !== "running" || view.starting) return view;
  const cut = view.calls.map(({ label }) => label).join(", ");
  const words = cut === "" ? texts.stop.crashed : `${texts.stop.crashed} ${texts.stop.cutOff(cut)}`;
  const rested: View = {
    ...endStream(view),
    state: "paused",
    pauseType: "crash",
    calls: [],
    stopping: 0,
    restedAt: at,
  };
  return note(rested, words, "stop");
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
  const ended = { ...endStream(view), failedBy: event.error.code };
  const words = sentences(...peopleWords(event.error, texts));
  // A limit that the person can lift by one key is a pause.
  if (event.error.code === "MAX_TURNS") return note(ended, words, "stop");
  return note(note(ended, words, "error"), texts.stop.failed, "dim");
}
