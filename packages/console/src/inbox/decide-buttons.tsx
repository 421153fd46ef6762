import { useRef, useState } from "react";
import { useNow } from "../live/use-live.ts";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { useTexts } from "../texts/texts.ts";
import type { useDecision } from "./use-decision.ts";

const HOLD_MS = 600;

interface ApproveProps {
  readonly words: string;
  /** It runs a call again, which is one of several ways, and not the first. */
  readonly isAgain?: boolean;
  readonly destructive: boolean;
  readonly armed: boolean;
  readonly refused: string | undefined;
  onPress(): void;
  onHeld(): void;
}

/** By mouse and key a second press confirms what destroys; by finger it is held. Space and Enter do nothing here. */
export function ApproveButton({ words, isAgain = false, destructive, armed, refused, onPress, onHeld }: ApproveProps) {
  const t = useTexts();
  const [held, setHeld] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const byFinger = useRef(false);
  const release = () => {
    clearTimeout(timer.current);
    setHeld(false);
  };
  return (
    <Button
      className={`btn-approve ${destructive ? "hold" : ""} ${held ? "is-held" : ""}`}
      size="lg"
      look={armed ? "armed" : destructive ? "danger" : isAgain ? undefined : "primary"}
      icon={armed ? "warning" : isAgain ? "again" : "check"}
      keys={armed ? "a" : destructive ? ["a", "a"] : "a"}
      refused={refused}
      onKeyDown={(event) => {
        if (event.key === "Enter" || event.key === " ") event.preventDefault();
      }}
      onKeyUp={(event) => {
        if (event.key === " ") event.preventDefault();
      }}
      onPointerDown={(event) => {
        byFinger.current = event.pointerType === "touch";
        if (!destructive || !byFinger.current) return;
        setHeld(true);
        timer.current = setTimeout(() => {
          setHeld(false);
          onHeld();
        }, HOLD_MS);
      }}
      onPointerUp={release}
      onPointerLeave={release}
      onPointerCancel={release}
      onClick={(event) => {
        // detail 0: pressed by a key or by code, not by a pointer.
        if (event.detail === 0 || (destructive && byFinger.current)) return;
        onPress();
      }}
    >
      {held ? t.card.keepHolding : words}
    </Button>
  );
}

export function Pending({ deciding }: { deciding: ReturnType<typeof useDecision> }) {
  const t = useTexts();
  const now = useNow(250);
  const { state } = deciding;
  if (state.is === "sent") {
    return (
      <div className="row min-h-9" role="status">
        <Icon name="check" />
        {state.open > 0 ? t.card.sentOpen(state.open) : t.card.sent}
      </div>
    );
  }
  const left = state.is === "waiting" ? Math.max(0, Math.ceil((state.until - now) / 1_000)) : 0;
  const what = state.is === "waiting" ? t.card.sends[state.body.type] : "";
  return (
    <div className="decide-row" role="status">
      <Icon name="clock" />
      <span className="medium">{state.is === "waiting" ? t.card.sentIn(what, left) : t.card.sending}</span>
      {state.is === "waiting" && (
        <>
          <Button size="lg" icon="undo" keys="u" onClick={deciding.undo}>
            {t.card.undo}
          </Button>
          <Button size="lg" look="ghost" onClick={deciding.now}>
            {t.card.sendNow}
          </Button>
        </>
      )}
    </div>
  );
}

/** Takes the focus when it appears. */
export function focused(field: HTMLElement | null): void {
  field?.focus();
}

export function Reasons({ onPick }: { onPick(reason: string): void }) {
  const t = useTexts();
  return (
    <div className="row flex-wrap">
      {[t.card.wrongTarget, t.card.notNow].map((words) => (
        <Button key={words} size="lg" onClick={() => onPick(words)}>
          {words}
        </Button>
      ))}
    </div>
  );
}
