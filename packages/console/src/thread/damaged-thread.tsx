import { useState } from "react";
import { Link, useLocation } from "wouter";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { SeenText } from "../parts/seen-text.tsx";
import { StateBadge } from "../parts/state-word.tsx";
import { toast } from "../parts/toasts.tsx";
import { useRefusal } from "../shell/who.ts";
import { useTexts } from "../texts/texts.ts";
import { asProblem, type Problem } from "../wire/problem.ts";
import { repair } from "../wire/write.ts";

/** A thread that cannot be read to its end: shown as that, never hidden. */
export function DamagedThread({ threadId, problem }: { threadId: string; problem: Problem }) {
  const t = useTexts();
  const [, go] = useLocation();
  const refused = useRefusal("admin");
  const [busy, setBusy] = useState(false);
  const run = () => {
    setBusy(true);
    repair(threadId)
      .then(({ threadId: made, lost }) => {
        toast({ icon: "damaged", words: t.thread.lost(lost.from, lost.facts) }, 20_000);
        go(`/threads/${encodeURIComponent(made)}`);
      })
      .catch((error: unknown) => toast({ icon: "warning", isFail: true, words: asProblem(error).message }))
      .finally(() => setBusy(false));
  };
  return (
    <>
      <header className="bar">
        <Link className="faint opt hover:underline" href="/threads">
          {t.nav.threads}
        </Link>
        <span className="faint opt">/</span>
        <h1 className="cut">
          <SeenText text={threadId} />
        </h1>
        <StateBadge standing="damaged" />
      </header>
      <div className="sheet">
        <div className="note note-fail !p-5">
          <Icon name="damaged" />
          <div className="grid gap-2 grow min-w-0">
            <h2 className="!text-base">{t.thread.damaged(threadId)}</h2>
            <p>{problem.message}</p>
            <p className="dim">{t.thread.damagedHow}</p>
            <div className="row flex-wrap">
              <Button look="primary" refused={refused} disabled={busy} onClick={run}>
                {t.thread.repair}
              </Button>
              {refused !== undefined && <span className="small dim">{refused}</span>}
              <code className="faint ml-auto">{problem.code}</code>
            </div>
          </div>
        </div>
      </div>
    </>
  );
}
