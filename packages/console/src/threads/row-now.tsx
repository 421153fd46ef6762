// What a thread of the list does now, or why it rests: from its open requests, else from its last facts.

import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { votesFor } from "../inbox/ask-words.ts";
import { useNow } from "../live/use-live.ts";
import { Icon } from "../parts/icon.tsx";
import { Pips } from "../parts/people.tsx";
import { SeenText } from "../parts/seen-text.tsx";
import { type NowOf, nowOf } from "../story/now.ts";
import { stopwatch } from "../texts/stopwatch.ts";
import { useTexts } from "../texts/texts.ts";
import { useTimes } from "../texts/times.ts";
import { Problem } from "../wire/problem.ts";
import { tail } from "../wire/read.ts";
import type { Ask, ThreadRow } from "../wire/shapes.ts";

/** Rows that pass by in a scroll are not asked about. */
const SETTLED_MS = 200;

interface Props {
  readonly row: ThreadRow;
  readonly asks: readonly Ask[];
  readonly now: number;
}

export function RowNow({ row, asks, now }: Props) {
  const { threadId, head, state, pauseType, damaged } = row;
  const [settled, setSettled] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(true), SETTLED_MS);
    return () => clearTimeout(timer);
  }, []);
  const { data: facts, error } = useQuery({
    ...tail({ threadId, ...(head !== undefined && { head }) }),
    enabled: settled && !damaged && asks.length === 0 && (head ?? 0) > 0 && tells[state],
  });
  const told = useMemo(() => facts && nowOf(facts, state, pauseType), [facts, state, pauseType]);
  if (damaged) return <code>{typeof damaged === "string" ? damaged : "JOURNAL_CORRUPT"}</code>;
  // The list reads no journal: a thread whose row is whole may still be damaged.
  if (error instanceof Problem && /_CORRUPT$/.test(error.code))
    return (
      <span className="row fg-fail">
        <Icon name="damaged" small />
        <code>{error.code}</code>
      </span>
    );
  if (asks[0] !== undefined) return <Asks asks={asks} now={now} />;
  return <span className="row">{told === undefined ? <StateWords row={row} /> : <Told told={told} />}</span>;
}

/** Of the other states there is nothing to tell. */
const tells: Readonly<Partial<Record<ThreadRow["state"], true>>> = {
  running: true,
  paused: true,
  error: true,
  completed: true,
};

function Asks({ asks, now }: { asks: readonly Ask[]; now: number }) {
  const t = useTexts();
  const times = useTimes();
  const first = asks[0]!;
  const need = first.quorum ?? 1;
  const have = votesFor(first.approvals, first.digest).length;
  const expires = asks.flatMap(({ expiresAt }) => expiresAt ?? []).sort((a, b) => a - b)[0];
  return (
    <span className="row">
      {need > 1 && <Pips have={have} need={need} />}
      {need > 1 && <span className="flex-none">{t.card.ofMany(have, need)} ·</span>}
      <span className="cut">
        <SeenText text={first.reason ?? first.tool ?? ""} />
      </span>
      {asks.length > 1 && <span className="count flex-none">+{asks.length - 1}</span>}
      {expires !== undefined && (
        <span className="row gap-1 fg-person flex-none" title={t.card.deadline}>
          <Icon name="clock" small />
          {times.lasting(Math.max(0, expires - now))}
        </span>
      )}
    </span>
  );
}

function Clock({ since }: { since: number }) {
  return <span className="fg-run flex-none">{stopwatch(useNow(1_000) - since)}</span>;
}

function StateWords({ row: { state, pauseType } }: { row: ThreadRow }) {
  const t = useTexts();
  if (state === "running") return <span>{t.threads.runs}</span>;
  if (state !== "paused" || pauseType === undefined) return null;
  return <span className="cut">{t.threads.paused[pauseType]}</span>;
}

function Told({ told }: { told: NowOf }) {
  const t = useTexts();
  switch (told.is) {
    case "running":
      return (
        <>
          {told.since !== undefined && <Clock since={told.since} />}
          <span className="cut">
            {told.turn !== undefined && `${t.all.turn(told.turn)} · `}
            {told.tools.length > 0 ? (
              <code>
                <SeenText text={told.tools.join(", ")} />
              </code>
            ) : (
              t.rail.modelWrites
            )}
          </span>
        </>
      );
    case "stopped":
      return (
        <>
          <span className="cut">
            {t.threads.by} <b className="medium fg-ink">{told.by}</b>
            {told.why !== undefined && (
              <>
                {": “"}
                <SeenText text={told.why} />”
              </>
            )}
          </span>
          {told.held > 0 && <span className="flex-none">· {t.threads.held(told.held)}</span>}
        </>
      );
    case "node":
      return (
        <span className="cut">
          {t.graph.at[told.where]} <code>{told.nodes.join(", ")}</code>
        </span>
      );
    case "crashed":
      return (
        <span className="cut">
          {told.cut.length === 0 ? t.threads.paused.crash : t.threads.crashedIn}{" "}
          {told.cut.length > 0 && (
            <code>
              <SeenText text={told.cut.join(", ")} />
            </code>
          )}
        </span>
      );
    case "failed":
      return (
        <span className="cut">
          {told.code !== undefined && <code>{told.code} </code>}
          <SeenText text={told.words} />
        </span>
      );
    case "completed":
      return (
        <span className="cut faint">
          <SeenText text={told.words} />
        </span>
      );
    default:
      return told satisfies never;
  }
}
