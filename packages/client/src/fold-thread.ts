// The one fold from events to a screen. Invariants:
// 1. Pure: the given view is never changed. Parts that an event does not concern stay the same objects.
// 2. A fact that was folded before changes nothing, so that a reader may repeat its last page.
// 3. Only `draft` depends on drafts.
// 4. Types that are not known are passed over.

import type { BelayEvent, Draft, Fact, Message, PauseType, SessionState } from "@belay/core";
import { joined } from "./fold-agent.ts";
import { endCall, holdCall, lateCall, startCall } from "./fold-calls.ts";
import { foldDraft } from "./fold-draft.ts";
import { act, decide } from "./fold-requests.ts";
import { addMessage, endRun, moveTo, startChild, startRun } from "./fold-runs.ts";
import { given } from "./given.ts";
import { changeCall, type NextView } from "./next-view.ts";
import type { ThreadView } from "./thread-view.ts";

/** Returns the view after `event`. */
export function foldThread(view: ThreadView, event: BelayEvent): ThreadView {
  const draft = foldDraft(view, event as Draft);
  if (draft !== undefined) return draft === view.draft ? view : { ...view, draft };
  const { seq, threadId } = event;
  if (seq <= view.head) return view;
  const next: NextView = { ...view, head: seq, first: seq === view.head + 1 ? view.first : seq, threadId };
  if (next.draft.ownerLost !== undefined) {
    const { ownerLost: _lost, ...present } = next.draft;
    next.draft = present;
  }
  foldFact(next, event as Fact);
  return next;
}

/** Returns the state to show: after `owner-lost` a running thread is paused by a crash. */
export function shownState(view: ThreadView): {
  readonly state: SessionState;
  readonly pauseType: PauseType | undefined;
} {
  const { state, pauseType, draft } = view;
  return draft.ownerLost === undefined || state !== "running"
    ? { state, pauseType }
    : { state: "paused", pauseType: "crash" };
}

/**
 * Returns the messages of the root agent with the answer that streams now as the last one, joined with the cut one that it
 * continues.
 */
export function shownMessages(view: ThreadView): readonly Message[] {
  const { messages, draft, agents } = view;
  const root = agents.find(({ path }) => !path.includes("/"));
  const answer = draft.answers.find(({ runPath }) => runPath === root?.path);
  if (answer === undefined || answer.text + answer.reasoning === "") return messages;
  const { messageId: id, at, text, reasoning, continues } = answer;
  const message: Message = {
    id,
    role: "assistant",
    parts: [
      ...(reasoning === "" ? [] : [{ type: "reasoning", text: reasoning } as const]),
      ...(text === "" ? [] : [{ type: "text", text } as const]),
    ],
    at,
    origin: "model",
    ...given({ continues }),
  };
  const cut = messages.findIndex((each) => each.id === continues && each.interrupted !== undefined);
  return cut === -1 ? [...messages, message] : messages.with(cut, joined(messages[cut]!, message));
}

function foldFact(next: NextView, fact: Fact): void {
  switch (fact.type) {
    case "run-start":
      return isChild(fact) ? startChild(next, fact) : startRun(next, fact);
    case "message":
      return addMessage(next, fact);
    case "tool-start":
      return startCall(next, fact);
    case "tool-end":
      return fact.held ? holdCall(next, fact) : endCall(next, fact);
    case "tool-late":
      return lateCall(next, fact);
    case "step":
      if (fact.callId !== undefined) {
        changeCall(next, fact.callId, (call) => ({ ...call, steps: [...call.steps, fact.key] }));
      }
      return;
    case "input-queued": {
      const { id, kind, at } = fact;
      next.waiting = [...next.waiting, { id, kind, at }];
      return;
    }
    case "input-consumed":
      next.waiting = next.waiting.filter(({ id }) => id !== fact.id);
      return;
    case "action":
      return act(next, fact);
    case "request-answered":
      return decide(next, fact);
    case "rule-removed":
      next.rules = next.rules.filter(({ id }) => id !== fact.id);
      return;
    case "breakpoint":
      next.breakpoints = [...next.breakpoints, fact.breakpoint];
      return;
    case "drift":
      next.drift = { seq: fact.seq, at: fact.at, report: fact.report };
      return;
    case "run-end":
      return endRun(next, fact);
    case "state":
      return moveTo(next, fact);
    case "command":
    case "label":
      return;
    default:
      fact satisfies never;
  }
}

/** The root's path is its agent's name. */
function isChild({ runPath }: Fact): boolean {
  return runPath.includes("/");
}
