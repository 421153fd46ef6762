// The catalogue of what can go wrong in this program that the runtime has no code for: code, message with the values, and
// what to do. People read it in the terminal, models as the result of a call, so it is one text: what, then what to do.

type Words<D> = (d: D) => string;

interface Entry<D> {
  readonly message: Words<D>;
  readonly hint: string;
}

function entry<D>(message: Words<D>, hint: string): Entry<D> {
  return { message, hint };
}

export const problems = {
  ANSWER_UNCLEAR: entry<{ words: string }>(
    (d) => `${JSON.stringify(d.words)} is neither yes nor no.`,
    "Say yes, or no and why; a question is answered with its answer, or --value with JSON.",
  ),
  COMMAND_UNKNOWN: entry<{ command: string; hint: string }>(
    (d) => `There is no command ${JSON.stringify(d.command)}. ${d.hint}`,
    "A prompt of one word goes with -p. See belay --help.",
  ),
  CONFIG_INVALID: entry<{ file: string; problem: string }>(
    (d) => `${d.file} cannot be used: ${d.problem}.`,
    "Correct the file; nothing was changed.",
  ),
  EDIT_AMBIGUOUS: entry<{ path: string; times: number }>(
    (d) => `The old text occurs ${d.times} times in ${d.path}.`,
    "Give more of the lines around it, so that it occurs once, or set all to true.",
  ),
  EDIT_EMPTY: entry<{ path: string }>(
    (d) => `That edit would change nothing in ${d.path}.`,
    "Give an old text that is not empty and a new text that differs from it.",
  ),
  EDIT_NOT_FOUND: entry<{ path: string; near: string }>(
    (d) => `The old text does not occur in ${d.path}${d.near}.`,
    "Read the file again and give the text exactly as it stands there, blanks and line breaks included.",
  ),
  FETCH_FAILED: entry<{ url: string; reason: string }>(
    (d) => `${d.url} could not be fetched: ${d.reason}.`,
    "Check the address; try again later or use another source.",
  ),
  FETCH_FORBIDDEN: entry<{ url: string; reason: string }>(
    (d) => `${d.url} may not be fetched: ${d.reason}.`,
    "Only public http and https addresses may be fetched. A person can allow one more by BELAY_FETCH_ALLOW=host:port.",
  ),
  FILE_EXISTS: entry<{ path: string }>(
    (d) => `${d.path} is there already.`,
    "Use edit to change a part of it, or set overwrite to true to replace all of it.",
  ),
  FILE_TOO_LARGE: entry<{ path: string; bytes: number; most: number }>(
    (d) => `${d.path} has ${d.bytes} bytes; at most ${d.most} can be handled.`,
    "Use search, or a shell command that shows a part of it.",
  ),
  FOLDER_MISSING: entry<{ folder: string }>((d) => `${d.folder} is not a folder.`, "Give one that is there."),
  ID_AMBIGUOUS: entry<{ what: string; given: string; count: number }>(
    (d) => `${JSON.stringify(d.given)} is the beginning of ${d.count} ${d.what} ids.`,
    "Give more of it.",
  ),
  ID_UNKNOWN: entry<{ what: string; given: string }>(
    (d) => `There is no ${d.what} ${JSON.stringify(d.given)}.`,
    "belay threads, belay inbox, belay rules and belay mcp list what there is.",
  ),
  INPUT_TOO_LONG: entry<{ most: number }>(
    (d) => `The input is longer than ${d.most} bytes.`,
    "Put it into a file of the folder and let the agent read it.",
  ),
  MCP_DOWN: entry<{ server: string; reason: string }>(
    (d) => `The MCP server ${d.server} is not there: ${d.reason}.`,
    "Go on without its tools, or ask the person to look at it; the next call tries to reach it again.",
  ),
  MCP_FAILED: entry<{ server: string; tool: string; reason: string }>(
    (d) => `${d.tool} of the MCP server ${d.server} failed: ${d.reason}`,
    "Correct the arguments, or do it in another way.",
  ),
  MCP_LOGIN: entry<{ server: string }>(
    (d) => `The MCP server ${d.server} wants to know who you are.`,
    "Sign in with: belay mcp login and the name of the server.",
  ),
  MODEL_KEY: entry<{ provider: string; variable: string }>(
    (d) => `A model of ${d.provider} needs a key.`,
    "Set it in the environment (ANTHROPIC_API_KEY or OPENAI_API_KEY), or choose --model demo, which needs none.",
  ),
  MODEL_SERVER: entry<{ server: string; problem: string }>(
    (d) => `The model server ${d.server} ${d.problem}.`,
    "Start it, and give --base-url as http://host:port/v1 and --model as one of its models.",
  ),
  MODEL_UNKNOWN: entry<{ model: string }>(
    (d) => `There is no provider for the model ${JSON.stringify(d.model)}.`,
    "Give anthropic/name, openai/name, ollama/name, lmstudio/name or demo; with --base-url, a name of that server.",
  ),
  NO_PROMPT: entry<Record<string, never>>(
    () => "There is no prompt.",
    'Give one with -p "…", or by a pipe, or a thread to go on with: --continue, --resume <id>. The app needs a terminal.',
  ),
  NO_THREAD: entry<{ folder: string }>(
    (d) => `There is no thread of ${d.folder} to go on with.`,
    "Begin one without --continue; belay threads lists those of other folders.",
  ),
  OPTION_NOT_JSON: entry<{ option: string; reason: string }>(
    (d) => `${d.option} is not JSON: ${d.reason}.`,
    `Write it like '{"path":"a.txt"}', in quotes for the shell.`,
  ),
  PATH_MISSING: entry<{ path: string }>((d) => `There is no ${d.path}.`, "List the folder to see what is there."),
  PATH_NOT_FILE: entry<{ path: string }>((d) => `${d.path} is not a plain file.`, "Give the path of a file of text."),
  PATH_NOT_TEXT: entry<{ path: string }>(
    (d) => `${d.path} is not text in UTF-8.`,
    "Leave it as it is, or look at it with a shell command.",
  ),
  PATH_OUTSIDE: entry<{ path: string; root: string }>(
    (d) => `${d.path} lies outside of ${d.root}.`,
    "Only what is in this folder can be read or written, also through links.",
  ),
  PATH_PROTECTED: entry<{ path: string }>(
    (d) => `${d.path} belongs to Git itself and is not written to.`,
    "Use git commands for what concerns the repository.",
  ),
  PATTERN_INVALID: entry<{ pattern: string; reason: string }>(
    (d) => `${JSON.stringify(d.pattern)} is not a regular expression: ${d.reason}.`,
    "Correct it, or escape its special characters to find them as they are.",
  ),
  PATTERN_SLOW: entry<{ pattern: string; path: string }>(
    (d) => `${JSON.stringify(d.pattern)} takes too long on ${d.path}.`,
    "Use a simpler pattern, without repetitions inside repetitions.",
  ),
} as const;

export type ProblemCode = keyof typeof problems;
export type ProblemDetails<C extends ProblemCode> = Parameters<(typeof problems)[C]["message"]>[0];

export class Problem extends Error {
  override readonly name = "Problem";
  readonly code: ProblemCode;
  readonly hint: string;

  constructor(code: ProblemCode, message: string, hint: string, cause?: unknown) {
    super(hint === "" ? message : `${message} ${hint}`, cause === undefined ? undefined : { cause });
    this.code = code;
    this.hint = hint;
  }
}

export function problem<C extends ProblemCode>(code: C, details: ProblemDetails<C>, cause?: unknown): Problem {
  const { message, hint } = problems[code] as Entry<ProblemDetails<C>>;
  return new Problem(code, message(details), hint, cause);
}
