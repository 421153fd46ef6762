// The verdict on a call, with its rule; and the rules that people's answers left behind.

import type { Json } from "@belay/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useSearchParams } from "wouter";
import { Button } from "../parts/button.tsx";
import { Icon, type IconName } from "../parts/icon.tsx";
import { JsonLine } from "../parts/json.tsx";
import { SeenText, seenText } from "../parts/seen-text.tsx";
import { Empty, ProblemNote, Skeleton } from "../parts/states.tsx";
import { toast } from "../parts/toasts.tsx";
import { DemoHint } from "../shell/demo-hint.tsx";
import { useRefusal } from "../shell/who.ts";
import { useTexts } from "../texts/texts.ts";
import { useTimes } from "../texts/times.ts";
import { asProblem } from "../wire/problem.ts";
import { agents as agentsQuery, queries, rules as rulesQuery, threads as threadsQuery } from "../wire/read.ts";
import type { AgentDescription, Verdict } from "../wire/shapes.ts";
import { removeRule, tryPermission } from "../wire/write.ts";

export function PermissionsPage() {
  const t = useTexts();
  return (
    <>
      <header className="bar">
        <h1>{t.nav.permissions}</h1>
      </header>
      <DemoHint page="permissions" />
      <div className="scroll">
        <div className="sheet">
          <TryOut />
          <section className="grid gap-2">
            <h2 className="!text-base">{t.permissions.order}</h2>
            <ol className="grid gap-1 list-decimal pl-5 dim">
              {t.permissions.orders.split("\n").map((line) => (
                <li key={line}>{line}</li>
              ))}
            </ol>
          </section>
          <Remembered />
        </div>
      </div>
    </>
  );
}

const effects: Readonly<Record<Verdict["effect"], readonly [IconName, string]>> = {
  allow: ["check", ""],
  ask: ["asks", "is-person"],
  deny: ["none", "is-fail"],
};

function toolsOf(agent: AgentDescription): readonly string[] {
  return [...(agent.tools ?? []).map(({ name }) => name), ...(agent.children ?? []).flatMap(toolsOf)];
}

function TryOut() {
  const t = useTexts();
  const [params, setParams] = useSearchParams();
  const { data: known } = useQuery(agentsQuery);
  const { data: pages } = useInfiniteQuery(threadsQuery({}));
  const rows = pages?.pages[0]?.items.filter(({ damaged }) => !damaged) ?? [];
  const threadId = params.get("thread") ?? rows[0]?.threadId ?? "";
  const agent = rows.find((row) => row.threadId === threadId)?.agent;
  const tools = [
    ...new Set((known ?? []).filter(({ name }) => agent === undefined || name === agent).flatMap(toolsOf)),
  ];
  const tool = params.get("tool") ?? tools[0] ?? "";
  const [args, setArgs] = useState("{}");
  const [verdict, setVerdict] = useState<Verdict>();
  const [problem, setProblem] = useState<string>();
  const ask = () => {
    setProblem(undefined);
    setVerdict(undefined);
    let read: Json;
    try {
      read = JSON.parse(args) as Json;
    } catch {
      return setProblem(t.card.notJson);
    }
    tryPermission(threadId, tool, read).then(setVerdict, (error: unknown) => setProblem(asProblem(error).message));
  };
  return (
    <section className="card p-4 grid gap-3">
      <h2 className="!text-base">{t.permissions.whatIf}</h2>
      <form
        className="grid gap-3 min-[760px]:grid-cols-[220px_180px_minmax(0,1fr)_auto] items-end"
        onSubmit={(event) => {
          event.preventDefault();
          ask();
        }}
      >
        <label className="grid gap-1 min-w-0">
          <span className="label">{t.permissions.inThread}</span>
          <select
            className="select w-full"
            value={threadId}
            onChange={(event) => setParams({ thread: event.target.value })}
          >
            {rows.map((row) => (
              <option key={row.threadId} value={row.threadId}>
                {seenText(row.title || row.threadId)}
              </option>
            ))}
          </select>
        </label>
        <label className="grid gap-1 min-w-0">
          <span className="label">{t.permissions.tool}</span>
          <select
            className="select w-full mono"
            value={tool}
            onChange={(event) => setParams({ ...(threadId && { thread: threadId }), tool: event.target.value })}
          >
            {tools.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
        <label className="grid gap-1 min-w-0">
          <span className="label">{t.card.args}</span>
          <input className="input mono" value={args} onChange={(event) => setArgs(event.target.value)} />
        </label>
        <button type="submit" className="btn btn-primary" disabled={threadId === "" || tool === ""}>
          {t.permissions.ask}
        </button>
      </form>
      <div role="status" className="min-h-6">
        {problem !== undefined && <p className="fg-fail">{problem}</p>}
        {verdict !== undefined && (
          <p className="row flex-wrap">
            <span className={`badge ${effects[verdict.effect][1]}`}>
              <Icon name={effects[verdict.effect][0]} small />
              {t.permissions.effect[verdict.effect]}
            </span>
            {verdict.rule !== undefined && <code className="tag mono">{verdict.rule}</code>}
            <span className="dim wrap-anywhere">{verdict.words}</span>
          </p>
        )}
      </div>
      <p className="small faint">{t.permissions.nothingRuns}</p>
    </section>
  );
}

function Remembered() {
  const t = useTexts();
  const times = useTimes();
  const refused = useRefusal("admin");
  const { data, error, isPending, refetch } = useQuery(rulesQuery());
  const remove = (id: string) =>
    void removeRule(id)
      .then(
        () => toast({ icon: "check", words: t.permissions.removed }),
        (reason: unknown) => toast({ icon: "warning", isFail: true, words: asProblem(reason).message }),
      )
      .finally(() => queries.invalidateQueries({ queryKey: ["rules"] }));
  return (
    <section className="grid gap-2">
      <h2 className="!text-base">{t.permissions.remembered}</h2>
      <p className="dim">{t.permissions.rememberedHow}</p>
      {error !== null && <ProblemNote error={error} onRetry={() => void refetch()} />}
      {isPending && <Skeleton rows={2} />}
      {data?.length === 0 && (
        <div className="card">
          <Empty art="slack" title={t.permissions.none}>
            <p>{t.permissions.noneHow}</p>
          </Empty>
        </div>
      )}
      {data !== undefined && data.length > 0 && (
        <div className="card overflow-x-auto">
          <table className="table">
            <thead>
              <tr>
                <th>{t.permissions.rule}</th>
                <th className="w-40">{t.permissions.by}</th>
                <th className="w-28">
                  <span className="sr-only">{t.threads.action}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {data.map((rule) => (
                <tr key={rule.id}>
                  <td>
                    <span className="row">
                      <code className="strong">
                        {rule.effect} <SeenText text={rule.tool} />
                      </code>
                      <span className="args cut">
                        <JsonLine value={rule.args ?? {}} />
                      </span>
                    </span>
                  </td>
                  <td className="dim">
                    {rule.by} · {times.clock(rule.at)}
                  </td>
                  <td>
                    <Button size="sm" refused={refused} onClick={() => remove(rule.id)}>
                      {t.permissions.remove}
                    </Button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
