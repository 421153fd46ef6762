// The effect of a key. It belongs to the topmost part: a popup, then a request, then the prompt. ESC is never swallowed: it stops
// a run also while the person types.

import type { Key } from "../keys/decoder.ts";
import { type Mode, nextMode } from "../permissions/mode.ts";
import type { Texts } from "../texts/texts.ts";
import { afterWords, isUnseen, leavesWriting, onDialogKey, takesKeys } from "./dialog.ts";
import { edit, editorOf, emptyEditor } from "./editor.ts";
import { block } from "./on-event.ts";
import { leavesPopup, onPopupKey } from "./popup.ts";
import { chosenSlash, completed, onSlash, paletteOf, slashNames, slashOf } from "./slash.ts";
import { nextSuggestion } from "./suggestions.ts";
import {
  type Armed,
  canGoOn,
  type Effect,
  isHeld,
  isRunning,
  type Popup,
  type Step,
  still,
  type View,
} from "./view.ts";

/** How long the second of two keys may take. */
const AGAIN_MS = 1_500;
/** Repeated Esc is meant for the run that has just stopped, not for the draft or the rewind. */
const HAMMER_MS = 500;

export function onKey(before: View, key: Key, now: number, texts: Texts): Step {
  if (before.quitting) return still(before);
  const { armed } = before;
  // After any other key, the second press no longer counts as one.
  const view: View = { ...before, now, armed: undefined };
  const again = (what: Armed["what"]) => armed?.what === what && now <= armed.until;
  switch (key.name) {
    case "report":
      return still(before);
    case "focus-in":
    case "focus-out":
      return still({ ...before, focused: key.name === "focus-in" });
    case "ctrl-z":
      return { view, effects: [{ do: "suspend" }] };
    case "ctrl-l":
      return { view, effects: [{ do: "redraw" }] };
    case "ctrl-c":
      return again("quit") ? quit(view) : onCtrlC(view, now);
    case "escape":
      return onEscape(view, now, again("rewind"));
    // As terminals of two kinds write Shift-Tab.
    case "back-tab":
    case "shift-tab":
      return view.popup === undefined ? inMode(view, nextMode(view.mode)) : still(view);
    default:
  }
  if (view.popup !== undefined) {
    if (!leavesPopup(view.popup, key)) return onPopupKey(view, key, texts);
    return onKey({ ...view, popup: undefined }, key, now, texts);
  }
  if (key.name === "ctrl-o") return still(unfold(view));
  if (key.name === "ctrl-d" && view.draft.text === "") return quit(view);
  if (takesKeys(view) && !isUnseen(view, key, now)) return onDialogKey(view, key, now, texts);
  return onPromptKey(view, key, now, texts);
}

/** Acts on the first of popup, request, run, mode and draft that exists. A stop falls back to *ask*, too. */
function onEscape(view: View, now: number, again: boolean): Step {
  const { popup } = view;
  if (popup !== undefined) return isBottom(popup) ? quit(view) : still({ ...view, popup: undefined });
  const back = leavesWriting(view);
  if (back !== undefined) return still(back);
  if (isRunning(view) || view.requests.length > 0) return interrupt(view);
  if (view.pauseType === "user_interrupt" && now - (view.restedAt ?? 0) < HAMMER_MS)
    return still({ ...view, restedAt: now });
  if (view.mode !== "ask") return inMode(view, "ask");
  if (view.draft.text !== "") return still(cleared(view));
  if (again) return { view, effects: [{ do: "list-rewind" }] };
  return still({ ...view, armed: { what: "rewind", until: now + AGAIN_MS } });
}

/** There is no thread behind it to go back to. */
function isBottom(popup: Popup): boolean {
  return popup.kind === "threads" && popup.must;
}

/** Without the draft; Up brings it back. */
function cleared(view: View): View {
  return { ...view, history: [...view.history, view.draft.text], historyAt: undefined, draft: emptyEditor };
}

function interrupt(before: View): Step {
  const { view, effects } = before.mode === "ask" ? still(before) : inMode(before, "ask");
  const stopping = view.stopping === 0 ? 1 : 2;
  return { view: { ...view, stopping }, effects: [...effects, { do: "interrupt" }] };
}

function inMode(view: View, mode: Mode): Step {
  return { view: { ...view, mode }, effects: [{ do: "mode", mode }] };
}

function onCtrlC(view: View, now: number): Step {
  const armed: Armed = { what: "quit", until: now + AGAIN_MS };
  if (view.popup !== undefined) return isBottom(view.popup) ? quit(view) : still({ ...view, popup: undefined, armed });
  if (view.draft.text !== "") return still({ ...cleared(view), armed });
  if (isRunning(view) || view.requests.length > 0) {
    const stopped = interrupt(view);
    return { ...stopped, view: { ...stopped.view, armed } };
  }
  return still({ ...view, armed });
}

function quit(view: View): Step {
  return { view: { ...view, quitting: true }, effects: [{ do: "quit" }] };
}

function onPromptKey(view: View, key: Key, now: number, texts: Texts): Step {
  const slashed = onSlashKey(view, key, texts);
  if (slashed !== undefined) return slashed;
  const text = view.draft.text;
  switch (key.name) {
    case "ctrl-r":
      return { view, effects: [{ do: "list-history" }] };
    case "enter":
      return onEnter(view);
    case "tab":
    case "up":
    case "down": {
      const offered = nextSuggestion(view, texts, key.name === "up" ? -1 : 1);
      if (offered !== undefined && (key.name === "tab" || view.history.length === 0))
        return still({ ...view, draft: editorOf(offered) });
      if (key.name !== "tab") break;
      return text.trim() === "" ? still(view) : sent(view, [{ do: "mail", kind: "queue", text: text.trim() }]);
    }
    case "alt-up": {
      const last = view.mail.at(-1);
      return last === undefined ? still(view) : { view, effects: [{ do: "take-back", mail: last }] };
    }
    case "ctrl-s": {
      const queued = view.mail.filter(({ kind }) => kind === "queue");
      if (!isHeld(view) || queued.length === 0) return still(view);
      return { view: { ...view, starting: true }, effects: [{ do: "send-queue", mail: queued }] };
    }
    case "text":
      if (key.text === "?" && text === "") return still({ ...view, popup: { kind: "help", cursor: 0 } });
      break;
    default:
  }
  const draft = edit(view.draft, key);
  if (draft !== undefined) return still({ ...view, draft, historyAt: undefined, slashAt: 0, draftAt: now });
  if (key.name === "up" || key.name === "down") return still(recall(view, key.name === "up" ? -1 : 1));
  return still(view);
}

/** The keys of the palette; undefined if no command is typed, or the key is for typing. */
function onSlashKey(view: View, key: Key, texts: Texts): Step | undefined {
  const slash = slashOf(view.draft.text);
  if (slash === undefined) return undefined;
  const palette = paletteOf(view);
  const chosen = chosenSlash(view);
  if (key.name === "up" || key.name === "down") {
    const by = key.name === "up" ? palette.length - 1 : 1;
    return still(palette.length === 0 ? view : { ...view, slashAt: (view.slashAt + by) % palette.length });
  }
  if (key.name === "tab") {
    return still(chosen === undefined ? view : { ...view, draft: editorOf(completed(chosen)), slashAt: 0 });
  }
  if (key.name !== "enter") return undefined;
  // One that does not exist stays on the prompt, to be corrected.
  const isKnown = chosen !== undefined || slashNames.some((name) => name === slash.name);
  const next = isKnown ? { ...sent(view, []).view, slashAt: 0 } : view;
  return onSlash(next, chosen === undefined ? slash : { ...slash, name: chosen }, texts);
}

/** Sends the typed text: as a new run, as a steer to the present one, or as the input of a resume. Empty, it continues. */
function onEnter(view: View): Step {
  const text = view.draft.text.trim();
  if (view.stopping > 0 && isRunning(view)) {
    const said = [view.afterStop, text].filter(Boolean).join("\n");
    return text === "" ? still(view) : sent({ ...view, afterStop: said }, []);
  }
  // Under a request too: it stays open, and the words are read once it is answered.
  if (isRunning(view) || view.requests.length > 0)
    return text === "" ? still(view) : sent(afterWords(view), [{ do: "mail", kind: "steer", text }]);
  if (view.state === "terminated") return still(view);
  if (text === "") return canGoOn(view) ? started(view, { do: "resume" }) : still(view);
  const paused = view.state === "paused" || view.state === "error";
  return sent(...startedWith(view, paused ? { do: "resume", input: text } : { do: "run", input: text }));
}

function started(view: View, effect: Effect): Step {
  return { view: { ...view, starting: true, stopping: 0, startedAt: view.now }, effects: [effect] };
}

function startedWith(view: View, effect: Effect): [View, readonly Effect[]] {
  return [started(view, effect).view, [effect]];
}

function sent(view: View, effects: readonly Effect[]): Step {
  return { view: { ...view, draft: emptyEditor, draftAt: view.now, historyAt: undefined }, effects };
}

/** Goes through earlier inputs; the draft is the last of them. */
function recall(view: View, by: 1 | -1): View {
  const { history, draft } = view;
  if (by > 0 && view.historyAt === undefined) return view;
  const all = view.historyAt === undefined ? [...history, draft.text] : history;
  const from = view.historyAt ?? all.length - 1;
  const at = Math.min(Math.max(0, from + by), all.length - 1);
  const last = at === all.length - 1;
  return {
    ...view,
    history: all,
    draft: editorOf(all[at] ?? ""),
    historyAt: last ? undefined : at,
    ...(last && { history: all.slice(0, -1) }),
  };
}

/** Tool output whole from now on, and the last one that was folded; or folded again. */
function unfold(view: View): View {
  const { folded } = view;
  if (view.unfolded) return { ...view, unfolded: false };
  const unfolded = { ...view, unfolded: true, folded: undefined };
  return folded === undefined ? unfolded : block(unfolded, { ...folded, whole: true });
}
