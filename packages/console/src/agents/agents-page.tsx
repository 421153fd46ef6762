// The agents of this server: the parts of each, and the permissions of its tools.

import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { Link, useLocation } from "wouter";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { JsonBlock } from "../parts/json.tsx";
import { Empty, ProblemNote, Skeleton } from "../parts/states.tsx";
import { DemoHint } from "../shell/demo-hint.tsx";
import { useTexts } from "../texts/texts.ts";
import { agent as agentQuery, agents as agentsQuery } from "../wire/read.ts";
import type { AgentDescription, ToolDescription } from "../wire/shapes.ts";

const AgentGraph = lazy(() => import("./agent-graph.tsx").then((module) => ({ default: module.AgentGraph })));

export function AgentsPage({ name }: { name: string | undefined }) {
  const t = useTexts();
  const list = useQuery(agentsQuery);
  const known = list.data ?? [];
  const chosen = name ?? known[0]?.name;
  return (
    <>
      <header className="bar">
        <h1>{t.nav.agents}</h1>
        <span className="count">{known.length || ""}</span>
      </header>
      <DemoHint page="agents" />
      {list.error !== null && <ProblemNote error={list.error} onRetry={() => void list.refetch()} />}
      {list.isPending && list.error === null && <Skeleton />}
      {list.isSuccess && known.length === 0 && (
        <Empty art="not-begun" title={t.agents.none}>
          <p>{t.agents.noneHow}</p>
        </Empty>
      )}
      {known.length > 0 && (
        <div className="inbox" data-open={name !== undefined}>
          <div className="inbox-list overflow-auto">
            <nav aria-label={t.nav.agents}>
              {known.map((each) => (
                <Link
                  key={each.name}
                  className="ask"
                  href={`/agents/${encodeURIComponent(each.name)}`}
                  aria-current={each.name === chosen}
                >
                  <span className="dim">
                    <Icon name="agent" />
                  </span>
                  <span className="t cut">{each.name}</span>
                  <span className="small faint">{each.kind}</span>
                  <span className="m">
                    {[
                      each.model,
                      each.tools?.length ? t.agents.tools(each.tools.length) : undefined,
                      each.children?.length ? t.agents.inside(each.children.length) : undefined,
                      each.graph && t.agents.nodes(each.graph.nodes.length),
                    ]
                      .filter(Boolean)
                      .join(" · ")}
                  </span>
                </Link>
              ))}
            </nav>
          </div>
          <div className="ask-card">{chosen !== undefined && <One key={chosen} name={chosen} />}</div>
        </div>
      )}
    </>
  );
}

function One({ name }: { name: string }) {
  const t = useTexts();
  const [, go] = useLocation();
  const { data, error, refetch } = useQuery(agentQuery(name));
  if (error !== null) return <ProblemNote error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Skeleton rows={4} />;
  return (
    <div className="ask-body !max-w-[880px]">
      <div className="grid gap-2">
        <div className="row">
          <Link className="btn btn-icon btn-ghost only-phone" href="/agents" aria-label={t.all.back}>
            <Icon name="left" />
          </Link>
          <h2>{data.name}</h2>
          <span className="tag">{data.kind}</span>
          <span className="ml-auto row">
            <Button size="sm" onClick={() => go(`/threads?agent=${encodeURIComponent(name)}`)}>
              {t.agents.threads}
            </Button>
          </span>
        </div>
        {data.model !== undefined && (
          <p className="dim">
            {t.agents.model} <code>{data.model}</code>
          </p>
        )}
      </div>
      {data.instructions !== undefined && (
        <section className="grid gap-2">
          <h3 className="label">{t.agents.instructions}</h3>
          <JsonBlock value={data.instructions} />
        </section>
      )}
      <Tools agent={data} />
      {(data.children ?? []).map((child) => (
        <section key={child.name} className="card p-4 grid gap-3">
          <div className="row">
            <Icon name="agent" />
            <strong>{child.name}</strong>
            <span className="tag">{child.kind}</span>
            {child.model !== undefined && <code className="faint ml-auto">{child.model}</code>}
          </div>
          <Tools agent={child} />
        </section>
      ))}
      {data.graph !== undefined && (
        <section className="grid gap-2">
          <h3 className="label">{t.agents.graph}</h3>
          <Suspense fallback={<Skeleton rows={3} />}>
            <AgentGraph shape={data.graph} />
          </Suspense>
        </section>
      )}
    </div>
  );
}

function Tools({ agent }: { agent: AgentDescription }) {
  const t = useTexts();
  const [open, setOpen] = useState<string>();
  if (agent.tools === undefined || agent.tools.length === 0)
    return agent.graph === undefined && agent.children?.length === 0 ? (
      <p className="faint">{t.agents.noTools}</p>
    ) : null;
  return (
    <section className="grid gap-1" aria-label={t.agents.toolsTitle}>
      <h3 className="label">{t.agents.toolsTitle}</h3>
      {agent.tools.map((tool) => (
        <div key={tool.name} className="call">
          <button
            type="button"
            className="call-line !py-2"
            aria-expanded={open === tool.name}
            onClick={() => setOpen(open === tool.name ? undefined : tool.name)}
          >
            <span className={tool.destructive ? "fg-fail" : "faint"}>
              <Icon name={tool.destructive ? "warning" : tool.readOnly ? "search" : "play"} />
            </span>
            <span className="tool">{tool.name}</span>
            <span className="tag">v{tool.version}</span>
            <span className="cut grow dim small says">{tool.description}</span>
            <span className="out flex-wrap">
              {[...flags(t.agents.flag, tool), t.agents.stops[tool.onStop], t.agents.crashes[tool.onCrash]].join(" · ")}
            </span>
          </button>
          {open === tool.name && (
            <div className="call-more">
              <p className="dim">{tool.description}</p>
              <dl className="kv max-w-[360px]">
                <dt>{t.agents.onStop}</dt>
                <dd className="mono">{tool.onStop}</dd>
                <dt>{t.agents.onCrash}</dt>
                <dd className="mono">{tool.onCrash}</dd>
              </dl>
              <span className="label">{t.agents.schema}</span>
              <JsonBlock value={tool.input} />
            </div>
          )}
        </div>
      ))}
    </section>
  );
}

function flags(
  words: { destructive: string; readOnly: string; repeatable: string; asks: string; serial: string },
  tool: ToolDescription,
): readonly string[] {
  return [
    tool.destructive && words.destructive,
    tool.readOnly && words.readOnly,
    tool.repeatable && words.repeatable,
    tool.needsApproval !== undefined && tool.needsApproval !== false && words.asks,
    tool.serial === true && words.serial,
  ].filter((each): each is string => typeof each === "string");
}
