// The place to speak. While a run is running there are three ways, each with its effect. After a stop there are two:
// continue, or say something else; both name the outcome of the held calls.

import type { DriftReport } from "@belay/core";
import { useRef, useState } from "react";
import { Link } from "wouter";
import { keyText, useKeys } from "../keys/keys.ts";
import type { ThreadShown } from "../live/thread-store.ts";
import { Button } from "../parts/button.tsx";
import { Icon, type IconName } from "../parts/icon.tsx";
import { toast } from "../parts/toasts.tsx";
import { useRefusal } from "../shell/who.ts";
import { nodeAt } from "../story/now.ts";
import { cutCalls, heldCalls } from "../story/story.ts";
import { useTexts } from "../texts/texts.ts";
import { asProblem, Problem } from "../wire/problem.ts";
import { changed } from "../wire/read.ts";
import type { Look } from "../wire/shapes.ts";
import { type Guard, type ResumeBody, resume, send, withdraw } from "../wire/write.ts";
import { DriftDialog } from "./drift-dialog.tsx";
import { standing } from "./standing.ts";

interface Props {
  readonly shown: ThreadShown;
  readonly look: Look | undefined;
  readonly guard: Guard;
  onSent(): void;
}

export function Composer({ shown, look, guard, onSent }: Props) {
  const t = useTexts();
  const refused = useRefusal("operator");
  const { threadId, view } = shown;
  const { state, pauseType } = standing(view, look) ?? view;
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const [drift, setDrift] = useState<{ report: DriftReport; body: ResumeBody }>();
  const field = useRef<HTMLTextAreaElement & HTMLInputElement>(null);
  const run = (work: Promise<unknown>, after?: () => void) => {
    setBusy(true);
    work
      .then(() => {
        setText("");
        onSent();
        after?.();
      })
      .catch((error: unknown) => toast({ icon: "warning", isFail: true, words: asProblem(error).message }))
      .finally(() => {
        setBusy(false);
        changed(threadId);
      });
  };
  const say = (way?: "steer" | "enqueue" | "interrupt") => {
    if (busy || refused !== undefined) return;
    if (text.trim() === "") return field.current?.focus();
    run(
      send(threadId, text, way).then((sent) => {
        if (sent.how === "steer" || sent.how === "enqueue")
          toast({
            icon: sent.how === "steer" ? "steer" : "queue",
            words: sent.how === "steer" ? t.compose.steered : t.compose.queued,
            action: {
              words: t.card.undo,
              run: () =>
                void withdraw(threadId, sent.id).then(
                  () => changed(threadId),
                  (error) => toast({ icon: "warning", isFail: true, words: asProblem(error).message }),
                ),
            },
          });
      }),
    );
  };
  const goOn = (body: ResumeBody) => {
    if (busy || refused !== undefined) return;
    run(
      resume(threadId, { ...guard, drift: "refuse", ...body }).catch((error: unknown) => {
        if (!(error instanceof Problem) || error.code !== "DRIFT_REFUSED") throw error;
        setDrift({ report: error.details.report as DriftReport, body });
      }),
    );
  };
  const rests = state === "paused" && pauseType !== "tool_interrupt";
  const failed = state === "error";
  useKeys({
    s: () => field.current?.focus(),
    ...((rests || failed) && { c: () => goOn({}) }),
  });
  const driftDialog = drift !== undefined && (
    <DriftDialog
      report={drift.report}
      onClose={() => setDrift(undefined)}
      onResume={() => {
        setDrift(undefined);
        run(resume(threadId, { ...guard, ...drift.body, drift: "warn" }));
      }}
    />
  );

  if (state === "terminated") {
    return (
      <div className="composer p-3 row">
        <Icon name="none" />
        <span className="dim grow">{t.compose.terminated}</span>
        <Link className="btn" href={`/threads/${encodeURIComponent(threadId)}/fork`}>
          <Icon name="fork" />
          {t.thread.fork}
        </Link>
      </div>
    );
  }

  if (rests || failed) {
    const held = heldCalls(view);
    const names = [...new Set(held.map(({ tool }) => tool))].join(", ");
    const isNode = pauseType === "node_interrupt";
    const nodes = view.interrupts.flatMap(({ kind, address }) => (kind === "node" ? [nodeAt(address)] : []));
    // What a crash cut is asked about; a person that continues is told before.
    const cut = pauseType === "crash" ? cutCalls(view) : [];
    return (
      <div className="resume">
        <div>
          <strong>
            {failed
              ? t.compose.tryAgain
              : pauseType === "crash"
                ? t.compose.crashed
                : isNode
                  ? t.compose.atNode
                  : t.compose.continueHere}
          </strong>
          <p className="small dim">
            {failed
              ? t.compose.tryAgainHow
              : pauseType === "crash"
                ? cut.length > 0
                  ? t.compose.crashedCalls
                  : t.compose.crashedHow
                : isNode
                  ? t.compose.atNodeHow
                  : t.compose.continueHow}{" "}
            {cut.length > 0 && (
              <>
                <code>{cut.join(", ")}</code>.
              </>
            )}
            {held.length > 0 && (
              <>
                <strong>{t.compose.heldRun(held.length)}</strong>: <code>{names}</code>.
              </>
            )}
          </p>
          <div className="row flex-wrap">
            <Button look="primary" icon="play" keys="c" refused={refused} disabled={busy} onClick={() => goOn({})}>
              {held.length > 0
                ? t.compose.continueRuns(held.length)
                : failed
                  ? t.compose.tryAgainButton
                  : isNode && nodes.length > 0
                    ? t.graph.runNode(nodes.join(", "))
                    : t.compose.continue}
            </Button>
            {isNode && (
              <Link className="btn" href={`/threads/${encodeURIComponent(threadId)}/graph`}>
                {t.compose.seeGraph}
              </Link>
            )}
          </div>
        </div>
        <div>
          <strong>{t.compose.sayElse}</strong>
          <p className="small dim">
            {t.compose.sayElseHow}{" "}
            {held.length > 0 && (
              <>
                <code>{names}</code> {t.compose.notExecuted}
              </>
            )}
          </p>
          <div className="row">
            <input
              ref={field}
              className="input"
              aria-label={t.compose.sayElse}
              placeholder={t.compose.sayElsePlaceholder}
              value={text}
              disabled={refused !== undefined}
              onChange={(event) => setText(event.target.value)}
              onKeyDown={(event) => {
                if (event.key === "Escape") field.current?.blur();
                if (event.key !== "Enter" || event.nativeEvent.isComposing || text.trim() === "") return;
                event.preventDefault();
                goOn({ input: text });
              }}
            />
            <Button
              keys="Enter"
              refused={refused}
              disabled={busy || text.trim() === ""}
              onClick={() => goOn({ input: text })}
            >
              {t.compose.say}
            </Button>
          </div>
        </div>
        {driftDialog}
      </div>
    );
  }

  const isRunning = state === "running";
  const waits = state === "paused";
  return (
    <div className="composer">
      <textarea
        ref={field}
        rows={1}
        aria-label={t.compose.placeholder(look?.agent ?? view.agent ?? "")}
        placeholder={refused ?? t.compose.placeholder(look?.agent ?? view.agent ?? "")}
        disabled={refused !== undefined && text === ""}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") field.current?.blur();
          if (event.key !== "Enter" || event.nativeEvent.isComposing || event.shiftKey) return;
          event.preventDefault();
          if (!isRunning) say();
          else say(event.metaKey || event.ctrlKey ? "interrupt" : event.altKey ? "enqueue" : "steer");
        }}
      />
      <div className="ways">
        {isRunning ? (
          <>
            <Way
              icon="steer"
              words={t.compose.steer}
              how={t.compose.steerHow}
              keys="Enter"
              isDefault
              disabled={busy || refused !== undefined}
              onClick={() => say("steer")}
            />
            <Way
              icon="queue"
              words={t.compose.queue}
              how={t.compose.queueHow}
              keys="alt+Enter"
              disabled={busy || refused !== undefined}
              onClick={() => say("enqueue")}
            />
            <Way
              icon="stop"
              words={t.compose.stopAndSay}
              how={t.compose.stopAndSayHow}
              keys="mod+Enter"
              disabled={busy || refused !== undefined}
              onClick={() => say("interrupt")}
            />
          </>
        ) : (
          <Way
            icon={waits ? "steer" : "play"}
            words={waits ? t.compose.sayNow : t.compose.send}
            how={waits ? t.compose.whileAsked : t.compose.sendHow}
            keys="Enter"
            isDefault
            disabled={busy || refused !== undefined}
            onClick={() => say()}
          />
        )}
      </div>
    </div>
  );
}

interface WayProps {
  readonly icon: IconName;
  readonly words: string;
  readonly how: string;
  readonly keys: string;
  readonly isDefault?: boolean;
  readonly disabled: boolean;
  onClick(): void;
}

function Way({ icon, words, how, keys, isDefault = false, disabled, onClick }: WayProps) {
  return (
    <button type="button" className={`way ${isDefault ? "is-default" : ""}`} disabled={disabled} onClick={onClick}>
      <b>
        <Icon name={icon} />
        {words}
        <kbd className="key">{keyText(keys)}</kbd>
      </b>
      <span>{how}</span>
    </button>
  );
}
