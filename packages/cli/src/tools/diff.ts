// A unified diff of two texts, line by line, for a person to see before a file is changed. Myers' algorithm, which finds
// the shortest script; texts that have next to nothing in common are shown as all old, then all new.

interface Line {
  readonly kind: " " | "-" | "+";
  readonly text: string;
}

const CONTEXT = 3;
/** Beyond this many differing lines the shortest script is not worth its time. */
const MOST_EDITS = 2_000;

/** Returns nothing if the texts are the same. Has `most` lines at most, and a note with the number of omitted ones. */
export function unifiedDiff(path: string, before: string | undefined, after: string, most = 2_000): string {
  const old = linesOf(before ?? "");
  const fresh = linesOf(after);
  if (before === after) return "";
  const script = scriptOf(old, fresh);
  const lines = [`--- ${before === undefined ? "/dev/null" : `a/${path}`}`, `+++ b/${path}`, ...hunks(script)];
  if (lines.length <= most) return `${lines.join("\n")}\n`;
  return `${lines.slice(0, most).join("\n")}\n… ${lines.length - most} more lines\n`;
}

/** A last line without a line break is another line than one with it. */
function linesOf(text: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  else lines[lines.length - 1] += NO_BREAK;
  return lines;
}

const NO_BREAK = "\n\\ No newline at end of file";

function scriptOf(old: readonly string[], fresh: readonly string[]): Line[] {
  let head = 0;
  while (head < old.length && head < fresh.length && old[head] === fresh[head]) head++;
  let tail = 0;
  while (
    tail < old.length - head &&
    tail < fresh.length - head &&
    old[old.length - 1 - tail] === fresh[fresh.length - 1 - tail]
  ) {
    tail++;
  }
  const same = (texts: readonly string[]): Line[] => texts.map((text) => ({ kind: " ", text }));
  return [
    ...same(old.slice(0, head)),
    ...myers(old.slice(head, old.length - tail), fresh.slice(head, fresh.length - tail)),
    ...same(old.slice(old.length - tail)),
  ];
}

/** For each number of edits, how far each diagonal gets; then back from the end. */
function myers(old: readonly string[], fresh: readonly string[]): Line[] {
  const replaced = (): Line[] => [
    ...old.map((text): Line => ({ kind: "-", text })),
    ...fresh.map((text): Line => ({ kind: "+", text })),
  ];
  if (old.length === 0 || fresh.length === 0) return replaced();
  const most = Math.min(old.length + fresh.length, MOST_EDITS);
  const trace: Map<number, number>[] = [];
  let reach = new Map<number, number>([[1, 0]]);
  for (let edits = 0; edits <= most; edits++) {
    trace.push(new Map(reach));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let x = goesDown(reach, diagonal, edits) ? reach.get(diagonal + 1)! : reach.get(diagonal - 1)! + 1;
      while (x < old.length && x - diagonal < fresh.length && old[x] === fresh[x - diagonal]) x++;
      reach.set(diagonal, x);
      if (x >= old.length && x - diagonal >= fresh.length) return backtrack(trace, old, fresh);
    }
    reach = new Map(reach);
  }
  return replaced();
}

function goesDown(reach: ReadonlyMap<number, number>, diagonal: number, edits: number): boolean {
  return diagonal === -edits || (diagonal !== edits && reach.get(diagonal - 1)! < reach.get(diagonal + 1)!);
}

function backtrack(trace: readonly Map<number, number>[], old: readonly string[], fresh: readonly string[]): Line[] {
  const script: Line[] = [];
  let x = old.length;
  let y = fresh.length;
  for (let edits = trace.length - 1; edits >= 0; edits--) {
    const reach = trace[edits]!;
    const diagonal = x - y;
    const from = goesDown(reach, diagonal, edits) ? diagonal + 1 : diagonal - 1;
    const fromX = reach.get(from)!;
    const fromY = fromX - from;
    while (x > fromX && y > fromY && x > 0 && y > 0) {
      script.push({ kind: " ", text: old[--x]! });
      y--;
    }
    if (edits === 0) break;
    if (x === fromX) script.push({ kind: "+", text: fresh[--y]! });
    else script.push({ kind: "-", text: old[--x]! });
  }
  return script.reverse();
}

/** The changed lines with some around them; changes that are close together in one. */
function hunks(script: readonly Line[]): string[] {
  const out: string[] = [];
  let oldLine = 1;
  let newLine = 1;
  let at = 0;
  while (at < script.length) {
    const change = script.findIndex((line, index) => index >= at && line.kind !== " ");
    if (change < 0) break;
    const from = Math.max(at, change - CONTEXT);
    oldLine += from - at;
    newLine += from - at;
    let to = change;
    for (let index = change, quiet = 0; index < script.length && quiet <= 2 * CONTEXT; index++) {
      if (script[index]!.kind === " ") quiet++;
      else {
        quiet = 0;
        to = index;
      }
    }
    to = Math.min(script.length, to + 1 + CONTEXT);
    const lines = script.slice(from, to);
    const oldCount = lines.filter(({ kind }) => kind !== "+").length;
    const newCount = lines.filter(({ kind }) => kind !== "-").length;
    out.push(`@@ -${range(oldLine, oldCount)} +${range(newLine, newCount)} @@`);
    out.push(...lines.map(({ kind, text }) => kind + text));
    oldLine += oldCount;
    newLine += newCount;
    at = to;
  }
  return out;
}

function range(line: number, count: number): string {
  if (count === 0) return `${line - 1},0`;
  return count === 1 ? String(line) : `${line},${count}`;
}
