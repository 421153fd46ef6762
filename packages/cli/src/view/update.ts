// The only function that changes the screen: from the present view and an event it makes the next view and the effects to run. It
// calls nothing and keeps nothing.

import type { Texts } from "../texts/texts.ts";
import { openDialog } from "./dialog.ts";
import { editorOf } from "./editor.ts";
import { withoutCalls } from "./from-thread.ts";
import { append, emptyList } from "./list.ts";
import { block, note, onEvent, onLate } from "./on-event.ts";
import { onKey } from "./on-key.ts";
import { type Block, firstView, type Happening, isRunning, type Step, still, type View } from "./view.ts";

/** The part of a long past that is drawn when its thread is opened. */
const MOST_PAST = 40;
/** How often to look whether a call that was left behind has ended. */
const LOOK_EVERY_MS = 300;

export function update(view: View, happening: Happening, texts: Texts): Step {
  switch (happening.type) {
    case "event":
      return onEvent(view, happening.event, texts);
    case "key":
      return onKey(view, happening.key, happening.now, texts);
    case "tick": {
      return onTick(view, happening.now);
    }
    case "resize":
      return still({ ...view, columns: happening.columns, rows: happening.rows });
    case "opened":
      return still(opened(view, happening.threadId));
    case "caught-up":
      return { view: caughtUp(view, happening, texts), effects: happening.state === "created" ? [] : [{ do: "look" }] };
    case "mailed":
      return still(mailed(view, happening.mail));
    case "waiting": {
      const { mail, late, running } = happening;
      const shown = mail.reduce(mailed, view);
      // Some calls end without a result to show.
      const ended = view.behind.filter((id) => !running.includes(id)).map((callId) => ({ callId, tool: "" }));
      return still([...late, ...ended].reduce((told, each) => onLate(told, each, texts), shown));
    }
    case "ending":
      return still({
        ...view,
        quitting: true,
        popup: undefined,
        afterStop: undefined,
        stopping: isRunning(view) ? 1 : view.stopping,
      });
    case "mail-gone":
      return still({ ...view, mail: view.mail.filter(({ id }) => id !== happening.id) });
    case "taken-back":
      return still(takenBack(view, happening, texts));
    case "answer-refused": {
      const { dialog } = view;
      if (dialog?.id !== happening.id) return still(note(view, texts.dialog.refused(happening.problem), "error"));
      return still({ ...view, dialog: { ...dialog, sending: false, problem: happening.problem } });
    }
    case "refused": {
      const { state = view.state, pauseType = view.pauseType } = happening;
      const standing: View = { ...withoutCalls(view), starting: false, stopping: 0, state, pauseType };
      const refused = note(standing, happening.problem, "error");
      const { input } = happening;
      if (input === undefined) return still(refused);
      const history = [...refused.history, input];
      return still(refused.draft.text === "" ? { ...refused, draft: editorOf(input) } : { ...refused, history });
    }
    case "stop-ended":
      return still(isRunning(view) ? view : { ...view, stopping: 0 });
    case "rewind-items": {
      const { items } = happening;
      if (isRunning(view)) return still(view);
      if (items.length === 0) return still(note(view, texts.picker.rewindNone, "dim"));
      return still({ ...view, popup: { kind: "rewind", items, cursor: items.length - 1 } });
    }
    case "note":
      return still(note(view, happening.text, happening.tone));
    case "block":
      return still(block(view, happening.block));
    case "popup":
      return still({ ...view, popup: happening.popup });
    case "draft":
      return still({ ...view, draft: editorOf(happening.text) });
    default:
      return happening satisfies never;
  }
}

/** A passed deadline is over: the run continues by its onExpire. */
function onTick(view: View, now: number): Step {
  const armed = view.armed !== undefined && view.armed.until > now ? view.armed : undefined;
  const next = { ...view, now, armed };
  if (view.behind.length > 0 && now - view.lookedAt >= LOOK_EVERY_MS)
    return { view: { ...next, lookedAt: now }, effects: [{ do: "look" }] };
  const requests = view.requests.filter(({ expiresAt }) => expiresAt === undefined || expiresAt > now);
  if (requests.length === view.requests.length || isRunning(view)) return still(next);
  const dialog = requests.some(({ id }) => id === view.dialog?.id) ? view.dialog : undefined;
  return { view: openDialog({ ...next, requests, dialog, starting: true }), effects: [{ do: "go-on" }] };
}

/** A new view that keeps the draft and the folder of the person. */
function opened(view: View, threadId: string): View {
  const { draft, unfolded, mode, now, focused } = view;
  const first = view.threadId === undefined;
  const transcript = first ? view.transcript : emptyList;
  const epoch = first ? view.epoch : view.epoch + 1;
  return { ...firstView(view, now), threadId, draft, transcript, unfolded, mode, focused, past: true, epoch };
}

function caughtUp(view: View, at: Extract<Happening, { type: "caught-up" }>, texts: Texts): View {
  const { state, pauseType, requests, now } = at;
  const blocks = view.transcript.slice(0);
  const first = blocks.findIndex(({ kind }) => kind !== "welcome" && kind !== "note");
  const past = first < 0 ? [] : blocks.slice(first);
  const before = first < 0 ? blocks : blocks.slice(0, first);
  const left = past.length - MOST_PAST;
  const earlier: readonly Block[] = left > 0 ? [{ kind: "note", text: texts.app.earlier(left), tone: "dim" }] : [];
  const kept = [...before, ...earlier, ...past.slice(-MOST_PAST)];
  const rested: View = {
    ...(state === "running" ? view : withoutCalls(view)),
    now,
    past: false,
    state,
    pauseType,
    requests,
    dialog: undefined,
    stream: undefined,
    transcript: kept.reduce((list, each) => append(list, each), emptyList as View["transcript"]),
  };
  const cut = cutOff(view, at);
  if (pauseType !== "crash" && cut.length === 0) return openDialog(rested);
  const what = cut.map(({ label }) => label).join(", ");
  const words = what === "" ? texts.stop.crashed : `${texts.stop.crashed} ${texts.stop.cutOff(what)}`;
  return openDialog(note(rested, words, "stop"));
}

/** Calls that were running in a process that is gone; an approved one of a thread that was paused, too. One that asks waits. */
function cutOff({ calls }: View, { state, requests }: Extract<Happening, { type: "caught-up" }>): View["calls"] {
  if (state !== "paused") return [];
  return calls.filter(({ id }) => !requests.some(({ callId }) => callId === id));
}

function mailed(view: View, mail: View["mail"][number]): View {
  if (view.mail.some(({ id }) => id === mail.id) || view.read.includes(mail.id)) return view;
  return { ...view, mail: [...view.mail, mail] };
}

function takenBack(view: View, { mail, taken }: Extract<Happening, { type: "taken-back" }>, texts: Texts): View {
  const left = { ...view, mail: view.mail.filter(({ id }) => id !== mail.id) };
  if (!taken) return note(left, texts.mail.gone, "dim");
  const { text } = view.draft;
  return { ...left, draft: editorOf(text === "" ? mail.text : `${mail.text}\n${text}`) };
}
