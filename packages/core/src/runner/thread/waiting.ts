// Lists the commands that wait for a thread, for pages that show a queue. An earlier process may have left some.

import type { Json } from "../../json.ts";
import type { Message, Outcome } from "../../message.ts";
import type { Command, Store, ThreadKey } from "../../store/store.ts";
import { type InputMail, type LateMail, read, resumeIn } from "../decide/mail.ts";
import { loadThread } from "../read/read-facts.ts";

/** A command that was sent to a thread and is not part of it yet. */
export type Waiting =
  | {
      readonly kind: "steer" | "input" | "observe";
      /** The id to give to withdraw(). */
      readonly id: string;
      readonly at: number;
      readonly by?: string;
      readonly messages: readonly Pick<Message, "parts">[];
    }
  /** A call that was left behind has ended. */
  | {
      readonly kind: "late";
      readonly id: string;
      readonly at: number;
      readonly callId: string;
      readonly tool: string;
      readonly outcome: Outcome;
      readonly output: Json;
    };

/** Reads the waiting commands of a thread, the oldest first. */
export async function waitingFor(store: Store, key: ThreadKey): Promise<readonly Waiting[]> {
  const loaded = await loadThread(store, key, Number.MAX_SAFE_INTEGER);
  return waitingIn(key, loaded?.commands ?? []);
}

/** Returns those of the rows that a person would see as waiting, in their order. */
export function waitingIn(key: ThreadKey, commands: readonly Command[]): readonly Waiting[] {
  return commands.flatMap((command): Waiting[] => {
    const { key: id, kind, at } = command;
    switch (kind) {
      case "input":
      case "steer": {
        const mail = read<InputMail>(key, command);
        return [said(mail.observed ? "observe" : kind, command, mail)];
      }
      case "late": {
        const { callId, tool, outcome, output } = read<LateMail>(key, command);
        return [{ kind, id, at, callId, tool, outcome, output }];
      }
      case "answer": {
        const mail = resumeIn(command);
        return mail === undefined ? [] : [said("steer", command, mail)];
      }
      case "stop":
        return [];
      default:
        return kind satisfies never;
    }
  });
}

function said(kind: "steer" | "input" | "observe", { key: id, at }: Command, { messages, by }: InputMail): Waiting {
  const parts = messages.map((message) => ({ parts: message.parts }));
  return { kind, id, at, ...(by !== undefined && { by }), messages: parts };
}
