// A shell command as far as rules need to read it. Quotes are not read: a separator inside of quotes counts as one, so a
// command is at most taken for more than it is, and asks.

/** Other commands, files and lines may be hidden behind these: no pattern speaks of a command that has one. */
const HIDDEN = /[()<>`\n\r]/;
const SEPARATOR = /[;&|]+/;

export interface CommandParts {
  /** The commands, one after another or side by side, without the blanks around each. */
  readonly parts: readonly string[];
  /** The first character that no pattern may cross and that begins no other command; undefined if there is none. */
  readonly hidden: string | undefined;
}

export function commandParts(command: string): CommandParts {
  const parts = command
    .split(SEPARATOR)
    .map((part) => part.trim())
    .filter((part) => part !== "");
  return { parts, hidden: HIDDEN.exec(command)?.[0] };
}

/** Programs that run the command in their arguments: their first words do not name the program that runs. */
const RUNS_OTHERS = new Set(
  "sudo doas env xargs sh bash zsh dash fish eval exec command nohup time nice timeout ssh find awk node deno python python3 ruby perl php".split(
    " ",
  ),
);
/** Words before the name of the program that runs. */
const AND_THEN = new Set(["run", "exec", "compose", "dlx", "x"]);
const WORD = /^[A-Za-z][A-Za-z0-9:_-]*$/;
const LONGEST = 3;

/**
 * The beginning of a command that may stand for others like it, as a pattern: `npm test *`; undefined where none is safe to
 * offer.
 */
export function commandPrefix(command: string): string | undefined {
  const { parts, hidden } = commandParts(command);
  const [only = ""] = parts;
  if (hidden !== undefined || parts.length !== 1 || only !== command.trim()) return undefined;
  const words = only.split(/\s+/);
  const [program = ""] = words;
  if (RUNS_OTHERS.has(program) || !WORD.test(program)) return undefined;
  let length = 1;
  while (length < LONGEST && WORD.test(words[length] ?? "") && (length === 1 || AND_THEN.has(words[length - 1]!)))
    length += 1;
  // `npm run` alone would stand for every script.
  if (length < 2 || AND_THEN.has(words[length - 1]!)) return undefined;
  const prefix = words.slice(0, length).join(" ");
  // Only blanks of one kind: the pattern must match the command it was made of.
  return `${only} `.startsWith(`${prefix} `) ? `${prefix} *` : undefined;
}
