// A graph with its position. Its state can be changed before the next node runs; breakpoints stay with the
// thread.

import { shownState } from "@belay/client";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { Drawing, visitsOf } from "../graph/drawing.tsx";
import { layoutGraph } from "../graph/layout-graph.ts";
import type { ThreadShown } from "../live/thread-store.ts";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { JsonBlock } from "../parts/json.tsx";
import { toast } from "../parts/toasts.tsx";
import { useRefusal } from "../shell/who.ts";
import { useTexts } from "../texts/texts.ts";
import { useTimes } from "../texts/times.ts";
import { asProblem } from "../wire/problem.ts";
import { checkpoint as checkpointQuery, queries } from "../wire/read.ts";
import type { GraphShape, Look } from "../wire/shapes.ts";
import { breakpoint, type Guard } from "../wire/write.ts";
import { StateEditor } from "./graph-state.tsx";

interface Props {
  readonly threadId: string;
  readonly shown: ThreadShown;
  readonly shape: GraphShape;
  readonly guard: Guard;
  readonly look: Look | undefined;
}

export function GraphTab({ threadId, shown, shape, guard, look }: Props) {
  const t = useTexts();
  const times = useTimes();
  const { view, facts } = shown;
  const { state, pauseType } = shownState(view);
  const visits = useMemo(() => visitsOf(facts, view.agent), [facts, view.agent]);
  const position = useQuery({ ...checkpointQuery(threadId), enabled: view.head > 0 });
  useEffect(() => {
    if (view.head > 0) void queries.invalidateQueries({ queryKey: ["checkpoint", threadId] });
  }, [threadId, view.head]);
  const stand = position.data ?? undefined;
  const stopped = useMemo(
    () =>
      new Map<string, "before" | "after">([
        ...(stand?.beforeNodes ?? []).map((key) => [key, "before"] as const),
        ...(stand?.afterNodes ?? []).map((key) => [key, "after"] as const),
      ]),
    [stand],
  );
  const placed = useMemo(() => layoutGraph(shape, stopped), [shape, stopped]);
  const at = [...stopped.keys()][0];
  const [picked, setPicked] = useState<string>();
  const node = picked ?? at ?? shape.nodes[0]?.key;
  const rests = state === "paused" && pauseType !== "tool_interrupt";
  const wordsOf = (key: string) => {
    const stop = stopped.get(key);
    if (stop !== undefined) return stop === "before" ? t.graph.stoppedBefore : t.graph.stoppedAfter;
    const visit = visits.get(key);
    if (visit === undefined) return t.graph.notRun;
    return visit.running ? t.call.running : `${t.graph.visits(visit.count)} · ${times.lasting(visit.ms)}`;
  };
  return (
    <div className="graph-grid">
      <div className="canvas">
        <div className="grid place-items-center flex-1 min-h-fit">
          <Drawing
            placed={placed}
            words={wordsOf}
            run={{ visits, stopped, node, onPick: setPicked, isDone: state === "completed" }}
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
