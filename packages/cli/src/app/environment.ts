// Reads the abilities of the terminal from the environment.

type Environment = Readonly<Record<string, string | undefined>>;

/** A terminal without escape sequences would show them as text. */
export function isDumb({ TERM }: Environment): boolean {
  return TERM === "dumb";
}

/** Asks for the colour of the background if a terminal may know it; otherwise does nothing. */
export function backgroundQuestion({ TERM = "", BELAY_THEME }: Environment): string {
  return BELAY_THEME === undefined && /^(?:xterm|alacritty|foot|rxvt|tmux)/.test(TERM) ? "\u001b]11;?\u0007" : "";
}

/** Whether a terminal of this name may be asked for the kitty keyboard protocol: others would show the question. */
export function mayKnowKitty({ TERM = "" }: Environment): boolean {
  return /^(?:xterm|alacritty|foot|ghostty|wezterm|contour|rio|tmux)/.test(TERM);
}

/** A terminal that does not know says 0. */
export function sizeOf({ columns, rows }: { readonly columns: number; readonly rows: number }) {
  return { columns: columns || 80, rows: rows || 24 };
}
