// What the environment says of the terminal.

type Environment = Readonly<Record<string, string | undefined>>;

/** A terminal that obeys nothing would show what others obey. */
export function isDumb({ TERM }: Environment): boolean {
  return TERM === "dumb";
}

/** BELAY_ESC_MS: for lines so slow that an arrow key comes in pieces. */
export function escapeWait({ BELAY_ESC_MS = "" }: Environment): { readonly escapeMs?: number } {
  return /^\d{1,4}$/.test(BELAY_ESC_MS) ? { escapeMs: Number(BELAY_ESC_MS) } : {};
}

/** Asks for the colour of the background, where a terminal may know it; else nothing. */
export function backgroundQuestion({ TERM = "", BELAY_THEME }: Environment): string {
  return BELAY_THEME === undefined && /^(?:xterm|alacritty|foot|rxvt|tmux)/.test(TERM) ? "\u001b]11;?\u0007" : "";
}

/** A terminal that does not know says 0. */
export function sizeOf({ columns, rows }: { readonly columns: number; readonly rows: number }) {
  return { columns: columns || 80, rows: rows || 24 };
}
