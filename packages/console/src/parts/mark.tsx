// The mark is a belay plate: a disc with two slots and the rope through it. It also reads as a pause.

export function Mark({ size = 24, hole = "var(--bg)" }: { size?: number; hole?: string }) {
  return (
    <svg width={size} height={size} viewBox="0 0 24 24" fill="none" aria-hidden="true">
      <MarkShape hole={hole} />
    </svg>
  );
}

/** The mark alone, for use inside another drawing. */
export function MarkShape({ hole }: { hole: string }) {
  return (
    <>
      <path d="M9 1v4M15 19v4" stroke="currentColor" strokeWidth="2.5" strokeLinecap="round" />
      <circle cx="12" cy="12" r="8" fill="currentColor" />
      <path d="M9 9v6M15 9v6" stroke={hole} strokeWidth="2.5" strokeLinecap="round" />
    </>
  );
}

export function Word() {
  return (
    <svg
      className="word"
      height="20"
      viewBox="0 0 52 20"
      fill="none"
      stroke="currentColor"
      strokeWidth="2.2"
      strokeLinecap="round"
      strokeLinejoin="round"
      role="img"
      aria-label="belay"
    >
      <path d="M2 2v12" />
      <circle cx="6" cy="10" r="4" />
      <path d="M14 10h8a4 4 0 1 0-1.4 3.05" />
      <path d="M26.5 2v9.5A2.5 2.5 0 0 0 29 14" />
      <circle cx="35.5" cy="10" r="4" />
      <path d="M39.5 6v8" />
      <path d="M43 6v4a3.5 3.5 0 0 0 7 0V6M50 10v4.5a3.5 3.5 0 0 1-3.5 3.5H45" />
    </svg>
  );
}

/** The rope of empty pages: slack, not begun, or filtered away. */
export function Rope({ kind }: { kind: "slack" | "not-begun" | "filtered" }) {
  return (
    <svg
      className="art"
      width="96"
      height="72"
      viewBox="0 0 96 72"
      fill="none"
      stroke="currentColor"
      strokeWidth="2"
      strokeLinecap="round"
      aria-hidden="true"
    >
      {kind === "slack" && (
        <>
          <path d="M34 2v26" />
          <circle cx="40" cy="32" r="19" />
          <path d="M34 25v14M46 25v14" strokeWidth="5" />
          <path d="M46 36v18c0 12 14 14 20 8s6-14 12-14 6 8 12 8" />
        </>
      )}
      {kind === "not-begun" && (
        <>
          <path d="M8 60c16 0 12-44 28-44s10 32 24 32 8-24 28-24" strokeDasharray="1 6" />
          <circle cx="8" cy="60" r="4" fill="currentColor" />
        </>
      )}
      {kind === "filtered" && (
        <>
          <path d="M16 20h64M28 36h40" strokeDasharray="1 6" />
          <path d="M40 52h16" />
        </>
      )}
    </svg>
  );
}
