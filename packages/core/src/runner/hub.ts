// hub(sessions): what one of them replies, the others observe. Invariants:
// 1. A reply is handed on when it is on record as whole, under an id made of its thread and run: once to each, however
//    often it is read, stopped on the way or handed on by another hub.
// 2. What cannot be handed on now is tried again with the next thing that happens, and is not skipped; meanwhile the
//    others hear of it.

import type { BelayError } from "../error.ts";
import type { Fact } from "../event.ts";
import { type Message, messageText } from "../message.ts";
import type { Session } from "./session.ts";

type AnySession = Session<unknown>;

export interface HubReply {
  readonly threadId: string;
  readonly runId: string;
  readonly agentName: string;
  readonly text: string;
}

export interface HubOptions {
  /** How a reply reads to the others; "name: text" by default. Nothing at all is not handed on. */
  say?(reply: HubReply): string | Pick<Message, "parts"> | undefined;
  /** Replies from now on, or also those on record that were not handed on yet. */
  readonly from?: "now" | "start" | undefined;
}

export interface Hub {
  add(session: AnySession): void;
  remove(session: AnySession): void;
  /** Resolves when all replies that are on record have been handed on; rejects where one could not be. */
  settled(): Promise<void>;
  /** Hands on nothing any more. */
  close(): void;
}

export function hub(sessions: readonly AnySession[], options: HubOptions = {}): Hub {
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
  /** The id of the message that the run under way has last said. */
  #lastSaid: string | undefined;
  #left = false;
  /** What each of the others has yet to hear. */
  readonly #due = new Map<AnySession, Reply[]>();

  constructor(session: AnySession, options: HubOptions, others: () => readonly AnySession[]) {
    this.#session = session;
    this.#options = options;
    this.#others = others;
    this.#cursor = options.from === "start" ? Promise.resolve(0) : session.head();
    this.#unwatch = session.watch(() => void this.catchUp().catch(() => {}));
    if (options.from === "start") void this.catchUp().catch(() => {});
  }

  leave(): void {
    this.#left = true;
    this.#unwatch();
  }

  /** One after the other: each begins where the last one came to. */
  async catchUp(): Promise<void> {
    const before = this.#cursor;
    const failed: unknown[] = [];
    this.#cursor = before.then(async (from) => {
      let at = from;
      try {
        for (const fact of this.#left ? [] : await this.#session.factsAfter(from)) {
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
    if (fact.runPath.includes("/")) return;
    if (fact.type === "message" && fact.message.role === "assistant" && !fact.message.isInterrupted) {
      this.#lastSaid = fact.message.continues ?? fact.message.id;
    }
    if (fact.type !== "run-end" || fact.status !== "completed") return;
    const text = this.#textOf(fact);
    const { threadId, runId, agentName } = fact;
    if (text.trim() === "") return;
    const { say = asSaid } = this.#options;
    const words = say({ threadId, runId, agentName, text });
    if (words === undefined || (typeof words === "string" && words.trim() === "")) return;
    const reply = { words, id: `hub:${threadId}:${runId}` };
    for (const session of this.#others()) this.#due.set(session, [...(this.#due.get(session) ?? []), reply]);
  }

  /** To each in its order, and to each for itself: one that cannot hear now holds up no other. */
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

  /** The whole message, also where it was cut and went on. */
  #textOf({ output }: Extract<Fact, { type: "run-end" }>): string {
    const { messages } = this.#session;
    const said =
      messages.find(({ id }) => id === this.#lastSaid) ??
      messages.findLast(({ role, isInterrupted }) => role === "assistant" && !isInterrupted);
    if (said !== undefined) return messageText(said);
    return output === undefined ? "" : JSON.stringify(output);
  }
}

/** Its thread has been terminated, or it is closed: nobody can tell it anything any more. */
function hearsNoMore({ state }: AnySession, error: unknown): boolean {
  return state === "terminated" || (error as Partial<BelayError>).code === "SESSION_CLOSED";
}

function asSaid({ agentName, text }: HubReply): string {
  return `${agentName}: ${text}`;
}
