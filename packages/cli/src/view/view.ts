// Everything that is on the screen, as data. It changes only by update(); drawing reads it and nothing else. `thread` is the
// fold of the thread's events; the rest is the person's part of the screen and what is already drawn.

import { emptyThread, type ThreadView } from "@belay/client";
import type { BelayEvent, Interrupt, Json, PauseType, SessionState } from "@belay/core";
import type { Key } from "../keys/decoder.ts";
import type { Mode } from "../permissions/mode.ts";
import type { Scope } from "../permissions/remember.ts";
import type { MarkdownState } from "../rows/markdown.ts";
import { type Editor, emptyEditor } from "./editor.ts";
import { emptyList, type List } from "./list.ts";

/** A note aside, an answer to the person, a stop or a request, a failure. */
export type Tone = "dim" | "soft" | "stop" | "error";

/** How a call ended, as its fact says. */
export type Outcome = Extract<BelayEvent, { type: "tool-end" }>["outcome"];

/** A part of the transcript: drawn once, above everything that still moves. */
export type Block =
  | {
      readonly kind: "welcome";
      readonly model: string;
      readonly demo: boolean;
      readonly folder: string;
      /** The guides that the model was given, by their paths from the folder. */
      readonly guides: readonly string[];
    }
  | { readonly kind: "person"; readonly text: string }
  /** Whole lines of an answer, and the blocks that were open before them; `first` begins the answer. */
  | {
      readonly kind: "answer";
      readonly lines: readonly string[];
      readonly from: MarkdownState;
      readonly first: boolean;
    }
  | {
      readonly kind: "call";
      readonly tool: string;
      readonly label: string;
      readonly outcome: Outcome;
      readonly output: Json;
      /** The shown output: some lines, or all. */
      readonly whole: boolean;
      readonly ms?: number;
    }
  /** A change to a file that was made. */
  | { readonly kind: "diff"; readonly diff: string; readonly whole: boolean }
  /** The reasoning of the model before an answer or a call. */
  | { readonly kind: "thought"; readonly text: string; readonly whole: boolean; readonly ms?: number }
  /** A stop: the time of the run, and the labels of its calls by outcome. */
  | {
      readonly kind: "stop";
      readonly ms?: number;
      readonly stopped: readonly string[];
      readonly finished: readonly string[];
      readonly notStarted: readonly string[];
      readonly late: readonly string[];
    }
  | { readonly kind: "note"; readonly text: string; readonly tone: Tone };

/** An answer as it streams: the lines that are whole are in the transcript already. */
export interface Stream {
  readonly messageId: string;
  readonly attempt: number;
  /** How much of the message was read. */
  readonly length: number;
  /** The line that may still grow. */
  readonly line: string;
  readonly from: MarkdownState;
  readonly begun: boolean;
}

export interface RunningCall {
  readonly id: string;
  readonly tool: string;
  readonly label: string;
  readonly startedAt: number;
}

/** Something sent to the run, or for the next one, that is not part of the history yet. */
export interface Mail {
  readonly id: string;
  readonly kind: "steer" | "queue";
  readonly text: string;
}

export interface Dialog {
  /** The request that is looked at. */
  readonly id: string;
  readonly since: number;
  readonly cursor: number;
  readonly mode: "choose" | "edit" | "reason" | "answer";
  readonly editor: Editor;
  /** The first row of the preview that is shown. */
  readonly scroll: number;
  /** The last letter that moved the cursor, and its time: another one soon after makes both a draft. */
  readonly typed?: { readonly text: string; readonly at: number };
  /** Why the last answer was not taken. */
  readonly problem?: string;
  /** An answer is on its way. */
  readonly sending?: boolean;
}

export interface RewindItem {
  readonly messageId: string;
  readonly text: string;
  /** The effects since then. */
  readonly calls: readonly string[];
}

export interface ThreadItem {
  readonly id: string;
  readonly title: string;
  readonly detail: string;
}

/** The choices for commands that outlived a crash. */
export type LeftChoice = "wait" | "stop" | "leave";
export const LEFT_CHOICES: readonly LeftChoice[] = ["wait", "stop", "leave"];

export interface HistoryItem {
  readonly text: string;
  readonly detail: string;
}

export type Popup =
  /** `commands`: one a line. */
  | { readonly kind: "left"; readonly commands: string; readonly cursor: number }
  /** `cursor`: the first key that is shown, where not all are. */
  | { readonly kind: "help"; readonly cursor: number }
  | { readonly kind: "rewind"; readonly items: readonly RewindItem[]; readonly cursor: number }
  | {
      readonly kind: "threads";
      readonly items: readonly ThreadItem[];
      readonly cursor: number;
      readonly query: Editor;
      /** There is no thread behind it to go back to. */
      readonly must: boolean;
    }
  /** Earlier inputs, of all threads. */
  | {
      readonly kind: "history";
      readonly items: readonly HistoryItem[];
      readonly cursor: number;
      readonly query: Editor;
    };

/** The key that the person may press once more: to quit, or to rewind. */
export interface Armed {
  readonly what: "quit" | "rewind";
  readonly until: number;
}

export interface View {
  readonly now: number;
  readonly columns: number;
  readonly rows: number;
  /** The name that the answers from this terminal are recorded under. */
  readonly me: string | undefined;
  /** Rules stand in for a model: the screen shows inputs to type. */
  readonly demo: boolean;
  readonly threadId: string | undefined;
  readonly thread: ThreadView;
  /** From here to `restedAt`, and `calls` and `requests`: as the thread has them, or as the session last reported. */
  readonly state: SessionState;
  readonly pauseType: PauseType | undefined;
  /** The person has asked for a stop that is not done yet; twice: without grace. */
  readonly stopping: 0 | 1 | 2;
  /** The input sent while it stops: the resume takes it. */
  readonly afterStop: string | undefined;
  /** Something was asked of the session that its events do not show yet. */
  readonly starting: boolean;
  readonly startedAt: number | undefined;
  readonly restedAt: number | undefined;
  /** Tokens that the last model call took, and those from which on the thread is summed up. */
  readonly contextTokens: number;
  readonly contextMost: number | undefined;
  readonly transcript: List<Block>;
  readonly stream: Stream | undefined;
  /** When the model was last heard, or last asked. */
  readonly heardAt: number;
  /** The message whose reasoning was shown last, and how much of it. */
  readonly thought: { readonly messageId: string; readonly length: number } | undefined;
  readonly calls: readonly RunningCall[];
  /** Calls that have begun in a process that is gone: nothing of them runs, whatever is on record. */
  readonly cut: readonly string[];
  readonly mail: readonly Mail[];
  /** Ids of the last inputs that were read: this report may come before the report that an input was sent. */
  readonly read: readonly string[];
  /** Calls of this process that a stop has left behind; looked after until they end. */
  readonly behind: readonly string[];
  readonly lookedAt: number;
  /** Calls whose late end was reported. */
  readonly toldLate: readonly string[];
  readonly requests: readonly Interrupt[];
  readonly dialog: Dialog | undefined;
  readonly popup: Popup | undefined;
  readonly draft: Editor;
  readonly draftAt: number;
  /** The person's mode, beside the rules. */
  readonly mode: Mode;
  /** Earlier inputs, and which of them is shown. */
  readonly history: readonly string[];
  readonly historyAt: number | undefined;
  /** The chosen line of the palette, while a command is typed. */
  readonly slashAt: number;
  readonly armed: Armed | undefined;
  /** Tool output is shown whole from now on. */
  readonly unfolded: boolean;
  readonly folded: Extract<Block, { kind: "call" | "diff" | "thought" }> | undefined;
  /** The events are older than the opening of the thread. */
  readonly past: boolean;
  /** Goes up with each thread that is opened: its transcript is another one. */
  readonly epoch: number;
  /** A cut answer continues: its next words follow the shown ones. */
  readonly goesOn: boolean;
  readonly quitting: boolean;
  /** Whether the person looks at this terminal; undefined if it has not said. */
  readonly focused: boolean | undefined;
}

/** The effects of a key or an event; the drawing code executes them. */
export type Effect =
  | { readonly do: "run"; readonly input: string }
  | { readonly do: "resume"; readonly input?: string }
  | { readonly do: "mail"; readonly kind: Mail["kind"]; readonly text: string }
  | { readonly do: "take-back"; readonly mail: Mail }
  | { readonly do: "send-queue"; readonly mail: readonly Mail[] }
  | { readonly do: "interrupt" }
  | { readonly do: "mode"; readonly mode: Mode }
  | { readonly do: "answer"; readonly id: string; readonly answer: DialogAnswer }
  | { readonly do: "go-on" }
  /** Look up the inputs that wait to become part of the thread. */
  | { readonly do: "look" }
  | { readonly do: "list-rewind" }
  | { readonly do: "list-threads" }
  | { readonly do: "list-history" }
  | { readonly do: "new" }
  | { readonly do: "fork" }
  | { readonly do: "compact"; readonly focus: string }
  /** A command of the program, its output as a note. */
  | { readonly do: "command"; readonly name: "rules" | "mcp" | "console" | "export"; readonly words: string }
  | { readonly do: "theme"; readonly theme: "light" | "dark" | "none" }
  | { readonly do: "rewind"; readonly item: RewindItem }
  | { readonly do: "open"; readonly threadId: string }
  | { readonly do: "left"; readonly choice: LeftChoice }
  /** The person looks elsewhere, and something waits for them or has ended. */
  | { readonly do: "notify"; readonly why: "asks" | "done" | "failed" }
  | { readonly do: "suspend" }
  | { readonly do: "redraw" }
  | { readonly do: "quit" };

export type DialogAnswer =
  | { readonly type: "approve"; readonly remember?: "thread" | Scope; readonly args?: Json }
  | { readonly type: "reject"; readonly reason: string }
  | { readonly type: "respond"; readonly value: Json };

export type Happening =
  | { readonly type: "event"; readonly event: BelayEvent }
  | { readonly type: "key"; readonly key: Key; readonly now: number }
  | { readonly type: "tick"; readonly now: number }
  | { readonly type: "resize"; readonly columns: number; readonly rows: number }
  /** Another thread: its facts follow. */
  | { readonly type: "opened"; readonly threadId: string }
  /** All facts of the past were read, and this is how the thread stands. */
  | {
      readonly type: "caught-up";
      readonly state: SessionState;
      readonly pauseType: PauseType | undefined;
      readonly requests: readonly Interrupt[];
      readonly now: number;
    }
  | { readonly type: "mailed"; readonly mail: Mail }
  /** All that waits to become part of the thread. */
  | {
      readonly type: "waiting";
      readonly mail: readonly Mail[];
      readonly late: readonly { readonly callId: string; readonly tool: string }[];
      /** Calls of this process that were left behind and have not ended. */
      readonly running: readonly string[];
    }
  /** The program is to end, with any screen. */
  | { readonly type: "ending" }
  | { readonly type: "mail-gone"; readonly id: string }
  | { readonly type: "taken-back"; readonly mail: Mail; readonly taken: boolean }
  | { readonly type: "answer-refused"; readonly id: string; readonly problem: string }
  /** Nothing came of it; this is how the thread stands. */
  | {
      readonly type: "refused";
      readonly problem: string;
      readonly input?: string;
      readonly state?: SessionState;
      readonly pauseType?: PauseType | undefined;
    }
  /** A stop is over, with any outcome. */
  | { readonly type: "stop-ended" }
  | { readonly type: "rewind-items"; readonly items: readonly RewindItem[] }
  | { readonly type: "note"; readonly text: string; readonly tone: Tone }
  | { readonly type: "block"; readonly block: Block }
  | { readonly type: "popup"; readonly popup: Popup }
  | { readonly type: "draft"; readonly text: string };

export interface Step {
  readonly view: View;
  readonly effects: readonly Effect[];
}

export const still = (view: View): Step => ({ view, effects: [] });

export function firstView(
  size: Pick<View, "columns" | "rows"> & Partial<Pick<View, "me" | "demo" | "contextMost">>,
  now: number,
): View {
  const { columns, rows, me, demo = false, contextMost } = size;
  return {
    now,
    columns,
    rows,
    me,
    demo,
    contextMost,
    threadId: undefined,
    thread: emptyThread,
    state: "created",
    pauseType: undefined,
    stopping: 0,
    afterStop: undefined,
    starting: false,
    startedAt: undefined,
    restedAt: undefined,
    contextTokens: 0,
    transcript: emptyList,
    stream: undefined,
    heardAt: 0,
    thought: undefined,
    calls: [],
    cut: [],
    mail: [],
    read: [],
    behind: [],
    lookedAt: 0,
    toldLate: [],
    requests: [],
    dialog: undefined,
    popup: undefined,
    draft: emptyEditor,
    draftAt: 0,
    mode: "ask",
    history: [],
    historyAt: undefined,
    slashAt: 0,
    armed: undefined,
    unfolded: false,
    folded: undefined,
    past: false,
    epoch: 0,
    goesOn: false,
    quitting: false,
    focused: undefined,
  };
}

/** Something is under way that ESC stops. */
export function isRunning(view: View): boolean {
  return view.starting || view.state === "running" || view.calls.length > 0;
}

/** The clock is shown while something runs, or has a deadline. */
export function needsTime(view: View): boolean {
  const { armed, behind, requests } = view;
  const ends = requests.some(({ expiresAt }) => expiresAt !== undefined);
  return isRunning(view) || armed !== undefined || behind.length > 0 || ends;
}

/** Enter alone continues. */
export function canGoOn(view: View): boolean {
  if (isRunning(view)) return false;
  return view.state === "error" || (view.state === "paused" && view.requests.length === 0);
}

/** The queue waits for the person: a stop, a failure or the end of an earlier process came before it. */
export function isHeld(view: View): boolean {
  return !isRunning(view) && view.state !== "terminated";
}
