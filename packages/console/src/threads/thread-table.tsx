// The table of threads. Rows far away are two spacers; each row shows its present step and offers the next.

import { useQuery } from "@tanstack/react-query";
import { memo, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { useNow } from "../live/use-live.ts";
import { useIsPhone, useSettings } from "../look/settings.ts";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { SeenText } from "../parts/seen-text.tsx";
import { StateWord, standingOf } from "../parts/state-word.tsx";
import { toast } from "../parts/toasts.tsx";
import { useRefusal } from "../shell/who.ts";
import { groupBy } from "../story/group-by.ts";
import { useTexts } from "../texts/texts.ts";
import { useTimes } from "../texts/times.ts";
import { asProblem } from "../wire/problem.ts";
import { changed, mine } from "../wire/read.ts";
import type { Ask, ThreadRow } from "../wire/shapes.ts";
import { resume, stop } from "../wire/write.ts";
import { RowNow } from "./row-now.tsx";
import { useWindow } from "./use-window.ts";

interface TableProps {
  readonly rows: readonly ThreadRow[];
  readonly asks: readonly Ask[];
  readonly at: number;
  readonly selected: ReadonlySet<string>;
  onToggle(id: string): void;
  onAll(all: boolean): void;
  onEnd(): void;
}

export function ThreadTable({ rows, asks, at, selected, onToggle, onAll, onEnd }: TableProps) {
  const t = useTexts();
  const scroller = useRef<HTMLDivElement>(null);
  const isPhone = useIsPhone();
  const { density } = useSettings();
  const height = isPhone ? PHONE_ROW : density === "roomy" ? 48 : 40;
  const { from, to } = useWindow(scroller, rows.length, height);
  const pool = Math.max(POOL, to - from);
  const byThread = useMemo(() => groupBy(asks, ({ threadId }) => threadId), [asks]);
  // Read once for all rows: many of them come and go with each frame of a scroll.
  const now = useNow(5_000);
  const own = useQuery(mine).data?.items;
  const mineIds = useMemo(() => new Set(own?.map(({ id }) => id)), [own]);
  const refused = useRefusal("operator");
  const toggle = useRef(onToggle);
  toggle.current = onToggle;
  const onRowToggle = useCallback((id: string) => toggle.current(id), []);
  useEffect(() => {
    if (to >= rows.length) onEnd();
  }, [to, rows.length, onEnd]);
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const top = at * height;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + height * 2 > element.scrollTop + element.clientHeight)
      element.scrollTop = top + height * 2 - element.clientHeight;
  }, [at, height]);
  return (
    <div className="scroll" ref={scroller} tabIndex={0} role="region" aria-label={t.nav.threads}>
      <table className="table" aria-rowcount={rows.length + 1}>
        <colgroup>
          <col className="wide-only w-12" />
          <col className="wide-only w-28" />
          <col />
          <col className="w-[84px] wide-only" />
          <col className="wide-only w-[37%]" />
          <col className="wide-only w-28" />
          <col className="w-[88px]" />
        </colgroup>
        <thead>
          <tr>
            <th className="wide-only">
              <input
                type="checkbox"
                className="check align-middle"
                aria-label={t.threads.selectAll}
                checked={selected.size > 0 && selected.size === rows.length}
                onChange={(event) => onAll(event.target.checked)}
              />
            </th>
            <th className="wide-only">{t.threads.state}</th>
            <th>{t.threads.thread}</th>
            <th className="wide-only">{t.threads.agent}</th>
            <th className="wide-only">{t.threads.now}</th>
            <th className="wide-only">
              <span className="sr-only">{t.threads.action}</span>
            </th>
            <th>{t.threads.changed}</th>
          </tr>
        </thead>
        <tbody>
          {from > 0 && (
            <tr className="spacer">
              <td colSpan={7} style={{ height: from * height }} />
            </tr>
          )}
          {rows.slice(from, to).map((row, index) => (
            <Row
              // A row that leaves the window becomes the one that enters it: far cheaper than a new one.
              // biome-ignore lint/suspicious/noArrayIndexKey: the place in the window is the row's identity, as said above.
              key={(from + index) % pool}
              row={row}
              asks={byThread.get(row.threadId) ?? none}
              index={from + index}
              isCursor={from + index === at}
              isSelected={selected.has(row.threadId)}
              now={now}
              isPhone={isPhone}
              mineIds={mineIds}
              refused={refused}
              onToggle={onRowToggle}
            />
          ))}
          {to < rows.length && (
            <tr className="spacer">
              <td colSpan={7} style={{ height: (rows.length - to) * height }} />
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}

const none: readonly Ask[] = [];
/** The height of a row of two lines, as in the style sheet. */
const PHONE_ROW = 60;
/** More rows than a window usually has. */
const POOL = 64;

interface RowProps {
  readonly row: ThreadRow;
  readonly asks: readonly Ask[];
  readonly index: number;
  readonly isCursor: boolean;
  readonly isSelected: boolean;
  readonly now: number;
  readonly isPhone: boolean;
  /** The requests that the person that looks may answer. */
  readonly mineIds: ReadonlySet<string>;
  readonly refused: string | undefined;
  onToggle(threadId: string): void;
}

const Row = memo(function Row(props: RowProps) {
  const { row, asks, index, isCursor, isSelected, now, isPhone, mineIds, refused, onToggle } = props;
  const t = useTexts();
  const times = useTimes();
  const standing = standingOf(row.state, row.pauseType, row.damaged);
  const href = `/threads/${encodeURIComponent(row.threadId)}`;
  const title = row.title || row.threadId;
  const rowNow = <RowNow key={row.threadId} row={row} asks={asks} now={now} />;
  return (
    <tr aria-rowindex={index + 2} aria-selected={isSelected} className={isCursor ? "is-cursor" : ""}>
      <td className="wide-only">
        <input
          type="checkbox"
          className="check align-middle"
          aria-label={t.threads.select(title)}
          checked={isSelected}
          onChange={() => onToggle(row.threadId)}
        />
      </td>
      <td className="wide-only">
        <StateWord standing={standing} />
      </td>
      <td>
        <span className="row">
          <Link className="medium cut hover:underline underline-offset-2" href={href}>
            <SeenText text={title} />
          </Link>
          {row.parent !== undefined && (
            <span className="row gap-1 small faint flex-none opt" title={t.threads.forkOf(row.parent.threadId)}>
              <Icon name="fork" small />
              {row.parent.threadId.slice(0, 6)}
            </span>
          )}
          {asks.some(({ id }) => mineIds.has(id)) && <span className="badge is-asks !px-1.5">{t.all.you}</span>}
          {Object.entries(row.labels ?? {})
            .slice(0, 2)
            .map(([key, value]) => (
              <span key={key} className="tag opt">
                {key}: {value}
              </span>
            ))}
        </span>
        {isPhone && (
          <span className="row small">
            <StateWord standing={standing} />
            <span className="faint cut">{rowNow}</span>
          </span>
        )}
      </td>
      <td className="wide-only dim">{row.agent || "–"}</td>
      <td className="wide-only dim">{!isPhone && rowNow}</td>
      <td className="wide-only text-right">
        <RowAction key={row.threadId} row={row} asks={asks} refused={refused} />
      </td>
      <td className="faint small">{times.ago(now - row.updatedAt)}</td>
    </tr>
  );
});

interface ActionProps {
  readonly row: ThreadRow;
  readonly asks: readonly Ask[];
  readonly refused: string | undefined;
}

function RowAction({ row, asks, refused }: ActionProps) {
  const t = useTexts();
  const [, go] = useLocation();
  const [busy, setBusy] = useState(false);
  const run = (work: Promise<unknown>, words: string) => {
    setBusy(true);
    work
      .then(
        () => toast({ icon: "check", words }),
        (error) => toast({ icon: "warning", isFail: true, words: asProblem(error).message }),
      )
      .finally(() => {
        setBusy(false);
        changed(row.threadId);
      });
  };
  if (row.state === "running")
    return (
      <Button
        size="sm"
        icon="stop"
        refused={refused}
        disabled={busy}
        onClick={() => run(stop(row.threadId, row.runId === undefined ? {} : { runId: row.runId }), t.threads.stopped)}
      >
        {t.stop.stop}
      </Button>
    );
  if (asks.length > 0)
    return (
      <Button size="sm" onClick={() => go(`/inbox/${encodeURIComponent(asks[0]!.id)}`)}>
        {t.threads.review}
      </Button>
    );
  if (row.damaged)
    return (
      <Button size="sm" onClick={() => go(`/threads/${encodeURIComponent(row.threadId)}`)}>
        {t.threads.repairMore}
      </Button>
    );
  if (row.state === "error" || (row.state === "paused" && row.pauseType !== "tool_interrupt"))
    return (
      <Button
        size="sm"
        refused={refused}
        disabled={busy}
        onClick={() =>
          row.pauseType === "user_interrupt" || row.pauseType === "node_interrupt"
            ? go(`/threads/${encodeURIComponent(row.threadId)}`)
            : run(resume(row.threadId, {}), t.threads.resumed)
        }
      >
        {row.pauseType === "node_interrupt"
          ? t.threads.atNode
          : row.pauseType === "user_interrupt"
            ? t.threads.continueMore
            : t.threads.resume}
      </Button>
    );
  return null;
}
