// One decision for several requests. Each is shown with its arguments before it is decided, and each stands alone: an answer
// that another person was faster with refuses no other. A destructive call and a question are decided on their own cards.

import { useEffect, useRef, useState } from "react";
import { DEAD_MS } from "../keys/keys.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Icon } from "../parts/icon.tsx";
import { JsonLine } from "../parts/json.tsx";
import { SeenText } from "../parts/seen-text.tsx";
import { useRefusal } from "../shell/who.ts";
import { useTexts } from "../texts/texts.ts";
import { asProblem, type Problem } from "../wire/problem.ts";
import { changed } from "../wire/read.ts";
import type { Ask } from "../wire/shapes.ts";
import { type AnswerBody, answerMany } from "../wire/write.ts";
import { titleOf } from "./ask-words.ts";

export interface Chosen {
  readonly ask: Ask;
  readonly destructive: boolean;
  /** Why this person may not answer it. */
  readonly refused: string | undefined;
}

interface BarProps {
  readonly chosen: readonly Chosen[];
  onClear(): void;
  /** While a decision is looked at, the bar stays, also if all that was chosen has left the list. */
  onHold(chosen: readonly Chosen[] | undefined): void;
}

export function BulkAnswers({ chosen, onClear, onHold }: BarProps) {
  const t = useTexts();
  const refused = useRefusal("approver");
  const [asks, setAsks] = useState<"approve" | "reject">();
  const ask = (how: "approve" | "reject") => {
    onHold(chosen);
    setAsks(how);
  };
  return (
    <section className="bulk bulk-asks" aria-label={t.threads.selected(chosen.length)}>
      <span className="medium" role="status">
        {t.threads.selected(chosen.length)}
      </span>
      <Button size="sm" icon="check" refused={refused} onClick={() => ask("approve")}>
        {t.inbox.approveMore}
      </Button>
      <Button size="sm" icon="cross" refused={refused} onClick={() => ask("reject")}>
        {t.card.rejectMore}
      </Button>
      <Button className="ml-auto" size="sm" look="ghost" keys="Escape" onClick={onClear}>
        {t.threads.clear}
      </Button>
      {asks !== undefined && (
        <Confirm
          how={asks}
          chosen={chosen}
          onClose={(decided) => {
            setAsks(undefined);
            onHold(undefined);
            if (decided) onClear();
          }}
        />
      )}
    </section>
  );
}

/** Why a request is not decided with the others. */
function leftOut(t: ReturnType<typeof useTexts>, how: "approve" | "reject", { ask, destructive, refused }: Chosen) {
  if (refused !== undefined) return refused;
  if (how === "approve" && ask.kind !== "approval") return t.inbox.needsAnswer;
  return how === "approve" && destructive ? t.inbox.aloneDestructive : undefined;
}

interface ConfirmProps {
  readonly how: "approve" | "reject";
  readonly chosen: readonly Chosen[];
  onClose(decided: boolean): void;
}

function Confirm({ how, chosen, onClose }: ConfirmProps) {
  const t = useTexts();
  const [reason, setReason] = useState("");
  const [state, setState] = useState<"asks" | "sending" | ReadonlyMap<string, Problem | undefined>>("asks");
  // The list behind it changes; the person decides about the items that it has read.
  const [rows] = useState(() => chosen.map((each) => ({ ...each, out: leftOut(t, how, each) })));
  const counted = rows.filter(({ out }) => out === undefined);
  const shownAt = useRef(0);
  useEffect(() => {
    shownAt.current = performance.now();
  }, []);
  const isDone = typeof state !== "string";
  const decide = () => {
    if (state !== "asks" || counted.length === 0) return;
    setState("sending");
    const body = (ask: Ask): AnswerBody =>
      how === "reject"
        ? { type: "reject", reason: reason.trim() || t.card.noReason }
        : { type: "approve", ...(ask.digest !== undefined && { digest: ask.digest }) };
    answerMany(counted.map(({ ask }) => ({ id: ask.id, ...body(ask) })))
      .catch((error: unknown) => counted.map(({ ask }) => ({ id: ask.id, problem: asProblem(error) })))
      .then((results) => {
        setState(new Map(results.map(({ id, problem }) => [id, problem])));
        changed(undefined);
      });
  };
  return (
    <Dialog
      title={how === "approve" ? t.inbox.approveTitle(counted.length) : t.inbox.rejectTitle(counted.length)}
      className="dialog-wide"
      onClose={() => onClose(isDone)}
    >
      {/* biome-ignore lint/a11y/noStaticElementInteractions: "a" approves as on a card; the buttons are below. */}
      <div
        className="grid gap-4 mt-3"
        onKeyDown={(event) => {
          const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.repeat;
          if (how !== "approve" || event.key !== "a" || !isPlain) return;
          if (performance.now() - shownAt.current > DEAD_MS) decide();
        }}
      >
        <ul className="bulk-list">
          {rows.map(({ ask, out }) => (
            <li key={ask.id} className={out === undefined ? "" : "faint"}>
              <Outcome out={out} result={isDone ? state : undefined} id={ask.id} />
              <span className="grid min-w-0">
                <span className="medium wrap-anywhere">
                  <SeenText text={titleOf(t, ask)} />
                </span>
                {ask.args !== undefined && (
                  <span className="args cut">
                    <JsonLine value={ask.args} />
                  </span>
                )}
                <Words out={out} problem={isDone ? state.get(ask.id) : undefined} />
              </span>
            </li>
          ))}
        </ul>
        {how === "reject" && !isDone && (
          <label className="grid gap-1">
            <span className="label">{t.card.reason}</span>
            <input className="input" value={reason} onChange={(event) => setReason(event.target.value)} />
          </label>
        )}
        <div className="row justify-end">
          {isDone ? (
            <Button look="primary" keys="Escape" onClick={() => onClose(true)}>
              {t.inbox.close}
            </Button>
          ) : (
            <>
              <Button look="ghost" keys="Escape" onClick={() => onClose(false)}>
                {t.all.cancel}
              </Button>
              <Button
                look="primary"
                {...(how === "approve" && { keys: "a" })}
                disabled={state === "sending" || counted.length === 0}
                onClick={(event) => {
                  // detail 0: Space or Enter, which never approve.
                  if (how === "reject" || event.detail !== 0) decide();
                }}
              >
                {how === "approve" ? t.inbox.approveMany(counted.length) : t.inbox.rejectMany(counted.length)}
              </Button>
            </>
          )}
        </div>
      </div>
    </Dialog>
  );
}

function Outcome({
  out,
  result,
  id,
}: {
  out: string | undefined;
  result: ReadonlyMap<string, Problem | undefined> | undefined;
  id: string;
}) {
  if (out !== undefined) return <Icon name="none" />;
  if (result === undefined) return <Icon name="asks" />;
  return <Icon name={result.get(id) === undefined ? "check" : "cross"} />;
}

/** Why a request was left out, or what another person had decided before. */
function Words({ out, problem }: { out: string | undefined; problem: Problem | undefined }) {
  const t = useTexts();
  if (out !== undefined) return <span className="small">{out}</span>;
  if (problem === undefined) return null;
  const { by } = problem.details;
  return (
    <span className="small dim">
      {problem.code === "ANSWER_TAKEN" && typeof by === "string" ? t.inbox.wasFaster(by) : problem.message}
    </span>
  );
}
