// Options that nobody reads are left alone: people spread objects that have more in them. One that is nearly the name of
// another was meant to be that, and without it a tool may do what its author thought a person would be asked first.

export interface Slip {
  readonly option: string;
  readonly meant: string;
}

/** The first such option. */
export function misspelt(given: object, known: Readonly<Record<string, true>>): Slip | undefined {
  for (const [option, value] of Object.entries(given)) {
    if (value === undefined || Object.hasOwn(known, option)) continue;
    const meant = Object.keys(known).find((each) => !Object.hasOwn(given, each) && isNear(option, each));
    if (meant !== undefined) return { option, meant };
  }
  return undefined;
}

export function slipText({ option, meant }: Slip): string {
  return `there is no option ${option}; ${meant} was meant`;
}

/** A letter or two too few or too many; in long names, which are nobody else's by chance, also others. */
function isNear(name: string, known: string): boolean {
  const [a, b] = [name.toLowerCase(), known.toLowerCase()].sort((one, two) => one.length - two.length) as [
    string,
    string,
  ];
  if (a === b) return true;
  if (a.length < 4 || b.length - a.length > 2) return false;
  return isWithin(a, b) || (a.length >= 10 && distance(a, b) <= 2);
}

/** All letters of `a` come in `b`, in this order. */
function isWithin(a: string, b: string): boolean {
  let found = 0;
  for (const letter of b) if (letter === a[found]) found += 1;
  return found === a.length;
}

/** How many letters must be changed, left out or put in. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length]!;
}
