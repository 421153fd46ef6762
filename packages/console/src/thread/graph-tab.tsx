// A graph with the place where it stands. Its state can be changed before the next node runs; breakpoints stay with the
// thread.

import { shownState } from "@belay/client";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { textOfValue, valueOfText } from "../inbox/args-grid.tsx";
import { useKeys } from "../keys/keys.ts";
import type { ThreadShown } from "../live/thread-store.ts";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { JsonBlock } from "../parts/json.tsx";
import { MarkShape } from "../parts/mark.tsx";
import { toast } from "../parts/toasts.tsx";
import { useRefusal } from "../shell/who.ts";
import { useTexts } from "../texts/texts.ts";
import { useTimes } from "../texts/times.ts";
import { asProblem } from "../wire/problem.ts";
import { changed, checkpoint as checkpointQuery, queries } from "../wire/read.ts";
import type { Checkpoint, Fact, GraphShape, Json, Look } from "../wire/shapes.ts";
import { breakpoint, type Guard, resume } from "../wire/write.ts";
import { layoutGraph, type Placed } from "./layout-graph.ts";

interface Props {
  readonly threadId: string;
  readonly shown: ThreadShown;
  readonly shape: GraphShape;
  readonly guard: Guard;
  readonly look: Look | undefined;
}

interface Visits {
  readonly count: number;
  readonly ms: number;
  readonly running: boolean;
}

/** How often each node ran and how long: a visit is a run of its own below the graph's path. */
export function visitsOf(facts: readonly Fact[], root: string | undefined): ReadonlyMap<string, Visits> {
  const visits = new Map<string, { count: number; ms: number; running: Map<string, number> }>();
  for (const fact of facts) {
    if (root === undefined || !fact.runPath.startsWith(`${root}/`)) continue;
    const [step, ...deeper] = fact.runPath.slice(root.length + 1).split("/");
    if (deeper.length > 0 || step === undefined) continue;
    const key = step.split(":")[0]!.split("#")[0]!.replace(/@\d+$/, "");
    const of = visits.get(key) ?? { count: 0, ms: 0, running: new Map<string, number>() };
    visits.set(key, of);
    if (fact.type === "run-start") {
      of.count += 1;
      of.running.set(fact.runPath, fact.at);
    } else if (fact.type === "run-end") {
      of.ms += fact.at - (of.running.get(fact.runPath) ?? fact.at);
      of.running.delete(fact.runPath);
    }
  }
  return new Map([...visits].map(([key, { count, ms, running }]) => [key, { count, ms, running: running.size > 0 }]));
}

export function GraphTab({ threadId, shown, shape, guard, look }: Props) {
  const t = useTexts();
  const { view, facts } = shown;
  const { state, pauseType } = shownState(view);
  const placed = useMemo(() => layoutGraph(shape), [shape]);
  const visits = useMemo(() => visitsOf(facts, view.agent), [facts, view.agent]);
  const position = useQuery({ ...checkpointQuery(threadId), enabled: view.head > 0 });
  useEffect(() => {
    if (view.head > 0) void queries.invalidateQueries({ queryKey: ["checkpoint", threadId] });
  }, [threadId, view.head]);
  const stand = position.data ?? undefined;
  const stopped = new Map<string, "before" | "after">([
    ...(stand?.beforeNodes ?? []).map((key) => [key, "before"] as const),
    ...(stand?.afterNodes ?? []).map((key) => [key, "after"] as const),
  ]);
  const at = [...stopped.keys()][0];
  const [picked, setPicked] = useState<string>();
  const node = picked ?? at ?? shape.nodes[0]?.key;
  const rests = state === "paused" && pauseType !== "tool_interrupt";
  return (
    <div className="graph-grid">
      <div className="canvas">
        <div className="grid place-items-center flex-1 min-h-fit">
          <Drawing
            placed={placed}
            visits={visits}
            stopped={stopped}
            node={node}
            onPick={setPicked}
            isDone={state === "completed"}
          />
        </div>
        <Breakpoints threadId={threadId} shape={shape} shown={shown} />
      </div>
      <aside className="rail is-open" aria-label={t.graph.node}>
        {node !== undefined && (
          <section>
            <h2>{t.graph.node}</h2>
            <div className="row">
              <strong className="text-base">{node}</strong>
              <span className="small faint ml-auto">
                {visits.has(node) ? t.graph.visits(visits.get(node)!.count) : t.graph.notRun}
              </span>
            </div>
            {stopped.has(node) && (
              <p className="small fg-person medium">
                {stopped.get(node) === "before" ? t.graph.stoppedBefore : t.graph.stoppedAfter}
              </p>
            )}
          </section>
        )}
        {node !== undefined && stand?.inputs[node] !== undefined && (
          <section className="grid gap-1">
            <h2>{t.graph.input}</h2>
            <JsonBlock value={stand.inputs[node]} />
          </section>
        )}
        {stand !== undefined && (
          <StateEditor
            key={view.head}
            stand={stand}
            node={at ?? node}
            canRun={rests}
            threadId={threadId}
            guard={guard}
          />
        )}
        {look !== undefined && stand === undefined && position.isFetched && (
          <p className="faint py-3">{t.graph.noPosition}</p>
        )}
      </aside>
    </div>
  );
}

interface DrawingProps {
  readonly placed: Placed;
  readonly visits: ReadonlyMap<string, Visits>;
  readonly stopped: ReadonlyMap<string, "before" | "after">;
  readonly node: string | undefined;
  readonly isDone: boolean;
  onPick(node: string): void;
}

function Drawing({ placed, visits, stopped, node, isDone, onPick }: DrawingProps) {
  const t = useTexts();
  const times = useTimes();
  const wasThere = (key: string) => key === "START" || visits.has(key) || (key === "END" && isDone);
  return (
    <svg
      width={placed.width}
      height={placed.height}
      viewBox={`0 0 ${placed.width} ${placed.height}`}
      role="group"
      aria-label={t.graph.title}
    >
      <defs>
        <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">
          <path d="M0 0l8 4-8 4z" fill="var(--ink-2)" />
        </marker>
        <marker id="arrow-quiet" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
          <path d="M0 0l8 4-8 4z" fill="var(--line-control)" />
        </marker>
      </defs>
      {placed.ways.map(({ from, to, path, branch }) => {
        const taken = wasThere(from) && (wasThere(to) || stopped.has(to));
        return (
          <path
            key={`${from}>${to}>${branch}`}
            d={path}
            fill="none"
            stroke={taken ? "var(--ink-2)" : "var(--line-control)"}
            strokeWidth={taken ? 2 : 1.5}
            strokeDasharray={taken ? undefined : "4 4"}
            markerEnd={`url(#${taken ? "arrow" : "arrow-quiet"})`}
          />
        );
      })}
      {placed.nodes.map(({ key, x, y, width, height, isEdge }) => {
        if (isEdge)
          return (
            <g key={key} transform={`translate(${x},${y})`}>
              <rect width={width} height={height} rx={height / 2} fill="var(--sunken)" stroke="var(--line-2)" />
              <text className="mono-t" x={width / 2} y={18} textAnchor="middle">
                {key}
              </text>
            </g>
          );
        const visit = visits.get(key);
        const stop = stopped.get(key);
        const words =
          stop !== undefined
            ? stop === "before"
              ? t.graph.stoppedBefore
              : t.graph.stoppedAfter
            : visit === undefined
              ? t.graph.notRun
              : visit.running
                ? t.call.running
                : `${t.graph.visits(visit.count)} · ${times.lasting(visit.ms)}`;
        return (
          <g
            key={key}
            className="node"
            transform={`translate(${x},${y})`}
            role="button"
            tabIndex={0}
            aria-pressed={node === key}
            aria-label={`${key}: ${words}`}
            onClick={() => onPick(key)}
            onKeyDown={(event) => {
              if (event.key === "Enter" || event.key === " ") {
                event.preventDefault();
                onPick(key);
              }
            }}
          >
            {stop !== undefined && (
              <rect
                x={-6}
                y={-6}
                width={width + 12}
                height={height + 12}
                rx={12}
                fill="var(--person-bg)"
                stroke="var(--person-line)"
                strokeWidth={2}
              />
            )}
            <rect
              className="box"
              width={width}
              height={height}
              rx={8}
              fill="var(--raised)"
              stroke={
                stop !== undefined
                  ? "var(--person-line)"
                  : visit?.running
                    ? "var(--run-line)"
                    : node === key
                      ? "var(--ink)"
                      : "var(--line-2)"
              }
            />
            {stop !== undefined && (
              <>
                <circle cx={stop === "before" ? -6 : width + 6} cy={height / 2} r={17} fill="var(--surface)" />
                <g
                  transform={`translate(${(stop === "before" ? -6 : width + 6) - 16},${height / 2 - 16}) scale(1.3333)`}
                  color="var(--person-line)"
                >
                  <MarkShape hole="var(--surface)" />
                </g>
              </>
            )}
            <text className="strong-t" x={stop === "before" ? 22 : 16} y={24}>
              {key}
            </text>
            <text className={stop !== undefined ? "person-t" : "sub"} x={stop === "before" ? 22 : 16} y={42}>
              {words}
            </text>
            {visit !== undefined && !visit.running && stop === undefined && (
              <g
                transform={`translate(${width - 28},10)`}
                stroke="var(--ink-2)"
                fill="none"
                strokeWidth={1.5}
                strokeLinecap="round"
                strokeLinejoin="round"
              >
                <path d="m3.5 8.5 3 3 6-7" />
              </g>
            )}
          </g>
        );
      })}
    </svg>
  );
}

interface EditorProps {
  readonly stand: Checkpoint;
  readonly node: string | undefined;
  readonly canRun: boolean;
  readonly threadId: string;
  readonly guard: Guard;
}

function StateEditor({ stand, node, canRun, threadId, guard }: EditorProps) {
  const t = useTexts();
  const refused = useRefusal("operator");
  const [edits, setEdits] = useState<Readonly<Record<string, string>>>({});
  const [busy, setBusy] = useState(false);
  const values = Object.entries(stand.state ?? {});
  const read = Object.entries(edits).map(([key, text]) => [key, valueOfText(text, stand.state[key])] as const);
  const bad = read.filter(([, value]) => !value.ok);
  const changes = Object.fromEntries(
    read.flatMap(([key, value]) =>
      value.ok && JSON.stringify(value.value) !== JSON.stringify(stand.state[key]) ? [[key, value.value]] : [],
    ),
  ) as Record<string, Json>;
  const changedKeys = Object.keys(changes);
  const run = (withState: boolean) => {
    if (!canRun || busy || refused !== undefined || (withState && bad.length > 0)) return;
    setBusy(true);
    resume(threadId, { ...guard, ...(withState && changedKeys.length > 0 && { state: changes }) })
      .catch((error: unknown) => toast({ icon: "warning", isFail: true, words: asProblem(error).message }))
      .finally(() => {
        setBusy(false);
        changed(threadId);
      });
  };
  useKeys({ "mod+Enter": () => run(true) });
  return (
    <>
      <section>
        <h2>
          {t.graph.state}
          {changedKeys.length > 0 && <span className="count">{t.graph.changed(changedKeys.length)}</span>}
        </h2>
        <div className="grid gap-2">
          {values.length === 0 && <p className="faint small">{t.graph.noState}</p>}
          {values.map(([key, was]) => {
            const text = edits[key] ?? textOfValue(was);
            const isBad = !valueOfText(text, was).ok;
            const isChanged = text !== textOfValue(was);
            return (
              <div key={key} className="grid gap-1">
                <label className="label" htmlFor={`state-${key}`}>
                  {key}
                </label>
                {text.includes("\n") || text.length > 60 ? (
                  <textarea
                    id={`state-${key}`}
                    className={`textarea mono ${isBad ? "is-bad" : isChanged ? "is-changed" : ""}`}
                    rows={Math.min(8, text.split("\n").length)}
                    value={text}
                    disabled={!canRun}
                    onChange={(event) => setEdits({ ...edits, [key]: event.target.value })}
                  />
                ) : (
                  <input
                    id={`state-${key}`}
                    className={`input mono ${isBad ? "is-bad" : isChanged ? "is-changed" : ""}`}
                    value={text}
                    disabled={!canRun}
                    onChange={(event) => setEdits({ ...edits, [key]: event.target.value })}
                  />
                )}
                {isBad ? (
                  <span className="small fg-fail">{t.card.notJson}</span>
                ) : (
                  isChanged && (
                    <span className="small dim">
                      {t.card.was} <del className="mono">{textOfValue(was).slice(0, 80)}</del>
                    </span>
                  )
                )}
              </div>
            );
          })}
        </div>
      </section>
      {canRun && node !== undefined && (
        <section className="grid gap-2">
          <Button
            look="primary"
            size="lg"
            icon="play"
            keys="mod+Enter"
            refused={refused}
            disabled={busy || bad.length > 0}
            onClick={() => run(true)}
          >
            {changedKeys.length > 0 ? t.graph.runWith(node, changedKeys.join(", ")) : t.graph.runNode(node)}
          </Button>
          {changedKeys.length > 0 && (
            <Button size="lg" refused={refused} disabled={busy} onClick={() => run(false)}>
              {t.graph.runAsIs(node)}
            </Button>
          )}
          <p className="small faint">{t.graph.recorded}</p>
        </section>
      )}
    </>
  );
}

function Breakpoints({ threadId, shape, shown }: { threadId: string; shape: GraphShape; shown: ThreadShown }) {
  const t = useTexts();
  const refused = useRefusal("operator");
  const [node, setNode] = useState(shape.nodes[0]?.key ?? "");
  const [at, setAt] = useState<"before" | "after">("before");
  const active = useMemo(() => {
    const all = new Map<string, { node: string; at: "before" | "after" }>();
    for (const each of shape.interruptBefore) all.set(`before ${each.node}`, { node: each.node, at: "before" });
    for (const each of shape.interruptAfter) all.set(`after ${each.node}`, { node: each.node, at: "after" });
    for (const each of shown.view.breakpoints) {
      if (each.stop) all.set(`${each.at} ${each.node}`, { node: each.node, at: each.at });
      else all.delete(`${each.at} ${each.node}`);
    }
    return [...all.values()];
  }, [shape, shown.view.breakpoints]);
  const set = (body: { node: string; at: "before" | "after"; stop: boolean }) =>
    void breakpoint(threadId, body).catch((error: unknown) =>
      toast({ icon: "warning", isFail: true, words: asProblem(error).message }),
    );
  return (
    <section className="card m-4 p-2 px-3 row flex-wrap sticky bottom-4" aria-label={t.graph.breakpoints}>
      <span className="label">{t.graph.breakpoints}</span>
      {active.map((each) => (
        <span key={`${each.at} ${each.node}`} className="tag">
          <span className="inline-block w-2 h-2 rounded-full bg-ink" />
          {t.graph.at[each.at]} <code>{each.node}</code>
          <button
            type="button"
            className="x !w-5 !h-5 !m-0"
            disabled={refused !== undefined}
            aria-label={t.graph.remove(`${each.at} ${each.node}`)}
            onClick={() => set({ ...each, stop: false })}
          >
            <Icon name="cross" small />
          </button>
        </span>
      ))}
      <span className="row ml-auto">
        <select
          className="select"
          aria-label={t.graph.when}
          value={at}
          onChange={(event) => setAt(event.target.value as "before" | "after")}
        >
          <option value="before">{t.graph.at.before}</option>
          <option value="after">{t.graph.at.after}</option>
        </select>
        <select
          className="select"
          aria-label={t.graph.node}
          value={node}
          onChange={(event) => setNode(event.target.value)}
        >
          {shape.nodes.map(({ key }) => (
            <option key={key}>{key}</option>
          ))}
        </select>
        <Button size="sm" icon="plus" refused={refused} onClick={() => set({ node, at, stop: true })}>
          {t.graph.add}
        </Button>
      </span>
    </section>
  );
}
