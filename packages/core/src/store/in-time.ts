/**
 * What a server says; an error with those words where it has not answered by then. What was asked may happen all the same.
 * With `heardAt`, when it last answered anybody, who only waits in line behind others goes on waiting.
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
