// The right rail: the present step, waiting inputs, the receipt of the last stop, drift, the run, its people.

import type { ThreadView } from "@belay/client";
import { useMemo } from "react";
import { Link } from "wouter";
import type { ThreadShown } from "../live/thread-store.ts";
import { useNow } from "../live/use-live.ts";
import { Icon } from "../parts/icon.tsx";
import { Avatar } from "../parts/people.tsx";
import { SeenText, seenText } from "../parts/seen-text.tsx";
import { toast } from "../parts/toasts.tsx";
import { useRefusal } from "../shell/who.ts";
import { byOf, textOf, turnOf } from "../story/story.ts";
import { stopwatch } from "../texts/stopwatch.ts";
import { useTexts } from "../texts/texts.ts";
import { useTimes } from "../texts/times.ts";
import { asProblem } from "../wire/problem.ts";
import { changed } from "../wire/read.ts";
import type { Look } from "../wire/shapes.ts";
import { withdraw } from "../wire/write.ts";
import { driftWords } from "./drift-words.ts";
import { standing } from "./standing.ts";

export function Rail({
  shown,
  look,
  isOpen,
  threadId,
}: {
  shown: ThreadShown;
  look: Look | undefined;
  isOpen: boolean;
  threadId: string;
}) {
  const t = useTexts();
  const { view } = shown;
  return (
    <aside className={`rail ${isOpen ? "is-open" : ""}`} aria-label={t.rail.title}>
      <Now shown={shown} look={look} />
      <WaitingFor view={view} />
      <WaitingToBeRead view={view} look={look} threadId={threadId} />
      <Receipt view={view} />
      <Drift view={view} />
      <OneRun view={view} look={look} />
      <People shown={shown} />
    </aside>
  );
}

function Now({ shown, look }: { shown: ThreadShown; look: Look | undefined }) {
  const t = useTexts();
  const { view, facts } = shown;
  const times = useTimes();
  const now = useNow(1_000);
  const { state } = standing(view, look) ?? view;
  if (state !== "running") return null;
  const calls = view.calls.filter((call) => call.state === "running");
  // A reader that joins in mid-turn has not seen it begin: the facts say which it is.
  const turn = view.draft.turns.at(-1)?.turn ?? turnOf(facts, calls.length > 0);
  const since = view.runs.at(-1)?.segments.at(-1)?.startedAt;
  return (
    <section>
      <h2>
        {t.rail.now}
        {since !== undefined && <span className="count mono">{stopwatch(now - since)}</span>}
      </h2>
      <div className="rail-item">
        <span className="fg-run">
          <Icon name="play" small />
        </span>
        <span>
          <strong>{turn === undefined ? t.rail.works : t.all.turn(turn)}</strong> ·{" "}
          {calls.length > 0 ? calls.map(({ tool }) => tool).join(", ") : t.rail.modelWrites}
        </span>
      </div>
      {look?.owner !== undefined && (
        <div className="rail-item">
          <Icon name="lock" small />
          <span className="cut" title={look.owner.name}>
            {t.rail.lease(hostOf(look.owner.name), times.exact(look.owner.until))}
          </span>
        </div>
      )}
    </section>
  );
}

function WaitingFor({ view }: { view: ThreadView }) {
  const t = useTexts();
  const asks = view.requests.filter(({ decision }) => decision === undefined);
  if (asks.length === 0) return null;
  return (
    <section>
      <h2>
        {t.rail.waits}
        <span className="count">{asks.length}</span>
      </h2>
      {asks.map((ask) => (
        <Link key={ask.id} className="rail-item hover:underline" href={`/inbox/${encodeURIComponent(ask.id)}`}>
          <span className="fg-person">
            <Icon name="asks" />
          </span>
          <span>
            <strong>
              <SeenText text={ask.reason ?? ask.tool ?? ""} />
            </strong>
            {(ask.quorum ?? 1) > 1 && <span className="block">{t.card.ofMany(ask.approvals.length, ask.quorum!)}</span>}
          </span>
        </Link>
      ))}
    </section>
  );
}

function WaitingToBeRead({ view, look, threadId }: { view: ThreadView; look: Look | undefined; threadId: string }) {
  const t = useTexts();
  const refused = useRefusal("operator");
  const waiting = look?.waiting ?? [];
  // A late result that has replaced nothing yet is read at the next turn: the fold has it before the model does.
  const late = view.calls.filter(
    (call) =>
      call.late !== undefined &&
      call.late.at >= (view.agents[0]?.messages.findLast(({ role }) => role === "assistant")?.at ?? 0),
  );
  if (waiting.length + late.length === 0) return null;
  const take = (id: string) =>
    void withdraw(threadId, id)
      .catch((error: unknown) => toast({ icon: "warning", isFail: true, words: asProblem(error).message }))
      .finally(() => changed(threadId));
  return (
    <section>
      <h2>
        {t.rail.toBeRead}
        <span className="count">{waiting.length + late.length}</span>
      </h2>
      {waiting.map((item) =>
        item.kind === "late" ? (
          <div key={item.id} className="rail-item">
            <Icon name="late" />
            <span>
              <strong>
                <SeenText text={item.tool} />
              </strong>{" "}
              {t.outcome[item.outcome]}
              <span className="block">{t.rail.toldNext}</span>
            </span>
          </div>
        ) : (
          <div key={item.id} className="rail-item">
            <Icon name={item.kind === "input" ? "queue" : "steer"} />
            <span>
              <strong>
                “
                <SeenText
                  text={item.messages
                    .map((message) => textOf(message))
                    .join(" ")
                    .slice(0, 160)}
                />
                ”
              </strong>
              <span className="block">{t.rail.kind[item.kind](item.by ?? "")}</span>
            </span>
            {refused === undefined && (
              <button type="button" className="x" aria-label={t.rail.takeBack} onClick={() => take(item.id)}>
                <Icon name="cross" small />
              </button>
            )}
          </div>
        ),
      )}
      {late.map((call) => (
        <div key={call.id} className="rail-item">
          <Icon name="late" />
          <span>
            <strong>
              <SeenText text={call.tool} /> {t.outcome[call.late!.outcome]}
            </strong>
            <span className="block">{t.rail.toldNext}</span>
          </span>
        </div>
      ))}
    </section>
  );
}

function Receipt({ view }: { view: ThreadView }) {
  const t = useTexts();
  const times = useTimes();
  const stop = view.stops.at(-1);
  if (stop === undefined) return null;
  const tools = new Map(view.calls.map((call) => [call.id, call]));
  const names = (ids: readonly string[]) =>
    ids
      .map((id) => {
        const call = tools.get(id);
        return call === undefined ? id : `${seenText(call.tool)}#${/c(\d+)$/.exec(call.address)?.[1] ?? ""}`;
      })
      .join(", ");
  const lists = [
    [t.rail.stopped, stop.stopped],
    [t.rail.finished, stop.finished],
    [t.rail.notBegun, stop.notStarted],
    [t.rail.late, stop.late],
  ] as const;
  return (
    <section>
      <h2>
        {t.rail.receipt}
        <span className="count">{times.exact(stop.askedAt)}</span>
      </h2>
      <dl className="kv">
        <dt>{t.rail.latency}</dt>
        <dd className="mono strong">{times.lasting(Math.max(0, stop.recordedAt - stop.askedAt))}</dd>
        <dt>{t.rail.by}</dt>
        <dd>{stop.by}</dd>
        {lists.map(([words, ids]) =>
          ids.length === 0 ? null : (
            <div key={words} className="contents">
              <dt>{words}</dt>
              <dd className="mono" title={names(ids)}>
                {names(ids)}
              </dd>
            </div>
          ),
        )}
      </dl>
      {view.stops.length > 1 && <p className="small faint">{t.rail.moreStops(view.stops.length - 1)}</p>}
    </section>
  );
}

function Drift({ view }: { view: ThreadView }) {
  const t = useTexts();
  if (view.drift === undefined) return null;
  return (
    <section>
      <h2>{t.rail.drift}</h2>
      {driftWords(t, view.drift.report).map((words) => (
        <div key={words} className="rail-item">
          <Icon name="drift" />
          <span>{words}</span>
        </div>
      ))}
    </section>
  );
}

function OneRun({ view, look }: { view: ThreadView; look: Look | undefined }) {
  const t = useTexts();
  const times = useTimes();
  const run = view.runs.at(-1);
  if (run === undefined) return null;
  const { inputTokens, outputTokens } = view.usage;
  return (
    <section>
      <h2>
        {t.rail.usage}
        <span className="count mono">{run.runId.slice(-4)}</span>
      </h2>
      <dl className="kv">
        <dt>{t.rail.tokens}</dt>
        <dd className="mono">
          {times.number(inputTokens)} / {times.number(outputTokens)}
        </dd>
        <dt>{t.rail.segments}</dt>
        <dd className="mono">{view.segment}</dd>
        {view.runs.length > 1 && (
          <>
            <dt>{t.rail.runs}</dt>
            <dd className="mono">{view.runs.length}</dd>
          </>
        )}
        <dt>{t.rail.heldBy}</dt>
        <dd title={look?.owner?.name}>{look?.owner === undefined ? t.rail.noProcess : hostOf(look.owner.name)}</dd>
        {look?.parent !== undefined && (
          <>
            <dt>{t.thread.forkedFrom}</dt>
            <dd>
              <Link className="link" href={`/threads/${encodeURIComponent(look.parent.threadId)}`}>
                {look.parent.threadId.slice(0, 16)}
              </Link>
            </dd>
          </>
        )}
      </dl>
    </section>
  );
}

function People({ shown }: { shown: ThreadShown }) {
  const t = useTexts();
  const people = useMemo(() => {
    const done = new Map<string, Set<string>>();
    const add = (name: string | undefined, what: string) => {
      if (!name || name === "runtime") return;
      done.set(name, (done.get(name) ?? new Set()).add(what));
    };
    for (const fact of shown.facts) {
      if (fact.type === "message" && fact.message.origin === "person") add(byOf(fact.message), t.rail.said);
      if (fact.type === "request-answered" && fact.answer.type !== "expire" && fact.answer.type !== "withdraw")
        add(fact.by, t.rail.answered);
    }
    for (const stop of shown.view.stops) add(stop.by, t.rail.didStop);
    return [...done];
  }, [shown.facts, shown.view.stops, t]);
  if (people.length === 0) return null;
  return (
    <section>
      <h2>
        {t.rail.people}
        <span className="count">{people.length}</span>
      </h2>
      {people.map(([name, what]) => (
        <div key={name} className="row py-1 small">
          <Avatar name={name} small />
          <span className="cut">
            {name} <span className="faint">{[...what].join(", ")}</span>
          </span>
        </div>
      ))}
    </section>
  );
}

/** The machine in the name of an owner; the whole name is in the title. */
function hostOf(owner: string): string {
  return owner.split("@")[0] || owner;
}
