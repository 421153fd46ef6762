/** One round of the event loop. */
export const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export async function ticks(n: number): Promise<void> {
  for (let i = 0; i < n; i++) await tick();
}
