/** What a server says; an error with those words where it has not answered by then. What was asked may happen all the same. */
export function inTime<T>(answer: Promise<T>, ms: number, words: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(words())), ms);
  });
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}
