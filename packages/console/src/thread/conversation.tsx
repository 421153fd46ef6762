// The conversation: rows of the story, drawn along one rope. It stays at the end while the reader is there; otherwise new
// rows wait behind a button, so that nothing moves under the pointer.

import type { RequestView } from "@belay/client";
import { memo, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { Virtualizer, type VirtualizerHandle } from "virtua";
import { Link } from "wouter";
import type { ThreadShown } from "../live/thread-store.ts";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Markdown, PlainText } from "../parts/markdown.tsx";
import { Avatar } from "../parts/people.tsx";
import { SeenText } from "../parts/seen-text.tsx";
import { Empty } from "../parts/states.tsx";
import { type Row, type SaidRow, type StopRow, storyOf } from "../story/story.ts";
import { useTexts } from "../texts/texts.ts";
import { useTimes } from "../texts/times.ts";
import { basePath } from "../wire/base.ts";
import type { Look } from "../wire/shapes.ts";
import type { Guard } from "../wire/write.ts";
import { CallLine } from "./call-line.tsx";
import { Composer } from "./composer.tsx";
import { EventLine, StopLine } from "./event-lines.tsx";
import { standing } from "./standing.ts";

const NEAR = 80;

interface Props {
  readonly shown: ThreadShown;
  readonly look: Look | undefined;
  readonly guard: Guard;
  onEarlier(): Promise<void>;
}

export function Conversation({ shown, look, guard, onEarlier }: Props) {
  const t = useTexts();
  const { view, facts } = shown;
  const waiting = look?.waiting;
  const { state } = standing(view, look) ?? view;
  const isRunning = state === "running";
  const rows = useMemo(() => storyOf(facts, view, waiting, isRunning), [facts, view, waiting, isRunning]);
  const requests = useMemo(() => new Map(view.requests.map((each) => [each.id, each])), [view.requests]);
  const scroller = useRef<HTMLDivElement>(null);
  const handle = useRef<VirtualizerHandle>(null);
  const atEnd = useRef(true);
  const last = rows.at(-1)?.seq ?? 0;
  const [seen, setSeen] = useState(last);
  const [busy, setBusy] = useState(false);
  const first = facts[0]?.seq ?? 1;
  const onScroll = () => {
    const element = scroller.current!;
    atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
    if (atEnd.current) setSeen(last);
  };
  const toEnd = () => {
    atEnd.current = true;
    setSeen(last);
    const element = scroller.current;
    if (element !== null) element.scrollTop = element.scrollHeight;
  };
  useLayoutEffect(() => {
    if (!atEnd.current) return;
    const element = scroller.current;
    if (element !== null) element.scrollTop = element.scrollHeight;
  });
  // Rows find their height after the first paint: stay at the end until they have.
  useEffect(() => {
    const inner = scroller.current?.firstElementChild;
    if (!inner) return;
    const observer = new ResizeObserver(() => {
      if (atEnd.current && scroller.current !== null) scroller.current.scrollTop = scroller.current.scrollHeight;
    });
    observer.observe(inner);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (atEnd.current) setSeen(last);
  }, [last]);
  // Rows of earlier facts are not new, however late they come.
  const fresh = seen === last ? 0 : rows.filter(({ seq }) => seq > seen).length;
  const wait = view.draft.wait;
  return (
    <div className="talk">
      <div
        className="talk-scroll"
        ref={scroller}
        onScroll={onScroll}
        tabIndex={0}
        role="region"
        aria-label={t.thread.tab.conversation}
      >
        <div className="pt-4">
          {first > 1 && (
            <div className="grid place-items-center pb-4">
              <Button
                size="sm"
                disabled={busy}
                onClick={() => {
                  atEnd.current = false;
                  setBusy(true);
                  void onEarlier().finally(() => setBusy(false));
                }}
              >
                {t.thread.earlier(first - 1)}
              </Button>
            </div>
          )}
          {rows.length === 0 && (
            <Empty art="not-begun" title={t.thread.empty}>
              <p>{t.thread.emptyHow}</p>
            </Empty>
          )}
          <Virtualizer ref={handle} scrollRef={scroller} startMargin={16}>
            {rows.map((row) => (
              <div key={row.key} className="talk-item">
                <RowView row={row} requests={requests} shown={shown} />
              </div>
            ))}
          </Virtualizer>
          {state === "running" && wait !== undefined && (
            <div className="talk-item">
              <div className="evt">
                <span className="dot" />
                <div className="evt-line">
                  {wait.retry === undefined
                    ? t.thread.waitsSummary
                    : t.thread.waitsRetry(wait.retry.try, wait.retry.tries, wait.retry.problem)}
                </div>
              </div>
            </div>
          )}
        </div>
      </div>
      <div className="relative">
        {fresh > 0 && (
          <Button className="jump" size="sm" icon="down" onClick={toEnd}>
            {t.thread.fresh(fresh)}
          </Button>
        )}
      </div>
      <Composer shown={shown} look={look} guard={guard} onSent={toEnd} />
    </div>
  );
}

const RowView = memo(function RowView({
  row,
  requests,
  shown,
}: {
  row: Row;
  requests: ReadonlyMap<string, RequestView>;
  shown: ThreadShown;
}) {
  switch (row.kind) {
    case "said":
      return <Said row={row} requests={requests} shown={shown} />;
    case "stop":
      return <StopLine row={row} />;
    default:
      return <EventLine row={row} />;
  }
}, sameRow);

/** A row of the past changes only if its calls do; the fold keeps the objects that an event does not concern. */
function sameRow(a: { row: Row; shown: ThreadShown }, b: { row: Row; shown: ThreadShown }): boolean {
  if (a.row.kind !== "said" || b.row.kind !== "said" || a.row.live || b.row.live) {
    return (
      a.row.kind === b.row.kind &&
      a.row.kind !== "said" &&
      a.row.key === b.row.key &&
      (a.row.kind !== "stop" || (b.row as StopRow).last === a.row.last) &&
      (a.row.kind !== "asked" || a.row.request === (b.row as typeof a.row).request)
    );
  }
  const [x, y] = [a.row, b.row];
  if (
    x.key !== y.key ||
    x.ended?.runId !== y.ended?.runId ||
    x.calls.length !== y.calls.length ||
    x.begins !== y.begins
  )
    return false;
  if (x.calls.some((call, at) => call !== y.calls[at])) return false;
  return (
    x.calls.every(({ state, requests }) => state === "ended" || requests.length === 0) &&
    (x.calls.every(({ state }) => state !== "running") || a.shown.view.draft.progress === b.shown.view.draft.progress)
  );
}

function Said({
  row,
  requests,
  shown,
}: {
  row: SaidRow;
  requests: ReadonlyMap<string, RequestView>;
  shown: ThreadShown;
}) {
  const t = useTexts();
  const times = useTimes();
  const { view } = shown;
  const isPerson = row.from === "person";
  const meta = [
    row.inside !== undefined && row.inside,
    row.how !== undefined && t.thread.how[row.how],
    row.from === "hook" && t.thread.forPeople,
    row.from === "agent" && row.turn > 0 && t.all.turn(row.turn),
    row.continues && t.thread.continues,
    row.ended && t.thread.ended(row.ended.runId.slice(-4), times.lasting(row.ended.ms)),
  ].filter((words): words is string => typeof words === "string");
  const stoppedAt = view.stops.at(-1)?.askedAt;
  const name = row.name || t.all.person;
  return (
    <article
      className={`msg ${row.begins ? "begins" : ""} ${row.ended ? "ends" : ""} ${row.live ? "is-live" : ""}`}
      aria-busy={row.live}
    >
      {isPerson ? (
        <Avatar name={name} />
      ) : (
        <span className="avatar avatar-agent" aria-hidden="true">
          <Icon name="agent" small />
        </span>
      )}
      <div className="msg-head">
        <b>
          <SeenText text={name} />
        </b>
        <span className="meta cut">
          {meta.join(" · ")}
          {row.live && <span className="fg-run">{meta.length > 0 ? ` · ${t.thread.writing}` : t.thread.writing}</span>}
        </span>
        {!row.live && (
          <span className="msg-tools opt">
            <Link
              className="btn btn-sm btn-ghost"
              href={`/threads/${encodeURIComponent(shown.threadId)}/fork?${isPerson ? `before=${encodeURIComponent(row.messageId)}&` : ""}at=${isPerson ? row.seq - 1 : row.seq}`}
            >
              <Icon name="fork" />
              {isPerson ? t.thread.forkBefore : t.thread.forkAfter}
            </Link>
          </span>
        )}
        <time dateTime={new Date(row.at).toISOString()} title={times.full(row.at)}>
          {times.clock(row.at)}
        </time>
      </div>
      {row.superseded.map((text, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: attempts keep their order.
        <div key={at}>
          <PlainText text="">
            <span className="superseded">
              <SeenText text={text} />
            </span>
          </PlainText>
          <p className="small faint">{t.thread.superseded}</p>
        </div>
      ))}
      {row.reasoning !== "" && <Reasoning text={row.reasoning} isOpen={row.live && row.text === ""} />}
      {(row.text !== "" || row.cut || row.live) && (
        <div aria-live="off">
          <Markdown text={row.text} end={row.live ? "live" : row.cut ? "cut" : undefined} />
        </div>
      )}
      {row.files.map((file) => (
        <a
          key={file.name + file.url}
          className="tag mt-2"
          href={
            file.url === undefined ? undefined : /^https?:/.test(file.url) ? file.url : `${basePath}/v1/${file.url}`
          }
          target="_blank"
          rel="noopener noreferrer"
        >
          <Icon name="save" small />
          <SeenText text={file.name} /> <span className="faint">{file.mediaType}</span>
        </a>
      ))}
      {row.calls.length > 0 && (
        <div className="calls">
          {row.calls.map((call) => (
            <CallLine
              key={call.id}
              call={call}
              requests={requests}
              progress={view.draft.progress.find(({ callId }) => callId === call.id)?.data ?? []}
              stoppedAt={call.late === undefined ? undefined : stoppedAt}
            />
          ))}
        </div>
      )}
    </article>
  );
}

function Reasoning({ text, isOpen }: { text: string; isOpen: boolean }) {
  const t = useTexts();
  return (
    <details className="small dim mb-1" open={isOpen}>
      <summary className="cursor-pointer faint w-fit">{t.thread.reasoning}</summary>
      <div className="border-l-2 border-line-2 pl-3 mt-1 whitespace-pre-wrap max-h-60 overflow-auto">
        <SeenText text={text} />
      </div>
    </details>
  );
}
