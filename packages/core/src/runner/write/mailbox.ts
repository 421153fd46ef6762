// Commands that reach a running thread: stops, steers, inputs for the next run, late results. Invariants:
// 1. A command has no effect until an append consumes it (F3); a stop alone acts at once, and is consumed by the
//    append that records it. Reading one twice is harmless: it is known by its key.
// 2. A stop is for one segment of one run: one that comes too late for it hits nothing else (S2).
// 3. A row that cannot be read holds up no other: it stays in the store, and the damage is reported (C4).

import { BelayError } from "../../error.ts";
import type { Action, ActionEvent, Fact, InputQueuedEvent, ToolLateEvent } from "../../event.ts";
import type { FramePlace } from "../../frame.ts";
import { isReplaceable, isSpokenTo } from "../../journal/history.ts";
import type { Scope, ThreadState } from "../../journal/state.ts";
import type { Command, Store, ThreadKey } from "../../store/store.ts";
import { commandIn, type Command as DoorCommand, signalIn } from "../decide/command.ts";
import { base } from "../decide/facts.ts";
import {
  type InputMail,
  type InputQueuedMail,
  inputFactsOf,
  type Known,
  kindOf,
  type LateMail,
  queuedFacts,
  queuedMail,
  read,
  resumeIn,
} from "../decide/mail.ts";

type Scopes = Pick<ReadonlyMap<string, unknown>, "has">;

/** The parts of a tenure that its mailbox calls. */
export interface MailHost {
  /** Takes a command between two appends. A stop acts at once. */
  take(command: DoorCommand): void;
  /** Inputs have arrived. */
  news(): void;
  /** Called for each row that cannot be read, once. */
  damaged(damage: BelayError): void;
}

export class Mailbox {
  readonly #store: Store;
  readonly #key: ThreadKey;
  readonly #known = new Set<string>();
  /** Keys of commands that wait in the store for this tenure to record them. */
  rows: string[] = [];
  #steers: Known<InputMail>[] = [];
  #lates: Known<LateMail>[] = [];
  #fresh: InputQueuedMail[] = [];
  /** True if inputs for the next run have arrived, also after the last append was answered. */
  hadInput = false;
  readonly #host: MailHost;
  /** The damage that was reported. */
  #told: readonly string[] = [];

  constructor(store: Store, key: ThreadKey, host: MailHost) {
    this.#store = store;
    this.#key = key;
    this.#host = host;
  }

  /** Reads the rows of the thread. Never rejects: if the store fails, so does the next append. */
  async look(): Promise<void> {
    try {
      const loaded = await this.#store.load(this.#key, Number.MAX_SAFE_INTEGER);
      if (loaded !== undefined) this.deliver(loaded.commands);
    } catch (error) {
      this.#damaged(error);
    }
  }

  #damaged(error: unknown): void {
    if (!(error instanceof BelayError) || !error.code.startsWith("JOURNAL_") || this.#told.includes(error.message))
      return;
    this.#told = [...this.#told, error.message];
    this.#host.damaged(error);
  }

  deliver(commands: readonly Command[]): void {
    for (const command of commands) {
      if (this.#known.has(command.key)) continue;
      this.#known.add(command.key);
      try {
        this.#sort(command);
      } catch (error) {
        this.#damaged(error);
      }
    }
    if (this.#fresh.length > 0) this.#host.news();
  }

  /** Forgets rows that their senders took back. One of them may be sent again. */
  withdrawn(keys: readonly string[]): void {
    this.rows = this.rows.filter((key) => !keys.includes(key));
    for (const key of keys) this.#known.delete(key);
    this.drop(keys);
  }

  /** Drops commands that were withdrawn or consumed. */
  drop(keys: readonly string[]): void {
    this.#steers = this.#steers.filter(({ key }) => !keys.includes(key));
    this.#lates = this.#lates.filter(({ key }) => !keys.includes(key));
    this.#fresh = this.#fresh.filter(({ id }) => !keys.includes(id));
  }

  /** Notes the inputs that the first append consumed. A hint for one of them comes too late. */
  begunWith(facts: readonly Fact[]): void {
    for (const fact of facts) if (fact.type === "input-consumed") this.#known.add(fact.id);
  }

  get hasSteer(): boolean {
    return this.#steers.some(({ mail }) => !mail.observed);
  }

  /** Returns true if commands wait for the agent at `path`. `scopes` are the agents on record. */
  has(path: string, root: boolean, scopes: Scopes): boolean {
    return (root && this.#steers.length > 0) || this.#lates.some(({ mail }) => isFor(mail, path, scopes));
  }

  /** Returns an event for each command that waits, once, also over crashes and pauses. `told`: the ones that the journal has. */
  queued(place: FramePlace, told: ReadonlySet<string> | undefined): InputQueuedEvent[] {
    const fresh = this.#fresh.filter(({ id }) => !told?.has(id));
    this.#fresh = [];
    return queuedFacts(place, fresh);
  }

  /**
   * Returns the facts by which commands enter `scope` now: late results first, then steers in the order they were sent. A
   * result of a call that is not in `calls` belongs to a deleted thread of the same name, and is dropped. The actions of a
   * late call take effect if its result takes the place of the interrupted one; steers then wait for the next resume.
   */
  take(
    place: FramePlace,
    scope: Scope,
    root: boolean,
    now: number,
    { callIds: calls, scopes, queued: told }: Pick<ThreadState, "callIds" | "scopes" | "queued">,
  ): Fact[] {
    const facts: Fact[] = [];
    this.#lates = this.#lates.filter(({ mail }) => calls.has(mail.callId));
    for (const { key: id, mail } of this.#lates.filter(({ mail }) => isFor(mail, scope.path, scopes))) {
      const { callId, tool, address, outcome, output, actions = [], values } = mail;
      const as = isReplaceable(scope, callId, mail.segment) ? "replace" : "note";
      facts.push({
        type: "tool-late",
        id,
        callId,
        tool,
        address,
        outcome,
        output,
        as,
        ...base(place),
        ...(values && { values }),
      } satisfies ToolLateEvent);
      // A person that has given input since wants an answer. Actions that change no course are recorded all the same.
      const late = as === "note" || isSpokenTo(scope, callId);
      for (const action of late ? actions.filter(isTold) : actions)
        facts.push({ type: "action", action, ...base(place) } satisfies ActionEvent);
    }
    if (root && !facts.some((fact) => fact.type === "action" && !isTold(fact.action))) {
      // A steer that arrived while this append waited: the append that would record its event comes after this one.
      const untold = this.#fresh.filter(({ id, kind }) => kind !== "input" && !told?.has(id));
      facts.push(...queuedFacts(place, untold));
      for (const { key, mail } of this.#steers) facts.push(...inputFactsOf(place, key, kindOf(mail), mail, now));
    }
    return facts;
  }

  /** Drops the commands that these facts consume. */
  taken(facts: readonly Fact[]): void {
    this.drop(facts.flatMap((fact) => (fact.type === "tool-late" || fact.type === "input-consumed" ? [fact.id] : [])));
  }

  #steer(key: string, at: number, mail: InputMail): void {
    const steer = { key, at, mail };
    this.#steers.push(steer);
    this.#fresh.push(queuedMail(steer));
  }

  #sort(command: Command): void {
    const { key, kind, at } = command;
    switch (kind) {
      case "stop":
        this.rows.push(key);
        this.#host.take(signalIn(read(this.#key, command), key, at));
        break;
      case "steer":
        this.#steer(key, at, read<InputMail>(this.#key, command));
        break;
      case "late":
        this.#lates.push({ key, at, mail: read(this.#key, command) });
        break;
      case "input":
        this.hadInput = true;
        this.#fresh.push({ id: key, kind });
        break;
      case "answer": {
        const input = resumeIn(command);
        if (input !== undefined) return this.#steer(key, at, input);
        this.rows.push(key);
        this.#host.take(commandIn(this.#key, command));
        break;
      }
      default:
        kind satisfies never;
    }
  }
}

/** True if a late result is for the agent at `path`: its own agent, or, if that one has ended, the agent that made the call. */
function isFor({ path: of }: LateMail, path: string, scopes: Scopes): boolean {
  return of === path || (of.startsWith(`${path}/`) && !scopes.has(of));
}

function isTold({ customized }: Action): boolean {
  return customized !== undefined;
}
