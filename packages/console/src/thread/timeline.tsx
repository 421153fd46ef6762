// The thread over time. Light bars are the model, dark ones tools, blue is now, hatched amber waits for a person; a dashed
// outline was held, a diamond is a late end. Only rows that are seen are drawn.

import { useMemo, useState } from "react";
import { VList } from "virtua";
import { Link, useLocation } from "wouter";
import type { ThreadShown } from "../live/thread-store.ts";
import { useNow } from "../live/use-live.ts";
import { Icon } from "../parts/icon.tsx";
import { JsonBlock, JsonLine } from "../parts/json.tsx";
import { Avatar } from "../parts/people.tsx";
import { SeenText } from "../parts/seen-text.tsx";
import { Empty } from "../parts/states.tsx";
import { type Chart, chartOf, type Lane, scaleOf } from "../story/timeline.ts";
import { useTexts } from "../texts/texts.ts";
import { type Times, useTimes } from "../texts/times.ts";
import type { Look } from "../wire/shapes.ts";

interface Props {
  readonly threadId: string;
  readonly shown: ThreadShown;
  readonly params: URLSearchParams;
  readonly look: Look | undefined;
}

type Shows = "all" | "people" | "tools" | "model";

export function Timeline({ threadId, shown, params, look }: Props) {
  const t = useTexts();
  const times = useTimes();
  const [, go] = useLocation();
  const isRunning = shown.view.state === "running";
  const now = useNow(isRunning ? 500 : 60_000);
  const [folds, setFolds] = useState(true);
  const [shows, setShows] = useState<Shows>("all");
  const waiting = look?.waiting;
  const chart = useMemo(() => chartOf(shown.facts, shown.view, now, waiting), [shown, now, waiting]);
  const x = useMemo(() => scaleOf(chart, folds), [chart, folds]);
  const chosen = params.get("row");
  const lanes = chart.lanes.filter(
    ({ kind }) =>
      shows === "all" ||
      (shows === "people" ? kind === "people" : shows === "tools" ? kind === "call" : kind === "turn"),
  );
  const lane = chart.lanes.find(({ key }) => key === chosen);
  const choose = (key: string) =>
    go(`/threads/${encodeURIComponent(threadId)}/timeline?row=${encodeURIComponent(key)}`, { replace: true });
  if (chart.lanes.length === 0)
    return (
      <Empty art="not-begun" title={t.timeline.none}>
        <p>{t.timeline.noneHow}</p>
      </Empty>
    );
  return (
    <>
      <div className="bar bar-2 overflow-x-auto">
        <div className="seg" role="group" aria-label={t.facts.kinds}>
          {(["all", "people", "tools", "model"] as const).map((each) => (
            <button key={each} type="button" aria-pressed={shows === each} onClick={() => setShows(each)}>
              {t.facts.kind[each]}
            </button>
          ))}
        </div>
        <Legend />
        <div className="seg" role="group" aria-label={t.timeline.scale}>
          <button type="button" aria-pressed={!folds} onClick={() => setFolds(false)}>
            {t.timeline.wall}
          </button>
          <button type="button" aria-pressed={folds} onClick={() => setFolds(true)}>
            {t.timeline.folded}
          </button>
        </div>
      </div>
      <div className="flex flex-col flex-1 min-h-0">
        <Head chart={chart} x={x} folds={folds} times={times} />
        <VList className="min-h-0 flex-1" aria-label={t.thread.tab.timeline}>
          {lanes.map((each) => (
            <LaneRow
              key={each.key}
              lane={each}
              chart={chart}
              x={x}
              folds={folds}
              isChosen={each.key === chosen}
              onChoose={() => choose(each.key)}
            />
          ))}
        </VList>
        {lane !== undefined && <LaneDetails lane={lane} threadId={threadId} />}
      </div>
    </>
  );
}

function Legend() {
  const t = useTexts();
  const items = [
    ["bar-model", t.timeline.model],
    ["bar-tool", t.timeline.tool],
    ["bar-now", t.timeline.now],
    ["bar-asks", t.timeline.asks],
    ["bar-held", t.timeline.held],
  ] as const;
  return (
    <span className="row gap-3 small faint ml-auto mr-2 opt">
      {items.map(([look, words]) => (
        <span key={look} className="row gap-1">
          <span className="relative w-4 h-2 inline-block">
            <span className={look} style={{ position: "absolute", inset: 0, top: 0, height: 8 }} />
          </span>
          {words}
        </span>
      ))}
      <span className="row gap-2">
        <span className="inline-block w-2 h-2 rotate-45 bg-ink" />
        {t.timeline.late}
      </span>
    </span>
  );
}

const percent = (share: number) => `${(share * 100).toFixed(3)}%`;

function Head({ chart, x, folds, times }: { chart: Chart; x(at: number): number; folds: boolean; times: Times }) {
  const t = useTexts();
  return (
    <div className="tl-row !h-[52px] flex-none">
      <div className="tl-name flex-col !items-start !justify-center !gap-0">
        <strong>{t.timeline.lasted(times.lasting(chart.to - chart.from))}</strong>
        <span className="faint">{t.timeline.segments(chart.segments.length)}</span>
      </div>
      <div className="tl-lane">
        {folds &&
          chart.gaps.map((gap) => (
            <div
              key={gap.from}
              className={
                gap.person
                  ? "tl-gap grid place-content-center text-center overflow-hidden"
                  : "absolute top-0 bottom-0 grid place-content-center text-center faint bg-sunken overflow-hidden"
              }
              style={{ left: percent(x(gap.from)), width: percent(x(gap.to) - x(gap.from)) }}
            >
              <span className={`text-[11px] leading-3 strong ${gap.person ? "fg-person" : ""}`}>
                {times.lasting(gap.to - gap.from)}
              </span>
              <span className={`text-[11px] leading-3 ${gap.person ? "fg-person" : ""}`}>
                {gap.person ? t.timeline.person : t.timeline.idle}
              </span>
            </div>
          ))}
        {chart.segments.map(({ runId, segment, from, to, running }) => (
          <div
            key={`${runId}-${segment}`}
            className={`absolute top-2 h-3 border-x-2 border-t-2 ${running ? "border-[var(--run-line)]" : "border-[var(--line-control)]"}`}
            style={{ left: percent(x(from)), width: `max(2px, ${percent(x(to) - x(from))})` }}
          >
            <span className="absolute top-1 left-1 right-0 small cut" title={runId}>
              {x(to) - x(from) > 0.05 ? t.timeline.segment(segment) : ""}
            </span>
          </div>
        ))}
      </div>
    </div>
  );
}

interface RowProps {
  readonly lane: Lane;
  readonly chart: Chart;
  readonly folds: boolean;
  readonly isChosen: boolean;
  x(at: number): number;
  onChoose(): void;
}

function LaneRow({ lane, chart, x, folds, isChosen, onChoose }: RowProps) {
  const t = useTexts();
  const times = useTimes();
  const name =
    lane.kind === "people"
      ? t.rail.people
      : lane.kind === "turn"
        ? `${t.all.turn(Number(lane.name))}${lane.note ? ` · ${lane.note}` : ""}`
        : lane.name;
  const bar = lane.bars.at(-1);
  const note =
    lane.kind === "people"
      ? lane.note
      : lane.call?.late !== undefined
        ? t.timeline.late
        : lane.call?.outcome !== undefined && lane.call.state === "ended"
          ? t.outcome[lane.call.outcome]
          : lane.call?.state === "held"
            ? t.timeline.held
            : bar === undefined
              ? ""
              : times.lasting(bar.to - bar.from);
  return (
    <button type="button" className="tl-row" aria-current={isChosen} onClick={onChoose}>
      <span className="tl-name">
        <span className={`cut ${lane.kind === "call" ? "mono pl-5" : "strong"}`}>
          <SeenText text={name} />
        </span>
        <span className="faint ml-auto flex-none">{note}</span>
      </span>
      <span className="tl-lane">
        {folds &&
          chart.gaps.map(
            (gap) =>
              gap.person && (
                <span
                  key={gap.from}
                  className="tl-gap opacity-70"
                  style={{ left: percent(x(gap.from)), width: percent(x(gap.to) - x(gap.from)) }}
                />
              ),
          )}
        {lane.bars.map((each) => (
          <span
            key={`${each.kind}${each.from}`}
            className={`bar-${each.kind}`}
            style={{ left: percent(x(each.from)), width: percent(x(each.to) - x(each.from)) }}
          />
        ))}
        {lane.late !== undefined && (
          <>
            <span
              className="tl-late"
              style={{ left: percent(x(lane.late.from)), width: percent(x(lane.late.to) - x(lane.late.from)) }}
            />
            <span className="tl-diamond" style={{ left: percent(x(lane.late.to)) }} />
          </>
        )}
        {lane.people.map((person) => (
          <span
            key={`${person.at}${person.name}`}
            className="absolute top-1.5 -translate-x-1/2"
            style={{ left: `clamp(10px, ${percent(x(person.at))}, calc(100% - 10px))` }}
            title={`${person.name} ${person.words} ${times.exact(person.at)}`}
          >
            <Avatar name={person.name || t.all.person} small />
          </span>
        ))}
        {lane.kind === "people" &&
          chart.stops.map(({ at, recordedAt }) => (
            <span key={at} className={`tl-ms ${x(at) > 0.85 ? "is-late" : ""}`} style={{ left: percent(x(at)) }}>
              {times.lasting(Math.max(0, recordedAt - at))}
            </span>
          ))}
        {lane.kind !== "people" &&
          chart.stops.map((stop) => <span key={stop.at} className="tl-stop" style={{ left: percent(x(stop.at)) }} />)}
      </span>
    </button>
  );
}

function LaneDetails({ lane, threadId }: { lane: Lane; threadId: string }) {
  const t = useTexts();
  const times = useTimes();
  const { call } = lane;
  return (
    <section
      className="flex-none border-t border-line bg-bg p-4 grid gap-4 grid-cols-1 min-[1080px]:grid-cols-3 max-h-[45%] overflow-auto"
      aria-label={t.all.details}
    >
      <div className="grid gap-2 content-start">
        <div className="row">
          <strong className={call === undefined ? "" : "mono"}>
            {call?.tool ?? (lane.kind === "turn" ? t.all.turn(Number(lane.name)) : t.rail.people)}
          </strong>
          {call?.late !== undefined && (
            <span className="badge">
              <Icon name="late" small />
              {t.call.endedLate}
            </span>
          )}
        </div>
        <dl className="kv">
          {call !== undefined && (
            <>
              <dt>{t.timeline.address}</dt>
              <dd className="mono">{call.address}</dd>
            </>
          )}
          {lane.bars.map((bar) => (
            <div key={bar.kind + bar.from} className="contents">
              <dt>{t.timeline.bar[bar.kind]}</dt>
              <dd className="mono">
                {times.precise(bar.from)} · {times.lasting(bar.to - bar.from)}
              </dd>
            </div>
          ))}
          {lane.late !== undefined && (
            <>
              <dt>{t.timeline.late}</dt>
              <dd className="mono">{times.precise(lane.late.to)}</dd>
            </>
          )}
        </dl>
        {lane.seq > 0 && (
          <div className="row flex-wrap">
            <Link className="btn btn-sm" href={`/threads/${encodeURIComponent(threadId)}/facts?fact=${lane.seq}`}>
              {t.facts.fact(lane.seq, lane.seq)}
            </Link>
            <Link
              className="btn btn-sm"
              href={`/threads/${encodeURIComponent(threadId)}/fork?at=${Math.max(0, lane.seq - 1)}`}
            >
              <Icon name="fork" />
              {t.thread.forkBefore}
            </Link>
          </div>
        )}
      </div>
      {call !== undefined && (
        <>
          <div className="grid gap-2 content-start min-w-0">
            <span className="label">{call.ranArgs === undefined ? t.timeline.askedAndRan : t.call.asked}</span>
            <JsonBlock value={call.args} />
            {call.ranArgs !== undefined && (
              <span className="args">
                <JsonLine value={call.args} ran={call.ranArgs} />
              </span>
            )}
            {call.rule !== undefined && <span className="small dim">{t.call.allowedBy(call.rule)}</span>}
          </div>
          {(call.late !== undefined || call.output !== undefined) && (
            <div className="grid gap-2 content-start min-w-0">
              <span className="label">{call.late === undefined ? t.call.result : t.call.lateResult}</span>
              <JsonBlock value={call.late?.output ?? call.output ?? null} />
            </div>
          )}
        </>
      )}
    </section>
  );
}
