/** A whole number from 0 below `n`; the same seed throws the same numbers. */
export type Dice = (n: number) => number;

export function diceOf(seed: number): Dice {
  let state = seed | 0;
  return (n) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % n;
  };
}

export function oneOf<T>(dice: Dice, things: readonly T[]): T {
  return things[dice(things.length)]!;
}

/** Returns a seed for one place: each call for that place returns the same. */
export function seedOf(text: string): number {
  let hash = 2166136261;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  return hash;
}
