// The state of a thread as an icon and a word. Solid amber asks a person, hollow amber can be continued by one.

import type { PauseType, SessionState } from "@belay/core";
import type { Texts } from "../texts/texts.ts";
import { useTexts } from "../texts/texts.ts";
import { Icon, type IconName } from "./icon.tsx";

export type Standing =
  | "asks"
  | "running"
  | "stopped"
  | "node"
  | "paused"
  | "crashed"
  | "failed"
  | "completed"
  | "terminated"
  | "damaged"
  | "new";

export function standingOf(state: SessionState, pauseType: PauseType | undefined, damaged: unknown): Standing {
  if (damaged) return "damaged";
  switch (state) {
    case "created":
    case "initialized":
      return "new";
    case "running":
    case "completed":
    case "terminated":
      return state;
    case "error":
      return "failed";
    case "paused":
      return pauseType === undefined ? "paused" : paused[pauseType];
    default:
      return state satisfies never;
  }
}

const paused: Readonly<Record<PauseType, Standing>> = {
  tool_interrupt: "asks",
  user_interrupt: "stopped",
  node_interrupt: "node",
  manual: "paused",
  crash: "crashed",
};

const looks: Readonly<Record<Standing, readonly [IconName, string]>> = {
  asks: ["asks", "is-asks"],
  running: ["play", "is-run"],
  stopped: ["stopped", "is-person"],
  node: ["node", "is-person"],
  paused: ["pause", "is-person"],
  crashed: ["crash", "is-person"],
  failed: ["cross", "is-fail"],
  completed: ["check", ""],
  terminated: ["none", ""],
  damaged: ["damaged", "is-fail"],
  new: ["clock", ""],
};

export const standingWord = (t: Texts, standing: Standing): string => t.state[standing];

export function StateWord({ standing }: { standing: Standing }) {
  const t = useTexts();
  const [icon, look] = looks[standing];
  return (
    <span className={`state ${look}`}>
      <Icon name={icon} />
      {standingWord(t, standing)}
    </span>
  );
}

export function StateBadge({ standing, more }: { standing: Standing; more?: string | undefined }) {
  const t = useTexts();
  const [icon, look] = looks[standing];
  return (
    <span className={`badge ${look}`} role="status">
      {/* On solid amber the mark inside the disc is amber as well. */}
      {standing === "asks" ? <Icon name="person" small /> : <Icon name={icon} small />}
      {standingWord(t, standing)}
      {more && <span className="mono more"> {more}</span>}
    </span>
  );
}
