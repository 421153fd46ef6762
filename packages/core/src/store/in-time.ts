/**
 * Waits for a server's answer; throws an error with these words if it has not answered in time. The call may still take effect.
 * With `heardAt`, the time of the server's last answer to any caller, a call that waits in line behind others keeps waiting.
 */
export function inTime<T>(answer: Promise<T>, ms: number, words: () => string, heardAt?: () => number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const look = () => {
      const left = heardAt === undefined ? 0 : heardAt() + ms - performance.now();
      if (left <= 0) reject(new Error(words()));
      else timer = setTimeout(look, left);
    };
    timer = setTimeout(look, ms);
  });
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}
