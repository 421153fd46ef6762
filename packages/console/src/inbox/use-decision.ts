// From a press to a recorded decision. The answer waits a few seconds before it is sent, and can be taken back until then;
// a page that goes away sends it at once. A decision that came too late says which one counted.

import { useEffect, useRef, useState } from "react";
import { asProblem, type Problem } from "../wire/problem.ts";
import { changed, queries } from "../wire/read.ts";
import { newKey } from "../wire/request.ts";
import { type AnswerBody, answer } from "../wire/write.ts";

export const UNDO_MS = 5_000;

export type Sending =
  | { readonly is: "idle" }
  | { readonly is: "waiting"; readonly body: AnswerBody; readonly until: number }
  | { readonly is: "sending"; readonly body: AnswerBody }
  | { readonly is: "sent"; readonly body: AnswerBody; readonly open: number; readonly at: number }
  | { readonly is: "refused"; readonly body: AnswerBody; readonly problem: Problem; readonly at: number };

export interface Deciding {
  readonly state: Sending;
  decide(body: AnswerBody): void;
  /** Takes the answer back. */
  undo(): void;
  /** Sends it without waiting any longer. */
  now(): void;
}

export function useDecision(id: string, threadId: string): Deciding {
  const [state, setState] = useState<Sending>({ is: "idle" });
  const waiting = useRef<{ body: AnswerBody; key: string; timer: ReturnType<typeof setTimeout> } | undefined>(
    undefined,
  );

  const send = () => {
    const due = waiting.current;
    if (due === undefined) return;
    waiting.current = undefined;
    clearTimeout(due.timer);
    setState({ is: "sending", body: due.body });
    answer(id, due.body, due.key)
      .then(({ open }) => setState({ is: "sent", body: due.body, open, at: Date.now() }))
      .catch((error: unknown) => setState({ is: "refused", body: due.body, problem: asProblem(error), at: Date.now() }))
      .finally(() => {
        void queries.invalidateQueries({ queryKey: ["request", id] });
        changed(threadId);
      });
  };
  const sendRef = useRef(send);
  sendRef.current = send;

  useEffect(() => {
    const leave = () => sendRef.current();
    window.addEventListener("pagehide", leave);
    return () => {
      window.removeEventListener("pagehide", leave);
      leave();
    };
  }, []);

  return {
    state,
    decide(body) {
      if (waiting.current !== undefined) clearTimeout(waiting.current.timer);
      waiting.current = { body, key: newKey(), timer: setTimeout(() => sendRef.current(), UNDO_MS) };
      setState({ is: "waiting", body, until: Date.now() + UNDO_MS });
    },
    undo() {
      if (waiting.current === undefined) return;
      clearTimeout(waiting.current.timer);
      waiting.current = undefined;
      setState({ is: "idle" });
    },
    now: send,
  };
}
