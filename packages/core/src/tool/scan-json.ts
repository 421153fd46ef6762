// Why a text is not the JSON it should be: the first fault and its position. Only read once something is known to be
// wrong (engines differ in whether they name a position); linear, and without recursion, since the text is a model's.

export interface Fault {
  /** Index into the text; its length if the text ends too early. */
  readonly at: number;
  readonly problem: string;
}

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const literal = /true|false|null/y;
const blank = /[ \t\n\r]*/y;

/** The keys seen so far of an object that is open; undefined for an array. */
type Open = Set<string> | undefined;

/** Returns the first fault of `text`: the position at which it stops being JSON, or the second use of a key within one object. */
export function scanJson(text: string): Fault | undefined {
  const open: Open[] = [];
  let at = 0;
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found !== undefined) at += found.length;
    return found;
  };
  const takeString = (): string | undefined => {
    if (text[at] !== '"') return undefined;
    const end = endOfString(text, at) + 1;
    try {
      const found: string = JSON.parse(text.slice(at, end));
      at = end;
      return found;
    } catch {
      return undefined;
    }
  };
  const fault = (problem: string): Fault => ({ at, problem });
  const takeKey = (keys: Set<string>): Fault | undefined => {
    take(blank);
    const start = at;
    const key = takeString();
    if (key === undefined) return fault("expected a key in double quotes");
    if (keys.has(key)) return { at: start, problem: `the key ${JSON.stringify(key)} is there twice` };
    keys.add(key);
    take(blank);
    if (text[at] !== ":") return fault(`expected ":" after the key ${JSON.stringify(key)}`);
    at++;
    return undefined;
  };

  for (;;) {
    take(blank);
    const opener = text[at];
    if (opener === "{" || opener === "[") {
      at++;
      take(blank);
      const closer = opener === "{" ? "}" : "]";
      if (text[at] !== closer) {
        const keys: Open = opener === "{" ? new Set() : undefined;
        open.push(keys);
        const problem = keys && takeKey(keys);
        if (problem !== undefined) return problem;
        continue;
      }
      at++;
    } else if ((takeString() ?? take(number) ?? take(literal)) === undefined) {
      return fault(opener === '"' ? "a text that is not closed or has a bad character begins" : "expected a value");
    }
    // A value has ended: close its parents, or continue with the next one.
    for (;;) {
      take(blank);
      if (open.length === 0) return at < text.length ? fault("expected nothing more") : undefined;
      const keys = open.at(-1);
      const mark = text[at];
      if (mark === (keys ? "}" : "]")) {
        at++;
        open.pop();
        continue;
      }
      if (mark !== ",") return fault(`expected "," or "${keys ? "}" : "]"}"`);
      at++;
      const problem = keys && takeKey(keys);
      if (problem !== undefined) return problem;
      break;
    }
  }
}

/** How many members the objects of a valid JSON text have in all: the colons outside its strings. */
export function countColons(text: string): number {
  const { length } = text;
  let n = 0;
  let inString = false;
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i);
    if (code === 34) inString = !inString;
    else if (inString) i += code === 92 ? 1 : 0;
    else if (code === 58) n++;
  }
  return n;
}

function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 34) return i;
    if (code === 92) i++;
  }
  return text.length;
}
