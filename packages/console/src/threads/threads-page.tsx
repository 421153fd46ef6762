// All threads, last changed first. Filters are in the address; selected rows can be stopped, labelled and exported.

import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import { useKeys } from "../keys/keys.ts";
import { Button, Key } from "../parts/button.tsx";
import { seenText } from "../parts/seen-text.tsx";
import { Command, Empty, ProblemNote, Skeleton } from "../parts/states.tsx";
import { DemoHint } from "../shell/demo-hint.tsx";
import { Live } from "../shell/shell.tsx";
import { useTexts } from "../texts/texts.ts";
import { agents, inbox, threads } from "../wire/read.ts";
import { BulkBar } from "./bulk-bar.tsx";
import { filterOf, pauses, shows } from "./filters.ts";
import { NewThread } from "./new-thread.tsx";
import { ThreadTable } from "./thread-table.tsx";

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
              <option key={each} value={each}>
                {seenText(each)}
              </option>
            ))}
          </select>
        )}
        <SearchField value={params.get("q") ?? ""} field={search} onValue={(q) => set({ q })} />
      </div>
      {list.error !== null && <ProblemNote error={list.error} onRetry={() => void list.refetch()} />}
      {list.isPending && list.error === null ? (
        <Skeleton rows={10} />
      ) : rows.length === 0 ? (
        list.error !== null ? null : isFiltered ? (
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
