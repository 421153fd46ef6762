// Work that has until a time. A timer and a listener of our own, held by this frame: Node 20 may collect a signal made by
// AbortSignal.any(), and the timeout behind it, before it fires.

/**
 * Rejects with the signal's reason as soon as it fires, and with `tooLate()` when the time is up; `work` is aborted by its own
 * signal, and is not waited for. Nothing is left behind.
 */
export async function within<T>(
  ms: number,
  signal: AbortSignal,
  tooLate: () => Error,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const limit = new AbortController();
  const over = new Promise<never>((_, reject) => {
    limit.signal.addEventListener("abort", () => reject(limit.signal.reason), { once: true });
  });
  const stop = () => limit.abort(signal.reason);
  const timer = setTimeout(() => limit.abort(tooLate()), ms);
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work(limit.signal), over]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}
