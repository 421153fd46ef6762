// The states of a page: empty, loading, or not for this person.

import type { ReactNode } from "react";
import { useTexts } from "../texts/texts.ts";
import { asProblem } from "../wire/problem.ts";
import { Button } from "./button.tsx";
import { Icon } from "./icon.tsx";
import { Rope } from "./mark.tsx";

export function Empty({
  art,
  title,
  children,
}: {
  art: "slack" | "not-begun" | "filtered";
  title: string;
  children?: ReactNode;
}) {
  return (
    <div className="empty">
      <Rope kind={art} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** A command to type, with a button that copies it. */
export function Command({ text }: { text: string }) {
  const t = useTexts();
  return (
    <span className="cmd">
      <code className="wrap-anywhere">{text}</code>
      <Button
        look="ghost"
        size="sm"
        icon="copy"
        aria-label={t.all.copy}
        onClick={() => void navigator.clipboard?.writeText(text)}
      />
    </span>
  );
}

export function ProblemNote({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const t = useTexts();
  const { message, hint, code, status, requestId } = asProblem(error);
  const mark = [code, status || undefined, requestId && `req ${requestId}`].filter(Boolean).join(" · ");
  return (
    <div className="note note-fail m-5" role="alert">
      <Icon name="warning" />
      <div className="grid gap-1 grow min-w-0">
        <strong>{message}</strong>
        {hint !== undefined && (
          <span className="dim">
            <span className="faint">{t.all.whatToDo} </span>
            {hint}
          </span>
        )}
        <div className="row mt-1 flex-wrap">
          {onRetry && (
            <Button size="sm" look="primary" onClick={onRetry}>
              {t.all.tryAgain}
            </Button>
          )}
          <Button
            size="sm"
            icon="copy"
            onClick={() => void navigator.clipboard?.writeText(`${message}\n${hint ?? ""}\n${mark}`)}
          >
            {t.all.copy}
          </Button>
          <code className="faint ml-auto">{mark}</code>
        </div>
      </div>
    </div>
  );
}

export function Skeleton({ rows = 6 }: { rows?: number }) {
  const t = useTexts();
  return (
    <div aria-busy="true">
      <span className="sr-only" role="status">
        {t.all.loading}
      </span>
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: all rows are alike.
        <div key={row} className="row h-10 px-5 border-b border-line" aria-hidden="true">
          <span className="skeleton w-4" />
          <span className="skeleton w-20" />
          <span className={`skeleton ${["w-40", "w-56", "w-32"][row % 3]}`} />
          <span className="skeleton w-10 ml-auto" />
        </div>
      ))}
    </div>
  );
}
