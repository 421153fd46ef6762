interface Waits {
  /** The time of the server's last answer to any caller: a call that waits in line behind others keeps waiting. */
  readonly heardAt?: () => number;
  /** The wait keeps no process alive. */
  readonly aside?: true | undefined;
}

/** Waits for a server's answer; throws an error with these words if it has not answered in time. The call may still take effect. */
export function inTime<T>(answer: Promise<T>, ms: number, words: () => string, waits: Waits = {}): Promise<T> {
  const { heardAt, aside } = waits;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const wait = (left: number) => {
      timer = setTimeout(look, left);
      if (aside) timer.unref();
    };
    const look = () => {
      const left = heardAt === undefined ? 0 : heardAt() + ms - performance.now();
      if (left <= 0) reject(new Error(words()));
      else wait(left);
    };
    wait(ms);
  });
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}
