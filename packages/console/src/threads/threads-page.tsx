// All threads, last changed first. Filters are in the address; selected rows can be stopped, labelled and exported.

import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import { votesFor } from "../inbox/ask-words.ts";
import { useKeys } from "../keys/keys.ts";
import { useNow } from "../live/use-live.ts";
import { useSettings } from "../look/settings.ts";
import { Button, Key } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Pips } from "../parts/people.tsx";
import { SeenText } from "../parts/seen-text.tsx";
import { StateWord, standingOf } from "../parts/state-word.tsx";
import { Command, Empty, ProblemNote, Skeleton } from "../parts/states.tsx";
import { toast } from "../parts/toasts.tsx";
import { DemoHint } from "../shell/demo-hint.tsx";
import { Live } from "../shell/shell.tsx";
import { useMe, useRefusal } from "../shell/who.ts";
import { groupBy } from "../story/group-by.ts";
import { useTexts } from "../texts/texts.ts";
import { useTimes } from "../texts/times.ts";
import { asProblem } from "../wire/problem.ts";
import { agents, changed, inbox, mine, threads } from "../wire/read.ts";
import type { Ask, ThreadRow } from "../wire/shapes.ts";
import { resume, stop } from "../wire/write.ts";
import { BulkBar } from "./bulk-bar.tsx";
import { filterOf, pauses, shows } from "./filters.ts";
import { NewThread } from "./new-thread.tsx";
import { useWindow } from "./use-window.ts";

export function ThreadsPage() {
  const t = useTexts();
  const [params, setParams] = useSearchParams();
  const { show, filter } = filterOf(params);
  const [, go] = useLocation();
  const list = useInfiniteQuery(threads(filter));
  const rows = useMemo(() => list.data?.pages.flatMap(({ items }) => items) ?? [], [list.data]);
  const { data: known } = useQuery(agents);
  const asks = useQuery(inbox).data?.items;
  const [cursor, setCursor] = useState(0);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const search = useRef<HTMLInputElement>(null);
  const set = (changes: Record<string, string | undefined>) =>
    setParams((old) => {
      const next = new URLSearchParams(old);
      for (const [name, value] of Object.entries(changes)) {
        if (value) next.set(name, value);
        else next.delete(name);
      }
      return next;
    });
  const at = Math.min(cursor, rows.length - 1);
  const current = rows[at];
  const toggle = (id: string) => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    setSelected(next);
  };
  const href = (id: string) => `/threads/${encodeURIComponent(id)}`;
  useKeys({
    "/": () => search.current?.focus(),
    j: () => setCursor(Math.min(at + 1, rows.length - 1)),
    k: () => setCursor(Math.max(at - 1, 0)),
    Enter: () => current && go(href(current.threadId)),
    x: () => current && toggle(current.threadId),
    ...(selected.size > 0 && { Escape: () => setSelected(new Set()) }),
  });
  const isFiltered = Object.keys(filter).length > 0;
  const labels = useMemo(
    () =>
      [
        ...new Set(rows.flatMap((row) => Object.entries(row.labels ?? {}).map(([key, value]) => `${key}:${value}`))),
      ].sort(),
    [rows],
  );
  return (
    <>
      <header className="bar">
        <h1>{t.nav.threads}</h1>
        <div className="seg ml-2 opt overflow-x-auto" role="group" aria-label={t.threads.state}>
          {shows.map((each) => (
            <button
              key={each}
              type="button"
              aria-pressed={show === each}
              onClick={() => set({ show: each === "all" ? undefined : each, why: undefined })}
            >
              {t.threads.shows[each]}
              {each === "asks" && asks !== undefined && asks.length > 0 && (
                <span className="count">{new Set(asks.map(({ threadId }) => threadId)).size}</span>
              )}
            </button>
          ))}
        </div>
        <span className="ml-auto row">
          <Live />
          <Button icon="plus" onClick={() => set({ new: "1" })}>
            {t.threads.start}
          </Button>
        </span>
        {list.isFetching && !list.isPending && <span className="progress" />}
      </header>
      <DemoHint page="threads" />
      <div className="bar bar-2 overflow-x-auto">
        <select
          className="select only-phone"
          aria-label={t.threads.state}
          value={show}
          onChange={(event) =>
            set({ show: event.target.value === "all" ? undefined : event.target.value, why: undefined })
          }
        >
          {shows.map((each) => (
            <option key={each} value={each}>
              {t.threads.shows[each]}
            </option>
          ))}
        </select>
        <select
          className="select opt"
          aria-label={t.threads.whyPaused}
          value={params.get("why") ?? ""}
          onChange={(event) => set({ why: event.target.value, show: undefined })}
        >
          <option value="">{t.threads.whyPaused}</option>
          {pauses.map((each) => (
            <option key={each} value={each}>
              {t.pause[each]}
            </option>
          ))}
        </select>
        <select
          className="select opt"
          aria-label={t.threads.agent}
          value={params.get("agent") ?? ""}
          onChange={(event) => set({ agent: event.target.value })}
        >
          <option value="">{t.threads.agent}</option>
          {(known ?? []).map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        {(labels.length > 0 || params.get("label")) && (
          <select
            className="select opt"
            aria-label={t.threads.label}
            value={params.get("label") ?? ""}
            onChange={(event) => set({ label: event.target.value })}
          >
            <option value="">{t.threads.label}</option>
            {[...new Set([...labels, ...(params.get("label") ? [params.get("label")!] : [])])].map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        )}
        <SearchField value={params.get("q") ?? ""} field={search} onValue={(q) => set({ q })} />
      </div>
      {list.error !== null && <ProblemNote error={list.error} onRetry={() => void list.refetch()} />}
      {list.isPending && list.error === null ? (
        <Skeleton rows={10} />
      ) : rows.length === 0 && list.error === null ? (
        isFiltered ? (
          <Empty art="filtered" title={t.threads.noMatch}>
            <p>{Object.values(filter).join(" · ")}</p>
            <Button onClick={() => setParams({})}>{t.threads.clear}</Button>
          </Empty>
        ) : (
          <Empty art="not-begun" title={t.threads.none}>
            <p>{t.threads.noneHow}</p>
            <Command text='belay -p "plan two days on the Zugspitze"' />
          </Empty>
        )
      ) : (
        <ThreadTable
          rows={rows}
          asks={asks ?? []}
          at={at}
          selected={selected}
          onToggle={toggle}
          onAll={(all) => setSelected(all ? new Set(rows.map(({ threadId }) => threadId)) : new Set())}
          onEnd={() => list.hasNextPage && !list.isFetchingNextPage && void list.fetchNextPage()}
        />
      )}
      {selected.size > 0 && (
        <BulkBar rows={rows.filter(({ threadId }) => selected.has(threadId))} onClear={() => setSelected(new Set())} />
      )}
      {params.get("new") === "1" && <NewThread onClose={() => set({ new: undefined })} />}
    </>
  );
}

function SearchField({
  value,
  field,
  onValue,
}: {
  value: string;
  field: React.RefObject<HTMLInputElement | null>;
  onValue(value: string): void;
}) {
  const t = useTexts();
  const [text, setText] = useState(value);
  const given = useRef(value);
  useEffect(() => {
    if (value !== given.current) setText(value);
    given.current = value;
  }, [value]);
  useEffect(() => {
    if (text === given.current) return;
    const timer = setTimeout(() => {
      given.current = text;
      onValue(text);
    }, 250);
    return () => clearTimeout(timer);
  });
  return (
    <span className="relative grow max-w-[360px] min-w-[140px]">
      <input
        ref={field}
        className="input pr-8"
        type="search"
        aria-label={t.threads.filter}
        placeholder={t.threads.filter}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && field.current?.blur()}
      />
      <span className="absolute right-2 top-1.5 opt">{text === "" && <Key name="/" />}</span>
    </span>
  );
}

interface TableProps {
  readonly rows: readonly ThreadRow[];
  readonly asks: readonly Ask[];
  readonly at: number;
  readonly selected: ReadonlySet<string>;
  onToggle(id: string): void;
  onAll(all: boolean): void;
  onEnd(): void;
}

function ThreadTable({ rows, asks, at, selected, onToggle, onAll, onEnd }: TableProps) {
  const t = useTexts();
  const scroller = useRef<HTMLDivElement>(null);
  const height = useSettings().density === "roomy" ? 48 : 40;
  const { from, to } = useWindow(scroller, rows.length, height);
  const byThread = useMemo(() => groupBy(asks, ({ threadId }) => threadId), [asks]);
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
          <col className="w-12" />
          <col className="w-28" />
          <col />
          <col className="w-24 wide-only" />
          <col className="wide-only w-[32%]" />
          <col className="wide-only w-28" />
          <col className="wide-only w-28" />
          <col className="w-20" />
        </colgroup>
        <thead>
          <tr>
            <th>
              <input
                type="checkbox"
                className="check align-middle"
                aria-label={t.threads.selectAll}
                checked={selected.size > 0 && selected.size === rows.length}
                onChange={(event) => onAll(event.target.checked)}
              />
            </th>
            <th>{t.threads.state}</th>
            <th>{t.threads.thread}</th>
            <th className="wide-only">{t.threads.agent}</th>
            <th className="wide-only">{t.threads.now}</th>
            <th className="wide-only">{t.threads.deadline}</th>
            <th className="wide-only">
              <span className="sr-only">{t.threads.action}</span>
            </th>
            <th>{t.threads.changed}</th>
          </tr>
        </thead>
        <tbody>
          {from > 0 && (
            <tr className="spacer">
              <td colSpan={8} style={{ height: from * height }} />
            </tr>
          )}
          {rows.slice(from, to).map((row, index) => (
            <Row
              key={row.threadId}
              row={row}
              asks={byThread.get(row.threadId) ?? []}
              index={from + index}
              isCursor={from + index === at}
              isSelected={selected.has(row.threadId)}
              onToggle={() => onToggle(row.threadId)}
            />
          ))}
          {to < rows.length && (
            <tr className="spacer">
              <td colSpan={8} style={{ height: (rows.length - to) * height }} />
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}

interface RowProps {
  readonly row: ThreadRow;
  readonly asks: readonly Ask[];
  readonly index: number;
  readonly isCursor: boolean;
  readonly isSelected: boolean;
  onToggle(): void;
}

function Row({ row, asks, index, isCursor, isSelected, onToggle }: RowProps) {
  const t = useTexts();
  const times = useTimes();
  const now = useNow(5_000);
  const standing = standingOf(row.state, row.pauseType, row.damaged);
  const href = `/threads/${encodeURIComponent(row.threadId)}`;
  const title = row.title || row.threadId;
  const expires = asks.flatMap(({ expiresAt }) => expiresAt ?? []).sort()[0];
  return (
    <tr aria-rowindex={index + 2} aria-selected={isSelected} className={isCursor ? "is-cursor" : ""}>
      <td>
        <input
          type="checkbox"
          className="check align-middle"
          aria-label={t.threads.select(title)}
          checked={isSelected}
          onChange={onToggle}
        />
      </td>
      <td>
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
          <ForYou asks={asks} />
          {Object.entries(row.labels ?? {})
            .slice(0, 2)
            .map(([key, value]) => (
              <span key={key} className="tag opt">
                {key}: {value}
              </span>
            ))}
        </span>
      </td>
      <td className="wide-only dim">{row.agent || "–"}</td>
      <td className="wide-only dim">
        <Now row={row} asks={asks} />
      </td>
      <td className="wide-only">
        {expires !== undefined && (
          <span className="row gap-1 fg-person">
            <Icon name="clock" small />
            {times.lasting(Math.max(0, expires - now))}
          </span>
        )}
      </td>
      <td className="wide-only text-right">
        <RowAction row={row} asks={asks} />
      </td>
      <td className="faint small">{times.ago(now - row.updatedAt)}</td>
    </tr>
  );
}

/** A badge if one of these requests is for the person that looks. */
function ForYou({ asks }: { asks: readonly Ask[] }) {
  const t = useTexts();
  const own = useQuery(mine).data?.items;
  if (asks.length === 0 || !own?.some(({ id }) => asks.some((ask) => ask.id === id))) return null;
  return <span className="badge is-asks !px-1.5">{t.all.you}</span>;
}

function Now({ row, asks }: { row: ThreadRow; asks: readonly Ask[] }) {
  const t = useTexts();
  const first = asks[0];
  if (row.damaged)
    return <span className="mono">{typeof row.damaged === "string" ? row.damaged : "JOURNAL_CORRUPT"}</span>;
  if (first !== undefined) {
    const need = first.quorum ?? 1;
    const have = votesFor(first.approvals, first.digest).length;
    return (
      <span className="row">
        {need > 1 && <Pips have={have} need={need} />}
        {need > 1 && <span className="flex-none">{t.card.ofMany(have, need)} ·</span>}
        <span className="cut">
          <SeenText text={first.reason ?? first.tool ?? ""} />
        </span>
        {asks.length > 1 && <span className="count flex-none">+{asks.length - 1}</span>}
      </span>
    );
  }
  if (row.state === "running") return <span>{t.threads.runs}</span>;
  if (row.state === "paused" && row.pauseType !== undefined) return <span>{t.threads.paused[row.pauseType]}</span>;
  return null;
}

function RowAction({ row, asks }: { row: ThreadRow; asks: readonly Ask[] }) {
  const t = useTexts();
  const who = useMe();
  const [, go] = useLocation();
  const refused = useRefusal("operator");
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
  if (who === undefined) return null;
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
  if (row.damaged) return null;
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
