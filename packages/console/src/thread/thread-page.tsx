// One thread, followed live. Tabs show the same fold: as a conversation, over time, as a graph, fact by fact.

import type { ThreadView } from "@belay/client";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import { useKeys } from "../keys/keys.ts";
import { useLine, useNow, useThread } from "../live/use-live.ts";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { SeenText } from "../parts/seen-text.tsx";
import { StateBadge, standingOf } from "../parts/state-word.tsx";
import { Empty, ProblemNote, Skeleton } from "../parts/states.tsx";
import { DemoHint } from "../shell/demo-hint.tsx";
import { stopwatch } from "../texts/stopwatch.ts";
import { useTexts } from "../texts/texts.ts";
import { Problem } from "../wire/problem.ts";
import { agent as agentQuery, look as lookQuery } from "../wire/read.ts";
import { Conversation } from "./conversation.tsx";
import { DamagedThread } from "./damaged-thread.tsx";
import { Rail } from "./rail.tsx";
import { standing } from "./standing.ts";
import { PauseButton, StopButton, ThreadMenu, useStopping } from "./stopping.tsx";

const Timeline = lazy(() => import("./timeline.tsx").then((module) => ({ default: module.Timeline })));
const GraphTab = lazy(() => import("./graph-tab.tsx").then((module) => ({ default: module.GraphTab })));
const Facts = lazy(() => import("./facts.tsx").then((module) => ({ default: module.Facts })));

const tabs = ["conversation", "timeline", "graph", "facts"] as const;

/** How often to look for the result of a call that a stop left behind. It waits in the store, and no hint announces it. */
const LATE_MS = 2_000;

/** True if the last stop left calls behind, and the model has not read their results. */
function mayEndLate(view: ThreadView | undefined): boolean {
  return view?.state === "paused" && (view.stops.at(-1)?.late.length ?? 0) > 0;
}

export function ThreadPage({ threadId, tab }: { threadId: string; tab: string }) {
  const t = useTexts();
  const [, go] = useLocation();
  const [params] = useSearchParams();
  const line = useLine();
  const now = useNow(1_000);
  const { shown, loadEarlier } = useThread(threadId);
  const refetchInterval = mayEndLate(shown?.view) && LATE_MS;
  const { data: look, error, refetch } = useQuery({ ...lookQuery(threadId), refetchInterval });
  const { data: description } = useQuery({ ...agentQuery(look?.agent ?? ""), enabled: look !== undefined });
  const [details, setDetails] = useState(false);
  const view = shown?.view;
  const stands = standing(view, look);
  const state = stands?.state;
  const pauseType = stands?.pauseType;
  const runId = view?.runId ?? look?.runId;
  const segment = view?.segment || look?.segment;
  const guard = { ...(runId !== undefined && { runId }), ...(segment !== undefined && { segment }) };
  const stopping = useStopping(threadId, guard, state === "running");
  const title = look?.title || threadId;
  const href = `/threads/${encodeURIComponent(threadId)}`;
  useKeys({
    f: () => go(`${href}/fork`),
    Escape: () => (details ? setDetails(false) : stopping.offer()),
  });
  if (error instanceof Problem && error.status === 404)
    return (
      <Empty art="filtered" title={t.thread.unknown}>
        <p>
          <code>{threadId}</code>
        </p>
        <Link className="btn" href="/threads">
          {t.nav.threads}
        </Link>
      </Empty>
    );
  if (error instanceof Problem && (error.code === "JOURNAL_CORRUPT" || error.code === "STORE_CORRUPT"))
    return <DamagedThread threadId={threadId} problem={error} />;
  const isGraph = description?.graph !== undefined;
  const shownTabs = tabs.filter((each) => each !== "graph" || isGraph || tab === "graph");
  const started = view?.runs.at(-1)?.segments.at(-1)?.startedAt;
  return (
    <>
      <header className="bar">
        <Link className="faint opt hover:underline" href="/threads">
          {t.nav.threads}
        </Link>
        <span className="faint opt">/</span>
        <h1 className="cut">
          <SeenText text={title} />
        </h1>
        {state !== undefined && (
          <span className="flex-none">
            {line.is === "offline" && state === "running" ? (
              <span className="badge">{t.thread.wasRunning}</span>
            ) : (
              <StateBadge
                standing={standingOf(state, pauseType, false)}
                more={state === "running" && started !== undefined ? stopwatch(now - started) : undefined}
              />
            )}
          </span>
        )}
        {look !== undefined && (
          <span className="small faint cut opt">
            {look.agent}
            {runId !== undefined && (
              <>
                {" · "}
                {t.thread.run} <code>{runId.slice(-4)}</code>
              </>
            )}
          </span>
        )}
        <span className="ml-auto row flex-none">
          <Button
            className="only-narrow"
            look="ghost"
            icon="details"
            aria-label={t.thread.details}
            aria-expanded={details}
            onClick={() => setDetails(!details)}
          />
          <Link className="btn opt" href={`${href}/fork`}>
            <Icon name="fork" />
            {t.thread.fork}
            <kbd className="key">f</kbd>
          </Link>
          <PauseButton threadId={threadId} guard={guard} isRunning={state === "running"} />
          <StopButton stopping={stopping} isRunning={state === "running"} />
          <ThreadMenu threadId={threadId} title={title} guard={guard} state={state} stopping={stopping} />
        </span>
      </header>
      <nav className="tabs" aria-label={t.thread.tabs}>
        {shownTabs.map((each) => (
          <Link
            key={each}
            href={each === "conversation" ? href : `${href}/${each}`}
            aria-current={each === tab ? "page" : undefined}
          >
            {t.thread.tab[each]}
            {each === "facts" && <span className="count">{view?.head || look?.head || ""}</span>}
          </Link>
        ))}
      </nav>
      <DemoHint page="thread" standing={state === undefined ? undefined : standingOf(state, pauseType, false)} />
      {error !== null && <ProblemNote error={error} onRetry={() => void refetch()} />}
      {shown === undefined || (!shown.live && shown.facts.length === 0) ? (
        error === null && <Skeleton rows={6} />
      ) : (
        <Suspense fallback={<Skeleton rows={6} />}>
          {tab === "timeline" ? (
            <Timeline threadId={threadId} shown={shown} params={params} look={look} />
          ) : tab === "facts" ? (
            <Facts threadId={threadId} shown={shown} params={params} onEarlier={loadEarlier} />
          ) : tab === "graph" && description?.graph !== undefined ? (
            <GraphTab threadId={threadId} shown={shown} shape={description.graph} guard={guard} look={look} />
          ) : (
            <div className="thread-grid">
              <Conversation shown={shown} look={look} guard={guard} onEarlier={loadEarlier} />
              <Rail shown={shown} look={look} isOpen={details} threadId={threadId} />
            </div>
          )}
        </Suspense>
      )}
    </>
  );
}
