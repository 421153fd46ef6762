// The decision on a request: the person, the moment, the kind. A card that was decided elsewhere turns into this, in place.

import { Link } from "wouter";
import { Icon, type IconName } from "../parts/icon.tsx";
import { JsonLine } from "../parts/json.tsx";
import { Avatar } from "../parts/people.tsx";
import { SeenText } from "../parts/seen-text.tsx";
import { useTexts } from "../texts/texts.ts";
import { useTimes } from "../texts/times.ts";
import type { Decided } from "../wire/shapes.ts";

export const decidedIcon = (how: Decided["how"]): IconName =>
  how === "rejected" ? "cross" : how === "expired" ? "clock" : how === "withdrawn" ? "undo" : "check";

interface NoteProps {
  readonly decided: Decided;
  readonly threadId: string;
  /** When this person pressed, if the other was faster. */
  readonly mineAt?: number | undefined;
  /** The note of this person, which is not lost. */
  readonly kept?: string | undefined;
  onSteer?(): void;
}

export function DecidedNote({ decided, threadId, mineAt, kept, onSteer }: NoteProps) {
  const t = useTexts();
  const times = useTimes();
  const { how, by, at, note, reason, value, args, digest } = decided;
  const words = t.decided[how](by);
  return (
    <section className="card p-5 grid gap-3" aria-live="polite">
      <div className="flex gap-3 items-start">
        {how === "expired" || how === "withdrawn" ? <Icon name={decidedIcon(how)} /> : <Avatar name={by} />}
        <div className="grid gap-1 min-w-0">
          <h3 className="text-base font-semibold wrap-anywhere">
            {mineAt === undefined || mineAt < at ? words : t.decided.before(words, times.lasting(mineAt - at))}
          </h3>
          <p className="dim wrap-anywhere">
            {times.full(at)}
            {digest !== undefined && (
              <>
                {" · "}
                {t.card.digest} <code>{digest.slice(0, 6)}</code>
              </>
            )}
            {note && (
              <>
                {" · “"}
                <SeenText text={note} />”
              </>
            )}
            {reason && (
              <>
                {" · “"}
                <SeenText text={reason} />”
              </>
            )}
          </p>
          {args !== undefined && (
            <p className="args">
              <JsonLine value={args} />
            </p>
          )}
          {value !== undefined && (
            <p className="args">
              <JsonLine value={value} />
            </p>
          )}
          {mineAt !== undefined && <p className="dim">{t.decided.notNeeded}</p>}
        </div>
      </div>
      {kept && (
        <div className="row flex-wrap border-t border-line pt-3">
          <span className="faint">{t.card.note}</span>
          <span className="wrap-anywhere">
            “{kept}” {t.decided.kept}
          </span>
          {onSteer && (
            <button type="button" className="btn btn-sm" onClick={onSteer}>
              <Icon name="steer" />
              {t.decided.asSteer}
            </button>
          )}
        </div>
      )}
      <div>
        <Link className="btn" href={`/threads/${encodeURIComponent(threadId)}`}>
          {t.card.openThread}
        </Link>
      </div>
    </section>
  );
}
