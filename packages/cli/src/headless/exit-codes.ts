// The exit codes of the program. Documented in docs/cli.md; scripts rely on them.

export const EXIT = {
  /** The run was completed, or the command succeeded. */
  done: 0,
  /** The run failed, or the command could not be done. */
  failed: 1,
  /** It was called in a way that means nothing. */
  usage: 2,
  /** The run is paused and waits for a person. */
  waiting: 3,
  /** Its terminal was closed; --continue resumes the run. */
  hungUp: 129,
  /** The run was interrupted, by Ctrl-C here or from another terminal; it can be resumed. */
  interrupted: 130,
  /** The reader of our output went away. */
  pipe: 141,
  /** It got SIGTERM; --continue resumes the run. */
  terminated: 143,
} as const;

/** Of output that cannot be written: its reader went away, or there is no room for it. */
export function exitOfLost(error: { readonly code?: string }): number {
  return error.code === "EPIPE" ? EXIT.pipe : EXIT.failed;
}
