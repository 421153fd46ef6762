// Short messages about the last event. Read out politely; each disappears after a moment.

import { useSyncExternalStore } from "react";
import { Icon, type IconName } from "./icon.tsx";

export interface Toast {
  readonly id: number;
  readonly words: string;
  readonly icon: IconName;
  readonly isFail?: boolean;
  readonly action?: { readonly words: string; readonly key?: string; readonly run: () => void };
}

const SHOWN_MS = 6_000;
let toasts: readonly Toast[] = [];
let ids = 0;
const readers = new Set<() => void>();

function set(next: readonly Toast[]): void {
  toasts = next;
  for (const reader of readers) reader();
}

/** Returns how to take it away. */
export function toast(given: Omit<Toast, "id">, shownMs = SHOWN_MS): () => void {
  ids += 1;
  const id = ids;
  const gone = () => set(toasts.filter((each) => each.id !== id));
  set([...toasts.slice(-3), { ...given, id }]);
  setTimeout(gone, shownMs);
  return gone;
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (reader) => {
      readers.add(reader);
      return () => readers.delete(reader);
    },
    () => toasts,
  );
  return (
    <section className="toasts" aria-live="polite" aria-label="Messages">
      {shown.map(({ id, words, icon, isFail, action }) => (
        <div key={id} className={`toast ${isFail ? "is-fail" : ""}`}>
          <Icon name={icon} />
          <span className="grow min-w-0 wrap-anywhere">{words}</span>
          {action && (
            <button
              type="button"
              className="btn btn-sm"
              onClick={() => {
                set(toasts.filter((each) => each.id !== id));
                action.run();
              }}
            >
              {action.words}
              {action.key && <kbd className="key">{action.key}</kbd>}
            </button>
          )}
        </div>
      ))}
    </section>
  );
}
