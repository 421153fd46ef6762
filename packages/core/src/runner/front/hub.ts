// hub(sessions): the replies of each session are observed by the others. Invariants:
// 1. A reply is handed on when it is on record as whole, or as cut by a stop, under an id made of its thread and run: once to
//    each, also if it is read again, stopped on the way or handed on by another hub.
// 2. A reply that cannot be handed on now is tried again with the next event, and is not skipped; in the meantime the
//    others get it.

import type { BelayError } from "../../error.ts";
import type { Fact } from "../../event.ts";
import { asText } from "../../json.ts";
import { type Message, messageText } from "../../message.ts";
import { type Checks, checkOptions, flag, oneOf, optional, required } from "../given/check.ts";
import { readFacts } from "../read/read-facts.ts";
import { type Session, threadOf } from "./session.ts";

type AnySession = Session<unknown>;

/** A reply that a hub hands on. */
export interface HubReply {
  readonly threadId: string;
  readonly runId: string;
  readonly agentName: string;
  /** The reply. Of one that a stop has cut, the text that was kept. */
  readonly text: string;
  /** On a reply that a stop has cut: the person, and the words after the stop. */
  readonly interrupted?: { readonly by: string; readonly reason?: string; readonly said: string };
}

/** The options of `hub()`. */
export interface HubOptions {
  /** How a reply reads to the others; "name: text" by default. Nothing at all is not handed on. */
  say?(reply: HubReply): string | Pick<Message, "parts"> | undefined;
  /** Hands on replies that a person's stop has cut, with the words that were said after it; true by default. */
  readonly interrupts?: boolean | undefined;
  /** Replies from now on, or also those on record that were not handed on yet. */
  readonly from?: "now" | "start" | undefined;
}

/** Sessions that observe each other's replies. */
export interface Hub {
  add(session: AnySession): void;
  remove(session: AnySession): void;
  /** Resolves when all replies on record have been handed on. Rejects if one could not be. */
  settled(): Promise<void>;
  /** Ends the hub: no reply is handed on any more. */
  close(): void;
}

const OPTIONS: Checks<HubOptions> = {
  say: optional("a function of a reply", (say) => typeof say === "function"),
  from: oneOf("now", "start"),
  interrupts: flag,
};

const aList = required("a list of sessions", Array.isArray);

const aSession = required(
  "sessions, as runner.open() gives them",
  (session) => typeof (session as AnySession | null)?.observe === "function",
);

/** Hands each reply of a session to the other sessions, which observe it. */
export function hub(sessions: readonly AnySession[], options: HubOptions = {}): Hub {
  aList("sessions", sessions);
  for (const session of sessions) aSession("sessions", session);
  checkOptions("hub()", options, OPTIONS);
  const members = new Map<AnySession, Member>();
  const others = (self: AnySession) => [...members.keys()].filter((session) => session !== self);
  const made: Hub = {
    add: (session) => {
      if (!members.has(session)) members.set(session, new Member(session, options, () => others(session)));
    },
    remove: (session) => {
      members.get(session)?.leave();
      members.delete(session);
    },
    settled: async () => {
      await Promise.all([...members.values()].map((member) => member.catchUp()));
    },
    close: () => {
      for (const session of [...members.keys()]) made.remove(session);
    },
  };
  for (const session of sessions) made.add(session);
  return made;
}

interface Reply {
  readonly words: string | Pick<Message, "parts">;
  readonly id: string;
}

class Member {
  readonly #session: AnySession;
  readonly #options: HubOptions;
  readonly #others: () => readonly AnySession[];
  readonly #unwatch: () => void;
  /** The last fact that was looked at. */
  #cursor: Promise<number>;
  #left = false;
  /** The replies that each of the other sessions has not observed yet. */
  readonly #due = new Map<AnySession, Reply[]>();
  /** The text that was cut in the present segment, and the words after the stop. */
  #cut: { readonly text: string; readonly said: string } = uncut;

  constructor(session: AnySession, options: HubOptions, others: () => readonly AnySession[]) {
    this.#session = session;
    this.#options = options;
    this.#others = others;
    this.#cursor = options.from === "start" ? Promise.resolve(0) : headOf(session);
    const { setup, key } = threadOf(session);
    this.#unwatch = setup.store.watch(key, () => void this.catchUp().catch(() => {}), "append", true);
    if (options.from === "start") void this.catchUp().catch(() => {});
  }

  leave(): void {
    this.#left = true;
    this.#unwatch();
  }

  /** Looks at the facts since the last look. Looks run one after the other. */
  async catchUp(): Promise<void> {
    const { setup, key } = threadOf(this.#session);
    const before = this.#cursor;
    const failed: unknown[] = [];
    this.#cursor = before.then(async (from) => {
      let at = from;
      try {
        for (const fact of this.#left ? [] : await readFacts(setup.store, key, from)) {
          this.#look(fact);
          at = fact.seq;
        }
      } catch (error) {
        failed.push(error);
      }
      await this.#handOn(failed);
      return at;
    });
    await this.#cursor;
    if (failed.length > 0) throw failed[0];
  }

  #look(fact: Fact): void {
    if (fact.type === "message") return this.#collect(fact.message);
    if (fact.runPath.includes("/")) return;
    const { threadId, runId, agentName, segment } = fact;
    if (fact.type === "state" && fact.state === "running") this.#cut = uncut;
    if (fact.type === "state" && fact.pauseType === "user_interrupt") {
      const [stop] = fact.interrupts ?? [];
      const { text, said } = this.#cut;
      this.#cut = uncut;
      if (this.#options.interrupts === false || stop === undefined || `${text}${said}`.trim() === "") return;
      const { by, reason } = stop;
      const interrupted = { by, said, ...(reason !== undefined && { reason }) };
      return this.#say({ threadId, runId, agentName, text, interrupted }, `hub:${threadId}:${runId}:${segment}`);
    }
    if (fact.type !== "run-end" || fact.status !== "completed") return;
    const text = this.#textOf(fact);
    if (text.trim() !== "") this.#say({ threadId, runId, agentName, text }, `hub:${threadId}:${runId}`);
  }

  /** Keeps the rest of a stop: cut answers, of any nested agent, and words after the stop. */
  #collect(message: Message): void {
    const { text, said } = this.#cut;
    const words = messageText(message);
    if (message.isInterrupted) this.#cut = { text, said: joined(said, words) };
    else if (message.interrupted !== undefined) this.#cut = { said, text: joined(text, words) };
  }

  #say(replied: HubReply, id: string): void {
    const { say = asSaid } = this.#options;
    const words = say(replied);
    if (words === undefined || (typeof words === "string" && words.trim() === "")) return;
    const reply = { words, id };
    for (const session of this.#others()) this.#due.set(session, [...(this.#due.get(session) ?? []), reply]);
  }

  /** Hands the replies to each session in order. A session that cannot observe now holds up no other. */
  async #handOn(failed: unknown[]): Promise<void> {
    const here = new Set(this.#left ? [] : this.#others());
    await Promise.all(
      [...this.#due].map(async ([session, replies]) => {
        if (!here.has(session)) return this.#due.delete(session);
        try {
          for (let [reply] = replies; reply !== undefined; [reply] = replies) {
            await session.observe(reply.words, { id: reply.id });
            replies.shift();
          }
        } catch (error) {
          if (!hearsNoMore(session, error)) return failed.push(error);
        }
        return this.#due.delete(session);
      }),
    );
  }

  /**
   * Returns the reply of an agent: its output, or its last text, with the parts before and after a cut. Undefined if it said
   * nothing.
   */
  #textOf({ output, runId }: Extract<Fact, { type: "run-end" }>): string {
    if (typeof output === "string" || output === null) return asText(output);
    const said = this.#session.messages.findLast(
      ({ id, role, isInterrupted }) => role === "assistant" && !isInterrupted && id.startsWith(`${runId}.`),
    );
    if (said !== undefined) return messageText(said);
    return output === undefined ? "" : asText(output);
  }
}

/** Returns the seq of the last fact in the store. */
async function headOf(session: AnySession): Promise<number> {
  const { setup, key } = threadOf(session);
  return (await setup.store.load(key, Number.MAX_SAFE_INTEGER))?.row.head ?? 0;
}

/** True if the thread is terminated or the session is closed: it can observe nothing any more. */
function hearsNoMore({ state }: AnySession, error: unknown): boolean {
  return state === "terminated" || (error as Partial<BelayError>).code === "SESSION_CLOSED";
}

function asSaid({ agentName, text, interrupted }: HubReply): string {
  if (interrupted === undefined) return `${agentName}: ${text}`;
  const mark = `[interrupted by ${interrupted.by}]`;
  return `${agentName}: ${[text.trimEnd(), mark, interrupted.said].filter((part) => part !== "").join(" ")}`;
}

const uncut = { text: "", said: "" };

function joined(text: string, more: string): string {
  return text === "" ? more : `${text}\n${more}`;
}
