// The state of a graph at rest, as fields: changes are recorded with the resume.

import { useState } from "react";
import { textOfValue, valueOfText } from "../inbox/args-grid.tsx";
import { useKeys } from "../keys/keys.ts";
import { Button } from "../parts/button.tsx";
import { toast } from "../parts/toasts.tsx";
import { useRefusal } from "../shell/who.ts";
import { useTexts } from "../texts/texts.ts";
import { asProblem } from "../wire/problem.ts";
import { changed } from "../wire/read.ts";
import type { Checkpoint, Json } from "../wire/shapes.ts";
import { type Guard, resume } from "../wire/write.ts";

interface EditorProps {
  readonly stand: Checkpoint;
  readonly node: string | undefined;
  readonly canRun: boolean;
  readonly threadId: string;
  readonly guard: Guard;
}

export function StateEditor({ stand, node, canRun, threadId, guard }: EditorProps) {
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
        <section className="grid gap-2 grid-cols-1 [&_.btn]:h-auto [&_.btn]:min-h-9 [&_.btn]:whitespace-normal">
          <Button
            look="primary"
            size="lg"
            icon="play"
            keys="mod+Enter"
            refused={refused}
            disabled={busy || bad.length > 0}
            onClick={() => run(true)}
          >
            {changedKeys.length > 0 ? t.graph.runWith(node, changedKeys.length) : t.graph.runNode(node)}
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
