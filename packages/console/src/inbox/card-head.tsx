import { lazy, Suspense, useState } from "react";
import { Link } from "wouter";
import { Icon } from "../parts/icon.tsx";
import { isObject, JsonBlock } from "../parts/json.tsx";
import { SeenText } from "../parts/seen-text.tsx";
import { useTexts } from "../texts/texts.ts";
import { asProblem } from "../wire/problem.ts";
import type { Ask, Verdict } from "../wire/shapes.ts";
import { tryPermission } from "../wire/write.ts";
import { addressOf, diffIn, titleOf } from "./ask-words.ts";

export function Head({ ask, destructive, inThread }: { ask: Ask; destructive: boolean; inThread: boolean }) {
  const t = useTexts();
  const path = addressOf(t, ask);
  return (
    <div className="grid gap-2">
      {!inThread && (
        <div className="row opt">
          <span className="addr cut">
            {path.slice(0, -1).map((part) => `${part} › `)}
            <b>{path.at(-1)}</b>
          </span>
          <Link
            className="link small dim row gap-1 ml-auto flex-none"
            href={`/threads/${encodeURIComponent(ask.threadId)}`}
          >
            {t.card.openThread}
            <Icon name="out" small />
          </Link>
        </div>
      )}
      <h2 data-card-title tabIndex={-1}>
        <SeenText text={titleOf(t, ask)} />
      </h2>
      <div className="row flex-wrap">
        {ask.tool !== undefined && <code className="strong">{ask.tool}</code>}
        {ask.version !== undefined && <span className="tag">v{ask.version}</span>}
        <span className="small dim">{ask.by}</span>
        {destructive && (
          <span className="badge is-fail">
            <Icon name="warning" small />
            {t.card.destructive}
          </span>
        )}
        {ask.kind !== "approval" && <span className="tag">{t.kind[ask.kind] ?? ask.kind}</span>}
        <WhyAsked ask={ask} />
      </div>
    </div>
  );
}

/** The rule that asked, and the words of the verdict on request. */
function WhyAsked({ ask }: { ask: Ask }) {
  const t = useTexts();
  const [verdict, setVerdict] = useState<Verdict | string>();
  if (ask.kind !== "approval" || ask.tool === undefined || ask.key !== undefined) return null;
  const why = () =>
    tryPermission(ask.threadId, ask.tool!, ask.args ?? {}).then(setVerdict, (error) =>
      setVerdict(asProblem(error).message),
    );
  return (
    <>
      <span className="small dim">
        {ask.rule === undefined ? t.card.askedByTool : t.card.askedByRule}{" "}
        {ask.rule !== undefined && <code>{ask.rule}</code>}
      </span>
      <button type="button" className="link small dim min-h-6" onClick={() => void why()}>
        {t.card.why}
      </button>
      {verdict !== undefined && (
        <span className="small dim basis-full" role="status">
          {typeof verdict === "string" ? verdict : verdict.words}
        </span>
      )}
    </>
  );
}

const Diff = lazy(() => import("../parts/diff.tsx").then((module) => ({ default: module.Diff })));
const UnifiedDiff = lazy(() => import("../parts/diff.tsx").then((module) => ({ default: module.UnifiedDiff })));

/** The context of a request: a diff as a diff, anything else as it is. */
export function Shown({ ask }: { ask: Ask }) {
  const { context } = ask;
  const diff = diffIn(context);
  const rest = isObject(context)
    ? Object.fromEntries(
        Object.entries(context).filter(
          ([key]) => !["diff", "before", "after", "path", "file", "base", "options"].includes(key),
        ),
      )
    : context;
  return (
    <Suspense fallback={null}>
      {diff?.unified !== undefined && <UnifiedDiff name={diff.name} text={diff.unified} />}
      {diff?.before !== undefined && <Diff name={diff.name ?? ""} before={diff.before} after={diff.after!} />}
      {rest !== undefined && !(isObject(rest) && Object.keys(rest).length === 0) && <JsonBlock value={rest} />}
    </Suspense>
  );
}
