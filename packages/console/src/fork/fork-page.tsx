// Go back: a new thread from a point of this one. Effects after the point are not undone, so they are shown first, and a
// person confirms to have seen them.

import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import { useKeys } from "../keys/keys.ts";
import { Button, Key } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { JsonLine } from "../parts/json.tsx";
import { Mark } from "../parts/mark.tsx";
import { SeenText } from "../parts/seen-text.tsx";
import { ProblemNote, Skeleton } from "../parts/states.tsx";
import { DemoHint } from "../shell/demo-hint.tsx";
import { useRefusal } from "../shell/who.ts";
import { useTexts } from "../texts/texts.ts";
import { useTimes } from "../texts/times.ts";
import { asProblem } from "../wire/problem.ts";
import {
  effects as effectsQuery,
  history as historyQuery,
  look as lookQuery,
  rules as rulesQuery,
} from "../wire/read.ts";
import type { Effect, HistoryPoint } from "../wire/shapes.ts";
import { fork, send } from "../wire/write.ts";

/** A place to go back to: after a point, or before the message of a person. */
interface Place {
  readonly point: HistoryPoint;
  readonly seq: number;
  readonly before: string | undefined;
}

const placeOf = (point: HistoryPoint): Place =>
  point.kind === "input" && point.id !== undefined
    ? { point, seq: point.seq - 1, before: point.id }
    : { point, seq: point.seq, before: undefined };

export function ForkPage({ threadId }: { threadId: string }) {
  const t = useTexts();
  const times = useTimes();
  const [, go] = useLocation();
  const [params, setParams] = useSearchParams();
  const refused = useRefusal("operator");
  const look = useQuery(lookQuery(threadId));
  const points = useQuery(historyQuery(threadId));
  const [seen, setSeen] = useState<number>();
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const places = useMemo(
    () => (points.data ?? []).filter(({ path }) => path === undefined).map(placeOf),
    [points.data],
  );
  const wanted = params.get("before");
  const at = params.get("at");
  const place =
    (wanted === null ? undefined : places.find(({ before }) => before === wanted)) ??
    (at === null ? undefined : places.findLast(({ seq }) => seq <= Number(at))) ??
    places.findLast(({ before }) => before !== undefined) ??
    places.at(-1);
  const seq = place?.seq ?? 0;
  const effects = useQuery({ ...effectsQuery(threadId, seq), enabled: place !== undefined });
  const rules = useQuery(rulesQuery(threadId)).data ?? [];
  const found = effects.data ?? [];
  const needsTick = found.length > 0;
  const isSeen = !needsTick || seen === seq;
  const back = `/threads/${encodeURIComponent(threadId)}`;
  const title = look.data?.title || threadId;
  const again = (points.data ?? []).filter((point) => point.kind === "request" && point.seq > seq).length;
  const run = async (withText: boolean) => {
    if (place === undefined || busy || !isSeen || refused !== undefined) return;
    setBusy(true);
    setProblem(undefined);
    try {
      const made = await fork(threadId, place.before === undefined ? { at: place.seq } : { before: place.before });
      if (withText && text.trim() !== "") await send(made.threadId, text);
      go(`/threads/${encodeURIComponent(made.threadId)}`);
    } catch (error) {
      setProblem(asProblem(error).message);
      setBusy(false);
    }
  };
  const pick = (next: Place) => {
    const given: Record<string, string> =
      next.before === undefined ? { at: String(next.seq) } : { before: next.before, at: String(next.seq) };
    setParams(given, { replace: true });
  };
  const move = (by: number) => {
    const next = places[Math.max(0, Math.min(places.length - 1, places.indexOf(place!) + by))];
    if (next !== undefined) pick(next);
  };
  useKeys({
    Escape: () => go(back),
    j: () => move(1),
    k: () => move(-1),
    ArrowLeft: () => move(-1),
    ArrowRight: () => move(1),
    "mod+Enter": () => void run(text.trim() !== ""),
  });
  return (
    <>
      <header className="bar">
        <Link className="faint opt hover:underline" href="/threads">
          {t.nav.threads}
        </Link>
        <span className="faint opt">/</span>
        <Link className="dim cut hover:underline" href={back}>
          <SeenText text={title} />
        </Link>
        <span className="faint">/</span>
        <h1>{t.fork.title}</h1>
        <Link className="btn btn-ghost ml-auto" href={back}>
          {t.all.cancel} <Key name="Escape" />
        </Link>
      </header>
      <DemoHint page="fork" />
      {points.error !== null && <ProblemNote error={points.error} onRetry={() => void points.refetch()} />}
      {points.isPending && <Skeleton />}
      {place === undefined && points.isSuccess && <p className="p-5 dim">{t.fork.nothing}</p>}
      {place !== undefined && (
        <div className="scroll">
          <div className="sheet">
            <div className="grid gap-1">
              <h2>
                {place.before === undefined
                  ? t.fork.to(words(place.point.text))
                  : t.fork.before(words(place.point.text))}
              </h2>
              <p className="dim">{t.fork.shares(seq, look.data?.head ?? seq, title)}</p>
            </div>
            <Rope places={places} place={place} effects={found} onPick={pick} />
            <div className="grid gap-6 min-[900px]:grid-cols-[minmax(0,1.6fr)_minmax(0,1fr)]">
              <section className="card" aria-label={t.fork.notUndone}>
                <div className="row h-11 px-4 border-b border-line">
                  <Icon name="effect" />
                  <strong>{t.fork.notUndone}</strong>
                  <span className="count">{found.length}</span>
                  <span className="small faint ml-auto opt">{t.fork.after(seq)}</span>
                </div>
                {effects.error !== null && <ProblemNote error={effects.error} onRetry={() => void effects.refetch()} />}
                {found.length === 0 && effects.isSuccess && <p className="p-4 dim">{t.fork.noEffects}</p>}
                {found.map((effect) => (
                  <div key={`${effect.seq}${effect.key ?? ""}`} className="px-4 py-3 border-b border-line grid gap-1">
                    <div className="row">
                      <span className={effect.outcome === "error" ? "fg-fail" : ""}>
                        <Icon
                          name={effect.outcome === "ok" ? "check" : effect.outcome === "error" ? "cross" : "unknown"}
                        />
                      </span>
                      <code className="strong">
                        <SeenText text={effect.key ?? effect.tool ?? ""} />
                      </code>
                      <span className="args cut">
                        <JsonLine value={effect.args} />
                      </span>
                      <span className="ml-auto small dim whitespace-nowrap">
                        {t.outcome[effect.outcome]} · {times.clock(effect.at)}
                      </span>
                    </div>
                    {effect.outcome !== "ok" && effect.outcome !== "error" && (
                      <p className="small dim pl-6">{t.fork.maybe}</p>
                    )}
                  </div>
                ))}
                {needsTick && (
                  <label className="row gap-3 min-h-12 px-4">
                    <input
                      type="checkbox"
                      className="check"
                      checked={isSeen}
                      onChange={(event) => setSeen(event.target.checked ? seq : undefined)}
                    />
                    <span className="medium">{t.fork.seen(found.length)}</span>
                    <span className="ml-auto small faint opt">{t.fork.needed}</span>
                  </label>
                )}
              </section>
              <section className="grid gap-3 content-start">
                <span className="label">{t.fork.inNew}</span>
                {again > 0 && (
                  <Consequence
                    icon="asks"
                    look="fg-person"
                    words={t.fork.askedAgain(again)}
                    how={t.fork.askedAgainHow}
                  />
                )}
                {rules.length > 0 && (
                  <Consequence
                    icon="shield"
                    words={t.fork.rules(rules.length)}
                    how={rules.map(({ tool }) => tool).join(", ")}
                  />
                )}
                <Consequence icon="threads" words={t.fork.shared(seq)} how={t.fork.sharedHow} />
                <Consequence icon="fork" words={t.fork.stays} how={t.fork.staysHow} />
              </section>
            </div>
            <div className="grid gap-2">
              <label className="grid gap-1">
                <span className="label">{t.fork.say}</span>
                <textarea
                  className="textarea !text-sm"
                  rows={2}
                  value={text}
                  placeholder={place.before === undefined ? "" : words(place.point.text)}
                  onChange={(event) => setText(event.target.value)}
                />
              </label>
              {problem !== undefined && (
                <p className="fg-fail" role="alert">
                  {problem}
                </p>
              )}
              <div className="row flex-wrap">
                <Button
                  look="primary"
                  size="lg"
                  icon="fork"
                  keys="mod+Enter"
                  refused={refused ?? (isSeen ? undefined : t.fork.tickFirst)}
                  disabled={busy || text.trim() === ""}
                  onClick={() => void run(true)}
                >
                  {t.fork.forkAndRun}
                </Button>
                <Button
                  size="lg"
                  refused={refused ?? (isSeen ? undefined : t.fork.tickFirst)}
                  disabled={busy}
                  onClick={() => void run(false)}
                >
                  {t.fork.onlyFork}
                </Button>
                <span className="small faint">{isSeen ? t.fork.nothingChanges : t.fork.tickFirst}</span>
              </div>
            </div>
          </div>
        </div>
      )}
    </>
  );
}

const words = (text: string) => (text.length > 60 ? `${text.slice(0, 60)}…` : text);

function Consequence({
  icon,
  words: line,
  how,
  look = "faint",
}: {
  icon: "asks" | "shield" | "threads" | "fork";
  words: string;
  how: string;
  look?: string;
}) {
  return (
    <div className="flex gap-3 items-start">
      <span className={`${look} mt-0.5`}>
        <Icon name={icon} />
      </span>
      <div>
        <div>{line}</div>
        <div className="small faint wrap-anywhere">{how}</div>
      </div>
    </div>
  );
}

/** The points of the thread on its rope: solid up to the place, dotted after it, a diamond for each effect. */
function Rope({
  places,
  place,
  effects,
  onPick,
}: {
  places: readonly Place[];
  place: Place;
  effects: readonly Effect[];
  onPick(place: Place): void;
}) {
  const t = useTexts();
  const here = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (place.seq >= 0) here.current?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [place]);
  const at = places.indexOf(place);
  return (
    <ol className="flex overflow-x-auto pb-2" aria-label={t.fork.points}>
      {places.map((each, index) => {
        const isHere = index === at;
        const isPast = index < at || (isHere && each.before === undefined);
        const effect = effects.find(({ seq }) => seq === each.point.seq);
        return (
          <li key={`${each.point.seq}-${each.point.kind}`} className="min-w-[136px] max-w-[176px] flex-1">
            <button
              ref={isHere ? here : undefined}
              type="button"
              className="w-full grid justify-items-center gap-1 pt-2 text-center"
              aria-pressed={isHere}
              onClick={() => onPick(each)}
            >
              <span className="relative w-full h-10 grid place-items-center">
                {index > 0 && <span className={`rope-left ${index <= at ? "is-solid" : ""}`} />}
                {index < places.length - 1 && <span className={`rope-right ${index < at ? "is-solid" : ""}`} />}
                <span className="relative bg-surface rounded-full">
                  {isHere ? (
                    <Mark size={36} hole="var(--surface)" />
                  ) : effect !== undefined ? (
                    <span
                      className={`block w-3 h-3 rotate-45 m-1 ${effect.outcome === "ok" ? "bg-ink" : "border-2 border-dashed border-ink bg-surface"}`}
                    />
                  ) : (
                    <span
                      className={`block w-3 h-3 rounded-full ${isPast ? "bg-ink" : "border-2 border-line-control bg-surface"}`}
                    />
                  )}
                </span>
              </span>
              <span className={`px-1 ${isHere ? "strong" : ""}`}>
                {isHere ? t.fork.here : t.fork.kind[each.point.kind]}
              </span>
              <span className="small faint w-full cut px-2">
                <SeenText text={words(each.point.text)} />
              </span>
            </button>
          </li>
        );
      })}
    </ol>
  );
}
