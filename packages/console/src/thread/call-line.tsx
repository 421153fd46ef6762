// One call: its tool, its arguments, its outcome; below it one line if there is something to explain. Open, it shows the
// model's arguments, those that ran, and the result.

import type { CallView, RequestView } from "@belay/client";
import { useState } from "react";
import { Link } from "wouter";
import { useNow } from "../live/use-live.ts";
import { Icon, type IconName } from "../parts/icon.tsx";
import { JsonBlock, JsonLine } from "../parts/json.tsx";
import { SeenText } from "../parts/seen-text.tsx";
import { stopwatch } from "../texts/stopwatch.ts";
import type { Texts } from "../texts/texts.ts";
import { useTexts } from "../texts/texts.ts";
import { type Times, useTimes } from "../texts/times.ts";
import type { Json } from "../wire/shapes.ts";

interface CallProps {
  readonly call: CallView;
  readonly requests: ReadonlyMap<string, RequestView>;
  readonly progress: readonly Json[];
  /** When the last stop of its run was asked for. */
  readonly stoppedAt: number | undefined;
}

const icons: Readonly<Record<NonNullable<CallView["outcome"]>, IconName>> = {
  ok: "check",
  error: "cross",
  rejected: "none",
  "not-executed": "none",
  interrupted: "stopped",
  unknown: "unknown",
};

function iconOf({ state, outcome, late, cut }: CallView): IconName {
  if (late !== undefined) return "late";
  if (state === "running") return "play";
  if (state === "asked") return "asks";
  if (state === "held") return cut ? "unknown" : "held";
  return outcome === undefined ? "clock" : icons[outcome];
}

function lookOf({ state, outcome, late }: CallView): string {
  if (state === "held" || state === "asked") return "is-held";
  if (state === "running") return "is-running";
  if (late !== undefined) return "is-late";
  return outcome === "error" ? "is-failed" : "";
}

export function CallLine({ call, requests, progress, stoppedAt }: CallProps) {
  const t = useTexts();
  const times = useTimes();
  const [open, setOpen] = useState(false);
  const now = useNow(call.state === "running" ? 1_000 : 60_000);
  const why = reasons(t, times, call, requests, stoppedAt);
  const ask = call.open.length > 0 ? requests.get(call.open[0]!) : undefined;
  const fg =
    call.state === "asked" || call.state === "held"
      ? "fg-person"
      : call.state === "running"
        ? "fg-run"
        : call.outcome === "error"
          ? "fg-fail"
          : "faint";
  return (
    <div className={`call ${lookOf(call)}`}>
      <button type="button" className="call-line" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span className={fg}>
          <Icon name={iconOf(call)} />
        </span>
        <span className="tool">
          <SeenText text={call.tool} />
        </span>
        <span className="args">
          <JsonLine value={call.args} ran={call.ranArgs} />
        </span>
        <span className="out">{outcomeWords(t, times, call, now)}</span>
      </button>
      {why.length > 0 && (
        <div className="call-why">
          {why.map((words, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the reasons of one call keep their order.
            <span key={at}>{words}</span>
          ))}
          {ask !== undefined && (
            <Link className="btn btn-sm ml-auto" href={`/inbox/${encodeURIComponent(ask.id)}`}>
              {t.threads.review}
            </Link>
          )}
        </div>
      )}
      {progress.length > 0 && call.state === "running" && (
        <pre className="call-why mono whitespace-pre-wrap max-h-40 overflow-auto">
          <SeenText
            text={progress
              .map((each) => (typeof each === "string" ? each : JSON.stringify(each)))
              .join("\n")
              .slice(-2_000)}
          />
        </pre>
      )}
      {open && (
        <div className="call-more">
          <span className="label">{t.call.asked}</span>
          <JsonBlock value={call.args} />
          {call.ranArgs !== undefined && (
            <>
              <span className="label">{t.call.ran}</span>
              <JsonBlock value={call.ranArgs} />
            </>
          )}
          {call.late !== undefined && (
            <>
              <span className="label">{t.call.lateResult}</span>
              <JsonBlock value={call.late.output} />
            </>
          )}
          {call.output !== undefined &&
            call.state === "ended" &&
            !(call.late !== undefined && call.output === null) && (
              <>
                <span className="label">{t.call.result}</span>
                <JsonBlock value={call.output} />
              </>
            )}
          <span className="addr wrap-anywhere">{call.address}</span>
        </div>
      )}
    </div>
  );
}

function outcomeWords(t: Texts, times: Times, call: CallView, now: number) {
  const { state, outcome, startedAt, endedAt, late } = call;
  if (late !== undefined) return t.call.endedLate;
  if (state === "running")
    return (
      <span className="fg-run medium">{`${t.call.running} ${startedAt === undefined ? "" : stopwatch(now - startedAt)}`}</span>
    );
  if (state === "asked") return <span className="fg-person medium">{t.call.waits}</span>;
  if (state === "held") return <span className="fg-person medium">{call.cut ? t.outcome.unknown : t.call.held}</span>;
  if (state === "received" || outcome === undefined) return t.call.received;
  const took =
    startedAt !== undefined && endedAt !== undefined && (outcome === "ok" || outcome === "error")
      ? ` · ${times.lasting(endedAt - startedAt)}`
      : "";
  return <span className={outcome === "error" ? "fg-fail" : ""}>{`${t.outcome[outcome]}${took}`}</span>;
}

/** The explanation of a call: the person that changed the arguments, the rule, the decision, the effect of a stop or a crash. */
function reasons(
  t: Texts,
  times: Times,
  call: CallView,
  requests: ReadonlyMap<string, RequestView>,
  stoppedAt: number | undefined,
): readonly React.ReactNode[] {
  const words: React.ReactNode[] = [];
  const { decision, ranArgs, changedBy, late, state, outcome, rule } = call;
  const ask = call.requests.map((id) => requests.get(id)).find((each) => each !== undefined);
  if (state === "asked") {
    words.push(<SeenText text={ask?.reason ?? t.call.waits} />);
    if (ask?.rule !== undefined) words.push(t.call.askedByRule(ask.rule));
    if ((ask?.quorum ?? 1) > 1) words.push(t.card.ofMany(ask!.approvals.length, ask!.quorum!));
  }
  if (state === "held") words.push(call.cut ? t.call.cutHeld : call.resumes ? t.call.resumes : t.call.heldHow);
  if (late !== undefined) {
    words.push(
      <strong className="fg-ink">
        {stoppedAt === undefined
          ? t.call.lateAfter(times.lasting(Math.max(0, late.at - (call.endedAt ?? late.at))))
          : t.call.lateAfterStop(times.lasting(Math.max(0, late.at - stoppedAt)))}
      </strong>,
    );
    words.push(t.call.lateTold[late.as]);
  }
  if (decision !== undefined) {
    if (ranArgs !== undefined && changedBy === undefined) words.push(t.call.changedBy(decision.by));
    else words.push(t.decided[decision.how](decision.by));
    if (ask !== undefined && decision.at - ask.raisedAt > 1_000)
      words.push(t.call.waited(times.lasting(decision.at - ask.raisedAt)));
    if (ask?.rule !== undefined) words.push(t.call.askedByRule(ask.rule));
    if (decision.note)
      words.push(
        <span>
          “<SeenText text={decision.note} />”
        </span>,
      );
    if (decision.reason)
      words.push(
        <span>
          “<SeenText text={decision.reason} />”
        </span>,
      );
  } else if (rule !== undefined && state !== "asked") words.push(t.call.allowedBy(rule));
  if (changedBy === "hook") words.push(t.call.byHook);
  if (state === "ended" && outcome === "not-executed") words.push(t.call.notExecuted);
  if (state === "ended" && outcome === "unknown") words.push(t.call.unknown);
  if (call.dropped) words.push(t.call.dropped);
  return words;
}
