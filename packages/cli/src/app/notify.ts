// Notifies a person that looks elsewhere: a notification if the terminal has them, else the bell.

type Environment = Readonly<Record<string, string | undefined>>;

const WITH_NOTIFICATIONS = /^(?:iTerm\.app|WezTerm|ghostty|WarpTerminal)$/;

/** The bytes for it; none with BELAY_NOTIFY=off. */
export function notification(words: string, { BELAY_NOTIFY, TERM_PROGRAM = "", TERM = "" }: Environment): string {
  if (BELAY_NOTIFY === "off" || TERM === "dumb") return "";
  const shows = WITH_NOTIFICATIONS.test(TERM_PROGRAM) || TERM === "xterm-kitty" || TERM === "xterm-ghostty";
  return shows ? `\u001b]9;${words}\u0007` : "\u0007";
}
