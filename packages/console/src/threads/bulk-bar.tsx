import { useState } from "react";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { toast } from "../parts/toasts.tsx";
import { useRefusal } from "../shell/who.ts";
import { useTexts } from "../texts/texts.ts";
import { basePath } from "../wire/base.ts";
import { asProblem } from "../wire/problem.ts";
import { changed } from "../wire/read.ts";
import { threadPath } from "../wire/request.ts";
import type { ThreadRow } from "../wire/shapes.ts";
import { label, stop } from "../wire/write.ts";

/** The actions on the selected threads. Each is independent: one refusal stops no other. */
export function BulkBar({ rows, onClear }: { rows: readonly ThreadRow[]; onClear(): void }) {
  const t = useTexts();
  const refused = useRefusal("operator");
  const [asks, setAsks] = useState<"stop" | "label">();
  const running = rows.filter(({ state }) => state === "running");
  const each = async (
    some: readonly ThreadRow[],
    work: (row: ThreadRow) => Promise<unknown>,
    words: (count: number) => string,
  ) => {
    setAsks(undefined);
    const done = await Promise.allSettled(some.map(work));
    const failed = done.filter((outcome) => outcome.status === "rejected");
    toast({ icon: "check", words: words(done.length - failed.length) });
    for (const { reason } of failed) toast({ icon: "warning", isFail: true, words: asProblem(reason).message });
    changed(undefined);
  };
  return (
    <section className="bulk" aria-label={t.threads.selected(rows.length)}>
      <span className="medium" role="status">
        {t.threads.selected(rows.length)}
      </span>
      <Button
        icon="stop"
        refused={refused ?? (running.length === 0 ? t.threads.noneRuns : undefined)}
        onClick={() => setAsks("stop")}
      >
        {t.threads.stopMore}
      </Button>
      <Button icon="tag" refused={refused} onClick={() => setAsks("label")}>
        {t.threads.labelMore}
      </Button>
      <Button icon="save" onClick={() => void exportAll(rows)}>
        {t.threads.export}
      </Button>
      <Button look="ghost" keys="Escape" onClick={onClear}>
        {t.threads.clear}
      </Button>
      {asks === "stop" && (
        <Dialog title={t.threads.stopTitle(running.length)} onClose={() => setAsks(undefined)}>
          <p className="dim mt-2">{t.threads.stopHow}</p>
          <div className="row mt-4 justify-end">
            <Button look="ghost" keys="Escape" onClick={() => setAsks(undefined)}>
              {t.all.cancel}
            </Button>
            <Button
              look="primary"
              icon="stop"
              onClick={() =>
                void each(
                  running,
                  (row) => stop(row.threadId, row.runId === undefined ? {} : { runId: row.runId }),
                  t.threads.stoppedMany,
                )
              }
            >
              {t.stop.stop}
            </Button>
          </div>
        </Dialog>
      )}
      {asks === "label" && (
        <LabelDialog
          onClose={() => setAsks(undefined)}
          onLabel={(key, value) =>
            void each(
              rows,
              (row) => label(row.threadId, { labels: { [key]: value === "" ? null : value } }),
              t.threads.labelled,
            )
          }
        />
      )}
    </section>
  );
}

function LabelDialog({ onClose, onLabel }: { onClose(): void; onLabel(key: string, value: string): void }) {
  const t = useTexts();
  const [key, setKey] = useState("");
  const [value, setValue] = useState("");
  return (
    <Dialog title={t.threads.labelTitle} onClose={onClose}>
      <form
        className="grid gap-3 mt-3"
        onSubmit={(event) => {
          event.preventDefault();
          if (key.trim() !== "") onLabel(key.trim(), value.trim());
        }}
      >
        <div className="grid grid-cols-2 gap-2">
          <label className="grid gap-1">
            <span className="label">{t.threads.labelKey}</span>
            <input className="input" maxLength={64} value={key} onChange={(event) => setKey(event.target.value)} />
          </label>
          <label className="grid gap-1">
            <span className="label">{t.threads.labelValue}</span>
            <input className="input" maxLength={256} value={value} onChange={(event) => setValue(event.target.value)} />
          </label>
        </div>
        <p className="small faint">{t.threads.labelHow}</p>
        <div className="row justify-end">
          <Button look="ghost" keys="Escape" onClick={onClose}>
            {t.all.cancel}
          </Button>
          <button type="submit" className="btn btn-primary" disabled={key.trim() === ""}>
            {t.threads.labelSet}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** One file of facts for each thread, a line each. */
export async function exportAll(rows: readonly Pick<ThreadRow, "threadId">[]): Promise<void> {
  for (const { threadId } of rows) {
    const response = await fetch(`${basePath}/v1${threadPath(threadId, "/facts")}`, {
      headers: { accept: "application/x-ndjson", "x-belay": "1" },
    });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await response.blob());
    link.download = `${threadId.replace(/[^\w.-]+/g, "_").slice(0, 80)}.ndjson`;
    link.click();
    URL.revokeObjectURL(link.href);
  }
}
