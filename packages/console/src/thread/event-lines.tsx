// Rows of the conversation that are not messages: stops with their receipt, pauses, drift, ends, notes.

import { useState } from "react";
import { Link } from "wouter";
import { Icon } from "../parts/icon.tsx";
import { JsonBlock, JsonLine } from "../parts/json.tsx";
import { Mark } from "../parts/mark.tsx";
import { SeenText } from "../parts/seen-text.tsx";
import { nodeAt } from "../story/now.ts";
import type { Row, SaidRow, StopRow } from "../story/story.ts";
import { useTexts } from "../texts/texts.ts";
import { useTimes } from "../texts/times.ts";
import { driftWords } from "./drift-words.ts";

export function StopLine({ row }: { row: StopRow }) {
  const t = useTexts();
  const times = useTimes();
  const { stop } = row;
  const counts = [
    [stop.stopped.length, t.stop.countStopped],
    [stop.finished.length, t.stop.countFinished],
    [stop.notStarted.length, t.stop.countNotBegun],
    [stop.late.length, t.stop.countLate],
  ] as const;
  const met = counts.some(([count]) => count > 0);
  return (
    <section className={`stop ${row.last ? "is-last" : ""}`} aria-label={t.stop.receiptOf}>
      <span className="plate">
        <Mark size={32} hole="var(--surface)" />
      </span>
      <div className="stop-line">
        <span className="cut">
          <strong>{stop.kind === "user" ? t.stop.stoppedBy(stop.by) : t.stop.pausedBy(stop.by)}</strong>{" "}
          <span className="dim">
            {t.stop.at(times.exact(stop.askedAt))}
            {stop.reason !== undefined && stop.reason !== "general" && (
              <>
                {" · “"}
                <SeenText text={stop.message ?? stop.reason} />”
              </>
            )}
            {met
              ? stop.partialText !== ""
                ? ` · ${t.stop.kept}`
                : ""
              : ` · ${stop.partialText === "" ? t.stop.nothingElse : t.stop.onlyText}`}
          </span>
        </span>
        <span className="ms">{times.lasting(Math.max(0, stop.recordedAt - stop.askedAt))}</span>
      </div>
      {met && (
        <div className="receipt">
          {counts.map(([count, words]) => (
            <span key={words} className={count === 0 ? "zero" : ""}>
              <b>{count}</b>
              {words}
            </span>
          ))}
        </div>
      )}
    </section>
  );
}

export function EventLine({ row }: { row: Exclude<Row, SaidRow | StopRow> }) {
  const t = useTexts();
  const times = useTimes();
  const time = (
    <time className="faint ml-auto" dateTime={new Date(row.at).toISOString()} title={times.full(row.at)}>
      {times.clock(row.at)}
    </time>
  );
  switch (row.kind) {
    case "resumed":
      return (
        <div className={`evt ${row.begins ? "begins" : ""}`}>
          <span className="dot" />
          <div className="evt-line">
            <span>
              <strong>{row.by === undefined ? t.thread.resumed : t.thread.resumedBy(row.by)}</strong>
              {row.waitedMs !== undefined && ` · ${t.thread.after(times.lasting(row.waitedMs))}`} ·{" "}
              {t.thread.segment(row.segment)}
              {row.mode === "rethink" && ` · ${t.thread.rethinks}`}
            </span>
            {time}
          </div>
          {row.edits !== undefined && (
            <div className="args">
              <JsonLine value={row.edits} />
            </div>
          )}
        </div>
      );
    case "paused":
      return (
        <div className="evt is-person gap">
          <span className="dot" />
          <div className="evt-line">
            {row.why === "crash" ? (
              <span>
                <strong className="fg-person">{t.thread.crashed}</strong> {t.thread.crashedHow}
              </span>
            ) : (
              <span>
                <strong className="fg-person">{t.thread.atNode}</strong>{" "}
                {row.interrupts.map(({ id, reason, address }) => (
                  <code key={id}>
                    {reason} {nodeAt(address)}{" "}
                  </code>
                ))}
              </span>
            )}
            {time}
          </div>
        </div>
      );
    case "asked":
      return (
        <div className="evt is-person">
          <span className="dot" />
          <div className="evt-line">
            <span>
              <strong>
                <SeenText text={row.request.reason ?? ""} />
              </strong>{" "}
              {row.request.decision === undefined ? (
                <span className="fg-person">{t.call.waits}</span>
              ) : (
                t.decided[row.request.decision.how](row.request.decision.by)
              )}
            </span>
            {row.request.decision === undefined && (
              <Link className="btn btn-sm" href={`/inbox/${encodeURIComponent(row.request.id)}`}>
                {t.threads.review}
              </Link>
            )}
            {time}
          </div>
          {row.request.decision?.value !== undefined && (
            <div className="args">
              <JsonLine value={row.request.decision.value} />
            </div>
          )}
        </div>
      );
    case "drift":
      return (
        <div className="evt">
          <span className="dot" />
          <div className="evt-line">
            <Icon name="drift" />
            <span>
              <strong>{t.thread.drift}</strong> {driftWords(t, row.report).join(" · ")}
            </span>
            {time}
          </div>
        </div>
      );
    case "ended":
      return (
        <div className="evt ends pb-6">
          <span className="dot" />
          <div className="evt-line">
            {row.status === "failed" ? (
              <span className="fg-fail">
                <strong>{t.thread.failed}</strong> <SeenText text={row.error?.message ?? ""} />{" "}
                <code>{row.error?.code}</code>
              </span>
            ) : (
              <strong>{t.thread.wasTerminated}</strong>
            )}
            {time}
          </div>
        </div>
      );
    case "forked":
      return (
        <div className="evt">
          <span className="dot" />
          <div className="evt-line">
            <Icon name="fork" />
            <span>
              {t.thread.forkedFrom}{" "}
              <Link className="link" href={`/threads/${encodeURIComponent(row.from.threadId)}`}>
                <SeenText text={row.from.threadId} />
              </Link>{" "}
              {t.thread.atFact(row.from.seq)}
            </span>
            {time}
          </div>
        </div>
      );
    case "note":
      return <NoteLine row={row} time={time} />;
    default:
      return row satisfies never;
  }
}

function NoteLine({ row, time }: { row: Extract<Row, { kind: "note" }>; time: React.ReactNode }) {
  const t = useTexts();
  const [open, setOpen] = useState(false);
  return (
    <div className="evt">
      <span className="dot" />
      <div className="evt-line">
        <span className="line-clamp-3">
          <strong>{t.note[row.what]}</strong> <SeenText text={row.words} />
        </span>
        {row.value !== undefined && (
          <button type="button" className="link" aria-expanded={open} onClick={() => setOpen(!open)}>
            {t.all.details}
          </button>
        )}
        {time}
      </div>
      {open && <JsonBlock value={row.value} />}
    </div>
  );
}
