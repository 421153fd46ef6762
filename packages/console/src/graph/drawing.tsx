// A graph as a drawing: nodes with their visits, the ways that were taken, the node it stopped at.

import { MarkShape } from "../parts/mark.tsx";
import { useTexts } from "../texts/texts.ts";
import type { Fact } from "../wire/shapes.ts";
import { END, type Placed, START } from "./layout-graph.ts";

export interface Visits {
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

interface DrawingProps {
  readonly placed: Placed;
  /** The line below the name of a node; empty for none. */
  words(node: string): string;
  /** What a run has done; undefined for a graph without a run. */
  readonly run?: {
    readonly visits: ReadonlyMap<string, Visits>;
    readonly stopped: ReadonlyMap<string, "before" | "after">;
    readonly node: string | undefined;
    readonly isDone: boolean;
    onPick(node: string): void;
  };
}

export function Drawing({ placed, words, run }: DrawingProps) {
  const t = useTexts();
  const wasThere = (key: string) =>
    key === START || run?.visits.has(key) === true || (key === END && run?.isDone === true);
  return (
    <svg
      className="max-w-full h-auto"
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
        const taken = run === undefined ? !branch : wasThere(from) && (wasThere(to) || run.stopped.has(to));
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
                {key === START ? "START" : "END"}
              </text>
            </g>
          );
        const visit = run?.visits.get(key);
        const stop = run?.stopped.get(key);
        const line = words(key);
        return (
          <g
            key={key}
            transform={`translate(${x},${y})`}
            {...(run && {
              className: "node",
              role: "button",
              tabIndex: 0,
              "aria-pressed": run.node === key,
              onClick: () => run.onPick(key),
              onKeyDown: (event) => {
                if (event.key !== "Enter" && event.key !== " ") return;
                event.preventDefault();
                run.onPick(key);
              },
            })}
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
                    : run?.node === key
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
            <text className="strong-t" x={stop === "before" ? 22 : 16} y={line === "" ? 33 : 24}>
              {key}
            </text>
            <text className={stop !== undefined ? "person-t" : "sub"} x={stop === "before" ? 22 : 16} y={42}>
              {line}
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
