// The inbox: a list of requests and the card of one. The address names the card, so a link shows the same one. A card that
// is decided elsewhere stays, turns into its outcome, and keeps the focus.

import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import { useKeys } from "../keys/keys.ts";
import { useNow } from "../live/use-live.ts";
import { Icon } from "../parts/icon.tsx";
import { Pips } from "../parts/people.tsx";
import { SeenText } from "../parts/seen-text.tsx";
import { Command, Empty, ProblemNote, Skeleton } from "../parts/states.tsx";
import { DemoHint } from "../shell/demo-hint.tsx";
import { Live, useOpenCount } from "../shell/shell.tsx";
import { rolesOf, useMe } from "../shell/who.ts";
import { useTexts } from "../texts/texts.ts";
import { useTimes } from "../texts/times.ts";
import { agents, decided, inbox, mine, oneRequest } from "../wire/read.ts";
import type { Ask, Decided, DecidedAsk } from "../wire/shapes.ts";
import { AskCard, KeyLine } from "./ask-card.tsx";
import { notForMe, titleOf, toolNamed, votesFor } from "./ask-words.ts";
import { BulkAnswers, type Chosen } from "./bulk-answers.tsx";
import { decidedIcon } from "./decided-note.tsx";
import { decidedOf, flatDecision } from "./decided-of.ts";

export function InboxPage({ id }: { id: string | undefined }) {
  const t = useTexts();
  const [, go] = useLocation();
  const [params, setParams] = useSearchParams();
  const showsDecided = params.get("show") === "decided";
  const onlyMine = params.get("mine") === "1";
  const open = useQuery(inbox);
  const own = useQuery(mine);
  const past = useQuery({ ...decided, enabled: showsDecided });
  const list = showsDecided ? past : onlyMine ? own : open;
  const items: readonly (Ask | DecidedAsk)[] = list.data?.items ?? [];
  const damaged = showsDecided ? [] : (open.data?.damaged ?? []);
  const selected = id ?? items[0]?.id;
  const inList = items.find((item) => item.id === selected);
  const total = useOpenCount();
  const search = params.toString() === "" ? "" : `?${params}`;
  const to = (each: string) => `/inbox/${encodeURIComponent(each)}${search}`;
  const move = (by: number) => {
    const at = items.findIndex((item) => item.id === selected);
    const next = items[Math.max(0, Math.min(items.length - 1, at + by))];
    if (next !== undefined) go(to(next.id));
  };
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const toggle = (each: string) => {
    const next = new Set(chosen);
    if (!next.delete(each)) next.add(each);
    setChosen(next);
  };
  const who = useMe();
  const { data: known } = useQuery(agents);
  const mineIds = new Set(own.data?.items.map((item) => item.id));
  // Who may not answer at all has none of its own.
  const forMe = rolesOf(who).some((role) => role === "approver" || role === "admin") ? mineIds.size : 0;
  const picked = showsDecided
    ? []
    : items
        .filter((item) => chosen.has(item.id))
        .map((ask) => ({
          ask,
          destructive: toolNamed(known, ask.tool)?.destructive === true,
          refused: notForMe(t, ask, who, mineIds, ask.id),
        }));
  const [held, setHeld] = useState<readonly Chosen[]>();
  const inBar = held ?? picked;
  const leaving = useLeaving(items, list.data);
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    ...(selected !== undefined && !showsDecided && { x: () => toggle(selected) }),
    ...(picked.length > 0 && { Escape: () => setChosen(new Set()) }),
  });
  return (
    <>
      <header className="bar">
        {id !== undefined && (
          <Link className="btn btn-icon btn-ghost only-phone" href={`/inbox${search}`} aria-label={t.all.back}>
            <Icon name="left" />
          </Link>
        )}
        <h1>{t.nav.inbox}</h1>
        <span className="small faint cut">
          {open.data !== undefined && t.inbox.waiting(total)}
          {own.data !== undefined && total > 0 && <span className="opt">, {t.inbox.forYou(forMe)}</span>}
        </span>
        <span className="ml-auto">
          <Live />
        </span>
      </header>
      <DemoHint page="inbox" />
      <div className="inbox" data-open={id !== undefined}>
        <div className="inbox-list">
          <div className="inbox-tools">
            <div className="seg">
              <button type="button" aria-pressed={!showsDecided} onClick={() => setParams({})}>
                {t.inbox.open} {open.data !== undefined && <span className="count">{total}</span>}
              </button>
              <button type="button" aria-pressed={showsDecided} onClick={() => setParams({ show: "decided" })}>
                {t.inbox.decided}
              </button>
            </div>
            {!showsDecided && (
              <label className="row small dim ml-auto">
                <input
                  type="checkbox"
                  className="check"
                  checked={onlyMine}
                  onChange={(event) => setParams(event.target.checked ? { mine: "1" } : {})}
                />
                {t.inbox.onlyMine} {own.data !== undefined && `(${forMe})`}
              </label>
            )}
          </div>
          <nav className="overflow-auto min-h-0 flex flex-col" aria-label={t.inbox.requests}>
            {list.error !== null && <ProblemNote error={list.error} onRetry={() => void list.refetch()} />}
            {list.isPending && <Skeleton rows={4} />}
            {items.map((item) => (
              <AskRow
                key={item.id}
                ask={item}
                to={to(item.id)}
                isSelected={item.id === selected}
                outcome={showsDecided ? flatDecision(item as DecidedAsk) : undefined}
                isChosen={chosen.has(item.id)}
                onToggle={showsDecided ? undefined : toggle}
              />
            ))}
            {leaving.map((item) => (
              <div key={item.id} className="ask is-leaving" aria-hidden="true">
                <Icon name="check" />
                <span className="t cut">
                  <SeenText text={titleOf(t, item)} />
                </span>
              </div>
            ))}
            {damaged.map(({ id: broken, threadId }) => (
              <div key={broken} className="ask">
                <span className="fg-fail">
                  <Icon name="damaged" />
                </span>
                <span className="t cut">{t.inbox.damaged}</span>
                <span />
                <span className="m">
                  {threadId === undefined ? (
                    <code className="cut">{broken}</code>
                  ) : (
                    <Link className="link cut" href={`/threads/${encodeURIComponent(threadId)}`}>
                      {t.all.thread} <code>{threadId}</code>
                    </Link>
                  )}
                  <code className="ml-auto">STORE_CORRUPT</code>
                </span>
              </div>
            ))}
          </nav>
          {inBar.length > 0 ? (
            <BulkAnswers chosen={inBar} onClear={() => setChosen(new Set())} onHold={setHeld} />
          ) : (
            <KeyLine />
          )}
        </div>
        <div className="ask-card">
          {selected === undefined ? (
            list.isPending ? null : damaged.length > 0 && !showsDecided ? (
              <Empty art="filtered" title={t.inbox.onlyDamaged(damaged.length)}>
                <p>{t.inbox.onlyDamagedHow}</p>
              </Empty>
            ) : (
              <Empty art="slack" title={showsDecided ? t.inbox.noneDecided : t.inbox.none}>
                <p>{t.inbox.noneHow}</p>
                {!showsDecided && <Command text='belay -p "write a summary" --ask pause' />}
              </Empty>
            )
          ) : (
            <Card key={selected} id={selected} known={inList} isDecided={showsDecided} />
          )}
        </div>
      </div>
    </>
  );
}

const LEAVE_MS = 400;

/** Rows that have just left the same list: they fade, so that a list that moves says why. */
function useLeaving(items: readonly Ask[], list: object | undefined): readonly Ask[] {
  const [leaving, setLeaving] = useState<readonly Ask[]>([]);
  const before = useRef<readonly Ask[]>([]);
  useEffect(() => {
    if (list === undefined) return;
    const ids = new Set(items.map(({ id }) => id));
    const gone = before.current.filter(({ id }) => !ids.has(id));
    before.current = items;
    if (gone.length === 0 || gone.length > 5) return;
    setLeaving(gone);
    const timer = setTimeout(() => setLeaving([]), LEAVE_MS);
    return () => clearTimeout(timer);
  }, [list, items]);
  return leaving;
}

/** One request by its id, also one that left the list. */
function Card({ id, known, isDecided }: { id: string; known: Ask | DecidedAsk | undefined; isDecided: boolean }) {
  const t = useTexts();
  const kept = useRef<Ask | undefined>(undefined);
  if (known !== undefined) kept.current = known;
  const { data, error, refetch } = useQuery(oneRequest(id));
  const left = known === undefined;
  useEffect(() => {
    if (left) void refetch();
  }, [left, refetch]);
  // In the list of decisions the arguments are those that were approved; the request has those that the model asked for.
  const ask = (isDecided ? data?.item : undefined) ?? known ?? kept.current ?? data?.item;
  if (ask === undefined) return error === null ? <Skeleton rows={4} /> : <ProblemNote error={error} />;
  const outcome =
    isDecided && data === undefined
      ? flatDecision(ask as DecidedAsk)
      : left || isDecided
        ? decidedOf(data?.decided)
        : undefined;
  return (
    <>
      <span className="sr-only" aria-live="polite">
        {outcome === undefined ? "" : `${titleOf(t, ask)}: ${t.decided[outcome.how](outcome.by)}`}
      </span>
      {/* The list of decisions names the person that decided; the card names the agent that asked. */}
      <AskCard ask={isDecided ? { ...ask, by: ask.address.split("/")[0]! } : ask} decided={outcome} />
    </>
  );
}

function AskRow({
  ask,
  to,
  isSelected,
  outcome,
  isChosen,
  onToggle,
}: {
  ask: Ask;
  to: string;
  isSelected: boolean;
  outcome: Decided | undefined;
  isChosen: boolean;
  onToggle: ((id: string) => void) | undefined;
}) {
  const t = useTexts();
  const times = useTimes();
  const now = useNow(10_000);
  const need = ask.quorum ?? 1;
  const row = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    if (isSelected) row.current?.scrollIntoView({ block: "nearest" });
  }, [isSelected]);
  const link = (
    <Link ref={row} className="ask" href={to} aria-current={isSelected}>
      <span className={outcome === undefined ? "fg-person" : "dim"}>
        <Icon name={outcome === undefined ? "asks" : decidedIcon(outcome.how)} />
      </span>
      <span className="t cut">
        <SeenText text={titleOf(t, ask)} />
      </span>
      <span className="small faint">{times.ago(now - (outcome?.at ?? ask.raisedAt))}</span>
      <span className="m">
        {outcome === undefined ? (
          <>
            <span className="cut">{ask.by}</span>
            {need > 1 ? (
              <>
                <Pips have={votesFor(ask.approvals, ask.digest).length} need={need} />
                <span>{t.card.ofMany(votesFor(ask.approvals, ask.digest).length, need)}</span>
              </>
            ) : (
              <>
                <span className="faint">·</span>
                <span className="cut">
                  {ask.kind === "approval" ? (ask.tool ?? "") : (t.kind[ask.kind] ?? ask.kind)}
                </span>
              </>
            )}
            {ask.expiresAt !== undefined ? (
              <span className="ml-auto row gap-1 fg-person">
                <Icon name="clock" small />
                {times.lasting(Math.max(0, ask.expiresAt - now))}
              </span>
            ) : (
              ask.approvers !== undefined && (
                <span className="ml-auto cut">{t.inbox.waitsFor(ask.approvers.join(", "))}</span>
              )
            )}
          </>
        ) : (
          <span className="cut">{t.decided[outcome.how](outcome.by)}</span>
        )}
      </span>
    </Link>
  );
  if (onToggle === undefined) return link;
  return (
    <div className="ask-row" data-chosen={isChosen}>
      {link}
      <input
        type="checkbox"
        className="check opt"
        aria-label={t.threads.select(titleOf(t, ask))}
        checked={isChosen}
        onChange={() => onToggle(ask.id)}
      />
    </div>
  );
}
