// The live handle on a thread: its verbs and its view. The thread in this process is `thread/live-thread`, and each verb
// has a file in `thread/`.

import { type Agent, type Checkpoint, definitionOf } from "../../agent.ts";
import { belayError, shown } from "../../error.ts";
import type { BelayEvent } from "../../event.ts";
import type { Answer } from "../../interrupt/answer.ts";
import { isExpired } from "../../interrupt/decision.ts";
import type { Handle, Interrupt } from "../../interrupt/interrupt.ts";
import type { InterruptView } from "../../interrupt/view.ts";
import { shownMessages } from "../../journal/history.ts";
import { openRequests } from "../../journal/requests.ts";
import type { Json } from "../../json.ts";
import type { PauseType, SessionState } from "../../lifecycle.ts";
import type { Message } from "../../message.ts";
import type { Verdict } from "../../permission/decide.ts";
import type { RememberedRule } from "../../permission/remembered.ts";
import type { ThreadKey } from "../../store/store.ts";
import { inputCommand, labelCommand, plainCommand, signalCommand } from "../decide/command.ts";
import type { Receipt } from "../decide/ending.ts";
import { CHAT, type ChatOptions } from "../given/chat-options.ts";
import { checkOptions } from "../given/check.ts";
import { COMMAND, type GuardOptions } from "../given/command-options.ts";
import type { Input } from "../given/input.ts";
import type { LabelChange } from "../given/label.ts";
import {
  type AnswerOptions,
  type BreakpointOptions,
  type EndOptions,
  type EnqueueOptions,
  EVENTS,
  type EventOptions,
  type InterruptOptions,
  LOOK,
  type LookOptions,
  type ResumeOptions,
  type RunOptions,
  readBreakpoint,
  type SendOptions,
  type SteerOptions,
  type TerminateOptions,
} from "../given/options.ts";
import type { Run } from "../read/run.ts";
import { beginRun, resumeRun } from "../thread/begin-run.ts";
import { type Door, doorOf } from "../thread/door.ts";
import { letGo } from "../thread/let-go.ts";
import { LiveThread, type SessionHost } from "../thread/live-thread.ts";
import { lookAtCall, lookAtGraph } from "../thread/look.ts";
import { newHandleOn } from "../thread/new-handle-on.ts";
import { observe } from "../thread/observe.ts";
import { withdraw } from "../thread/send.ts";
import { startQueued, startWaiting } from "../thread/start-queued.ts";
import { submit } from "../thread/submit.ts";
import { type Waiting, waitingFor } from "../thread/waiting.ts";
import { answerRequest } from "./answer.ts";
import { type Chat, type Sent, sendTo } from "./send-to.ts";

/** The live handle on a thread in this process, made by `runner.open()`: its view of the thread, and the verbs. */
export interface Session<Out = string> extends Pick<LiveSession<Out>, keyof LiveSession<Out>> {}

/** Returns the thread of a session that `runner.open()` gave. */
export function threadOf(session: Session<unknown>): LiveThread {
  const thread = LiveSession.threadOf(session);
  if (thread !== undefined) return thread;
  const needed = "a session that runner.open() gave";
  throw belayError("OPTION_INVALID", { option: "session", value: shown(session), needed });
}

export class LiveSession<Out = string> {
  readonly threadId: string;
  readonly agent: Agent<Out, never>;
  readonly #thread: LiveThread;

  constructor(host: SessionHost, key: ThreadKey, agent: Agent<Out, never>, deps: unknown) {
    this.threadId = key.threadId;
    this.agent = agent;
    this.#thread = new LiveThread(host, key, definitionOf(agent), deps, () => void startWaiting(this.#thread));
  }

  /** Returns the thread of a session; undefined for any other object. Only the rooms of the runner ask for it. */
  static threadOf(session: unknown): LiveThread | undefined {
    return typeof session === "object" && session !== null && #thread in session ? session.#thread : undefined;
  }

  get #door(): Door {
    return doorOf(this.#thread, this.#thread.agent.absent);
  }

  get state(): SessionState {
    return this.#thread.state;
  }

  /** Returns why the thread is paused; undefined if it is not. */
  get pauseType(): PauseType | undefined {
    return this.#thread.pauseType;
  }

  /** Returns the open interrupts: those that the pause waits for, or, during a run, the requests that it has raised. */
  get interrupts(): readonly Interrupt[] {
    const { running, setup } = this.#thread;
    const now = setup.clock.now();
    const all =
      running === undefined ? this.#thread.standing.interrupts : running.state ? openRequests(running.state) : [];
    return all.filter((interrupt) => !isExpired(interrupt, now));
  }

  /**
   * Returns the interrupts of a pause, nested by agents, as the root agent sees them. The pausing append has recorded this view,
   * so it is the same in every process. Undefined if the thread is not paused, and after a crash.
   */
  get interruptView(): InterruptView | undefined {
    const { running, standing } = this.#thread;
    return running === undefined ? standing.view : undefined;
  }

  /** Returns the id of the present run, or of the last one. */
  get runId(): string | undefined {
    const { running, recall } = this.#thread;
    return running?.run.runId ?? recall.standing.runId;
  }

  /** Returns the history of the root agent. */
  get messages(): readonly Message[] {
    const { live, recall } = this.#thread;
    const scope = recall.whole(live?.state).scopes.get(this.agent.name);
    return scope === undefined ? [] : shownMessages(scope);
  }

  /** Starts a run. If the thread was paused by a person, by pause() or by a crash, it is resumed with the input. */
  run(input: Input, options: RunOptions = {}): Run<Out> {
    checkOptions("run()", options, COMMAND);
    return beginRun(this.#thread, input, options);
  }

  /** Continues after a pause or an error: with input by reasoning again, without input from exactly where it stopped. */
  resume(options: ResumeOptions = {}): Run<Out> {
    return resumeRun(this.#thread, options);
  }

  /** Resumes a thread that a person interrupted. Throws `INVALID_PAUSE_TYPE` if another cause paused it. */
  resumeWithInput(input?: Input): Run<Out> {
    this.#thread.refuseIfClosed();
    const { state, pauseType, threadId } = this;
    if (state !== "paused") throw belayError("INVALID_STATE", { threadId, state, action: "resumeWithInput()" });
    if (pauseType !== "user_interrupt") {
      throw belayError("INVALID_PAUSE_TYPE", { threadId, pauseType: pauseType ?? "nothing", needed: "user_interrupt" });
    }
    return this.resume(input === undefined ? {} : { input });
  }

  /**
   * Answers an open request. A call that the answer approves runs at once. The model is not called: the run continues with
   * resume(), by runner.work(), or by itself if it has not paused yet. Rejects with an `ANSWER_` error if the answer does not
   * count; the request is then unchanged.
   */
  answer(id: string, given: Answer, options: AnswerOptions = {}): Promise<{ readonly open: number }> {
    return answerRequest(this.#thread.setup, id, given, options, () => {
      this.#thread.refuseIfClosed();
      return this.#door;
    });
  }

  /** Issues a new handle on the present pause. The one before it becomes void. */
  async handle(): Promise<Handle> {
    this.#thread.refuseIfBusy();
    return newHandleOn(this.#door);
  }

  /** Returns the verdict of the rules on a call: whether it would run, be asked for or be denied, and by which rule. */
  permission(tool: string, args: Json): Promise<Verdict> {
    return lookAtCall(this.#thread, tool, args);
  }

  /** Returns the rules that people have allowed for this thread. */
  get rules(): readonly RememberedRule[] {
    const { running, recall } = this.#thread;
    return (running?.state ?? recall.now()).rules?.slice() ?? [];
  }

  /** Removes a rule of this thread. Resolves to false if there is no such rule. */
  async removeRule(id: string, options: SendOptions = {}): Promise<boolean> {
    checkOptions("removeRule()", options, COMMAND);
    const command = plainCommand({ do: "unrule", rule: id }, options, this.#thread.setup.clock.id());
    return submit(this.#door, command, options);
  }

  /** Sets or clears a breakpoint at a node of the thread's graphs. It stays until the next call for that node. */
  async setBreakpoint(options: BreakpointOptions): Promise<void> {
    const breakpoint = readBreakpoint(this.#thread.agent, options, this.#thread.setup.maxBytes);
    const command = plainCommand({ do: "breakpoint", breakpoint }, options, this.#thread.setup.clock.id());
    await submit(this.#door, command, options);
  }

  /** Gives the thread a title or labels. Labels that are not named stay as they are; `null` removes one. */
  async label(change: LabelChange, options: SendOptions = {}): Promise<void> {
    const { setup } = this.#thread;
    await submit(this.#door, labelCommand(this.threadId, change, options, setup.clock.id()), options);
  }

  /**
   * Returns the checkpoint of a graph: of the agent itself, or, if that is not a graph, of the innermost graph in which a
   * request waits. Undefined if there is no graph, or if it has not begun.
   */
  async checkpoint(options: LookOptions = {}): Promise<Checkpoint | undefined> {
    checkOptions("checkpoint()", options, LOOK);
    return lookAtGraph(this.#thread, options);
  }

  /**
   * Stops the run, whichever process is running it. If this one is, the signal is set before this returns. Resolves to the
   * receipt when the work has stopped and that is recorded.
   */
  async interrupt(options: InterruptOptions = {}): Promise<Receipt> {
    return submit(this.#door, signalCommand("stop", options, this.#thread.setup));
  }

  /** Pauses the run at its next step boundary, whichever process is running it. Nothing is aborted. */
  async pause(options: GuardOptions = {}): Promise<Receipt> {
    return submit(this.#door, signalCommand("pause", options, this.#thread.setup));
  }

  /** Sends an input to the run without stopping it. It enters before the next model call. If nothing runs, it waits for the next run. */
  async steer(input: Input, options: SteerOptions = {}): Promise<{ readonly id: string }> {
    return this.#sendInput("steer", input, options);
  }

  /** Queues an input for the next run. If the thread is idle, that run starts at once. After a stop or a failure it waits until a person acts. */
  async enqueue(input: Input, options: EnqueueOptions = {}): Promise<{ readonly id: string }> {
    const sent = await this.#sendInput("enqueue", input, options);
    const { start = this.#thread.setup.start } = options;
    if (start !== "worker") await startQueued(this.#thread);
    return sent;
  }

  async #sendInput(how: "steer" | "enqueue", input: Input, options: SteerOptions): Promise<{ readonly id: string }> {
    this.#thread.refuseIfClosed();
    return submit(this.#door, inputCommand(how, input, options, this.#thread));
  }

  /**
   * Sends an input to the thread in whatever state it is, as a chat box does: it starts a run, resumes a paused one, steers a
   * running one, or answers. Resolves when the input is on record or waits in the store.
   */
  async send(input: Input, options: ChatOptions = {}): Promise<Sent> {
    checkOptions("send()", options, CHAT);
    this.#thread.refuseIfClosed();
    const begun = async (begin: () => Run<Out>) => {
      await this.#thread.refresh();
      const run = begin();
      await run.started;
      return run;
    };
    const chat: Chat = {
      door: this.#door,
      slots: this.#thread.host.slots,
      on: (ask) => ask(this.#thread),
      run: (said, given) => begun(() => this.run(said, given)),
      resume: (given) => begun(() => this.resume(given)),
      enqueue: (said, given) => this.enqueue(said, given),
    };
    return sendTo(chat, input, options);
  }

  /**
   * Adds a message to the history that the agent is to know, and not to answer: at once if nothing runs and no request is
   * open, else before the next model call. Resolves when the store has it; without an id if a hook dropped it.
   */
  async observe(
    message: string | Pick<Message, "parts">,
    options: SendOptions = {},
  ): Promise<{ readonly id?: string }> {
    const id = await observe(this.#thread, message, options);
    return id === undefined ? {} : { id };
  }

  /** Takes a steer or a queued input back. Resolves to false if it was consumed already. */
  async withdraw(id: string): Promise<boolean> {
    const { setup, key } = this.#thread;
    this.#thread.refuseIfClosed();
    return withdraw(setup, key, id);
  }

  /** Returns the ids of calls that a stop left behind and that still run in this process. The result of each arrives as a `late` command. */
  get late(): readonly string[] {
    return [...this.#thread.behind];
  }

  /** Returns the commands that were sent, from any process, and are not part of the thread yet, the oldest first. */
  waiting(): Promise<readonly Waiting[]> {
    const { setup, key } = this.#thread;
    return waitingFor(setup.store, key);
  }

  /** Ends the thread for good, in any process. Resolves when that is on record. */
  async terminate(options: TerminateOptions = {}): Promise<void> {
    await submit(this.#door, signalCommand("terminate", options, this.#thread.setup));
  }

  /** Returns the facts after `after` (all by default), then live events. Ends with `signal`, or when the session is closed. */
  events(options: EventOptions = {}): AsyncIterable<BelayEvent> {
    const { feed, closing, isGone } = this.#thread;
    checkOptions("events()", options, EVENTS);
    const { after = 0, signal } = options;
    const reader = feed.reader(after, signal, this.#thread);
    if (isGone) reader.end();
    else if (closing !== undefined) reader.finish();
    return reader;
  }

  /** Lets go of the thread without ending it. A run in progress is aborted and can be resumed elsewhere. */
  async close(options: EndOptions = {}): Promise<void> {
    return letGo(this.#thread, options);
  }
}
