import type { DriftReport } from "@belay/core";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Icon } from "../parts/icon.tsx";
import { useTexts } from "../texts/texts.ts";
import { driftWords } from "./drift-words.ts";

/** The agent is not the one that the run began with: shown before it continues. */
export function DriftDialog({ report, onClose, onResume }: { report: DriftReport; onClose(): void; onResume(): void }) {
  const t = useTexts();
  return (
    <Dialog title={t.drift.title} onClose={onClose}>
      <p className="dim mt-2">{t.drift.how}</p>
      <ul className="grid gap-2 mt-3 border-y border-line py-3">
        {driftWords(t, report).map((words) => (
          <li key={words} className="row">
            <Icon name="drift" />
            <span className="wrap-anywhere">{words}</span>
          </li>
        ))}
      </ul>
      <div className="row mt-4 justify-end">
        <Button look="ghost" keys="Escape" onClick={onClose}>
          {t.drift.notNow}
        </Button>
        <Button look="primary" onClick={onResume}>
          {t.drift.resume}
        </Button>
      </div>
    </Dialog>
  );
}
