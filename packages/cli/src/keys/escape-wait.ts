/** Over SSH the bytes of one key may come this far apart. */
const REMOTE_MS = 250;

/** How long a lone ESC waits, by the environment: `BELAY_ESC_MS`, else longer under SSH, else the decoder's own time. */
export function escapeWait(env: Readonly<Record<string, string | undefined>>): { readonly escapeMs?: number } {
  const { BELAY_ESC_MS = "", SSH_TTY = "" } = env;
  if (/^\d{1,4}$/.test(BELAY_ESC_MS)) return { escapeMs: Number(BELAY_ESC_MS) };
  return SSH_TTY === "" ? {} : { escapeMs: REMOTE_MS };
}
