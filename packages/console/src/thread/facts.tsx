// Every fact, one line each, as the journal has it. The chosen one is in the address.

import { useEffect, useMemo, useRef } from "react";
import { VList, type VListHandle } from "virtua";
import { Link, useLocation } from "wouter";
import { useKeys } from "../keys/keys.ts";
import type { ThreadShown } from "../live/thread-store.ts";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { JsonBlock } from "../parts/json.tsx";
import { SeenText } from "../parts/seen-text.tsx";
import { textOf } from "../story/story.ts";
import { useTexts } from "../texts/texts.ts";
import { useTimes } from "../texts/times.ts";
import type { Fact, Json } from "../wire/shapes.ts";

export const kinds = ["all", "people", "tools", "model", "state"] as const;
export type Kind = (typeof kinds)[number];

export function kindOf(fact: Fact): Kind {
  switch (fact.type) {
    case "tool-start":
    case "tool-end":
    case "tool-late":
    case "step":
      return "tools";
    case "request-answered":
    case "input-queued":
    case "input-consumed":
    case "rule-removed":
    case "breakpoint":
      return "people";
    case "message":
      return fact.message.origin === "person" ? "people" : fact.message.role === "tool" ? "tools" : "model";
    default:
      return "state";
  }
}

interface Props {
  readonly threadId: string;
  readonly shown: ThreadShown;
  readonly params: URLSearchParams;
  onEarlier(): Promise<void>;
}

export function Facts({ threadId, shown, params, onEarlier }: Props) {
  const t = useTexts();
  const times = useTimes();
  const [, go] = useLocation();
  const list = useRef<VListHandle>(null);
  const kind = (params.get("kind") ?? "all") as Kind;
  const chosen = Number(params.get("fact")) || undefined;
  const facts = useMemo(
    () => (kind === "all" ? shown.facts : shown.facts.filter((fact) => kindOf(fact) === kind)),
    [shown.facts, kind],
  );
  const href = (changes: Record<string, string | undefined>) => {
    const next = new URLSearchParams(params);
    for (const [name, value] of Object.entries(changes))
      value === undefined ? next.delete(name) : next.set(name, value);
    return `/threads/${encodeURIComponent(threadId)}/facts${next.size > 0 ? `?${next}` : ""}`;
  };
  const at = facts.findIndex(({ seq }) => seq === chosen);
  const move = (by: number) => {
    const next = facts[Math.max(0, Math.min(facts.length - 1, (at === -1 ? facts.length : at) + by))];
    if (next !== undefined) go(href({ fact: String(next.seq) }), { replace: true });
  };
  useKeys({ j: () => move(1), k: () => move(-1) });
  useEffect(() => {
    if (at !== -1) list.current?.scrollToIndex(at, { align: "nearest" });
  }, [at]);
  const fact = facts[at];
  const first = shown.facts[0]?.seq ?? 1;
  return (
    <>
      <div className="bar bar-2 overflow-x-auto">
        <div className="seg" role="group" aria-label={t.facts.kinds}>
          {kinds.map((each) => (
            <button
              key={each}
              type="button"
              aria-pressed={kind === each}
              onClick={() => go(href({ kind: each === "all" ? undefined : each }), { replace: true })}
            >
              {t.facts.kind[each]}
            </button>
          ))}
        </div>
        {first > 1 && (
          <Button size="sm" className="ml-auto" onClick={() => void onEarlier()}>
            {t.thread.earlier(first - 1)}
          </Button>
        )}
      </div>
      <div className="two">
        <VList ref={list} className="min-h-0" tabIndex={0} aria-label={t.thread.tab.facts}>
          {facts.map((each) => (
            <button
              key={each.seq}
              type="button"
              className="fact-row"
              aria-current={each.seq === chosen}
              onClick={() => go(href({ fact: String(each.seq) }), { replace: true })}
            >
              <span className="faint text-right">{each.seq}</span>
              <span className="faint opt">{times.precise(each.at)}</span>
              <span className="strong cut">{each.type}</span>
              <span className="cut dim">
                <SeenText text={summary(each)} />
              </span>
            </button>
          ))}
        </VList>
        <aside className={`rail ${fact === undefined ? "" : "is-open"}`} aria-label={t.facts.one}>
          {fact === undefined ? (
            <p className="faint py-4">{t.facts.choose}</p>
          ) : (
            <section className="grid gap-3">
              <h2>
                {t.facts.fact(fact.seq, shown.view.head)}
                <span className="count">{times.full(fact.at)}</span>
              </h2>
              <JsonBlock value={fact as unknown as Json} />
              <div className="row flex-wrap">
                <Link className="btn" href={`/threads/${encodeURIComponent(threadId)}/fork?at=${fact.seq}`}>
                  <Icon name="fork" />
                  {t.facts.forkHere}
                </Link>
                <Button
                  icon="copy"
                  onClick={() => void navigator.clipboard?.writeText(JSON.stringify(fact, undefined, 2))}
                >
                  {t.all.copy}
                </Button>
                <Button
                  look="ghost"
                  className="only-narrow"
                  onClick={() => go(href({ fact: undefined }), { replace: true })}
                >
                  {t.all.back}
                </Button>
              </div>
            </section>
          )}
        </aside>
      </div>
    </>
  );
}

/** A fact in a few words. */
export function summary(fact: Fact): string {
  switch (fact.type) {
    case "message": {
      const { role, parts } = fact.message;
      const calls = parts.flatMap((part) =>
        part.type === "call" ? [`${part.tool}()`] : part.type === "result" ? [`${part.tool}: ${part.outcome}`] : [],
      );
      return `${role}: ${[textOf(fact.message).slice(0, 200), ...calls].filter(Boolean).join(" ")}`;
    }
    case "tool-start":
      return `${fact.tool} ${JSON.stringify(fact.ranArgs ?? fact.args ?? {}).slice(0, 200)}`;
    case "tool-end":
    case "tool-late":
      return `${fact.tool}: ${fact.outcome}${"held" in fact && fact.held ? " (held)" : ""}`;
    case "step":
      return fact.key;
    case "action":
      return fact.action.interrupted === undefined
        ? Object.keys(fact.action).join(", ")
        : `${fact.action.interrupted.kind}: ${fact.action.interrupted.reason ?? ""}`;
    case "request-answered":
      return `${fact.by}: ${fact.answer.type}`;
    case "state":
      return [fact.state, fact.pauseType, fact.mode].filter(Boolean).join(" · ");
    case "run-end":
      return [fact.status, fact.error?.code].filter(Boolean).join(" · ");
    case "input-queued":
    case "input-consumed":
      return `${fact.kind} ${fact.id}`;
    case "command":
      return `${fact.by}: ${fact.key}`;
    case "run-start":
      return fact.runPath;
    case "drift":
      return Object.keys(fact.report).join(", ");
    case "rule-removed":
      return `${fact.by}: ${fact.id}`;
    case "breakpoint":
      return `${fact.breakpoint.at} ${fact.breakpoint.node}`;
    default:
      return "";
  }
}
