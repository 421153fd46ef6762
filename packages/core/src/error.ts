// The catalogue of all errors. `when` and `hint` are printed to docs/errors.md.
//
// This file is long and still one piece: it is a list, in alphabetical order.

export interface CatalogueEntry<D> {
  /** The situation in which it happens, for the docs. */
  readonly when: string;
  readonly message: (d: D) => string;
  /** The next action for the person that reads the error. */
  readonly hint: string;
  /** Returns a better hint for these values, if there is one. The docs print `hint`. */
  readonly hintFor?: ((d: D) => string | undefined) | undefined;
}

function entry<D = Record<string, never>>(
  when: string,
  message: (d: D) => string,
  hint: string,
  hintFor?: (d: D) => string | undefined,
): CatalogueEntry<D> {
  return { when, message, hint, hintFor };
}

/** Shortens a given value, which may have any length. */
function brief(value: string, most = 100): string {
  return value.length <= most ? value : `${value.slice(0, most)}… (${value.length} characters)`;
}

/** Returns a hint without the rule for names, unless the name is the problem. */
function aboutDefinition(problem: string): string | undefined {
  return problem.startsWith("its name is ") ? undefined : "Correct the definition.";
}

/** The most characters of an error message that are recorded. A message may quote a value of any size. */
const MOST_WORDS = 16_384;

/** Returns a refused value as its caller would write it, shortened. */
export function shown(value: unknown): string {
  if (typeof value !== "string" && (typeof value !== "object" || value === null)) return brief(String(value));
  try {
    return brief(JSON.stringify(value));
  } catch {
    return brief(String(value));
  }
}

/** Hints by HTTP status of the provider. Each needs a correction: the provider would refuse the same call again. */
const MODEL_HINTS: Readonly<Record<number, string>> = {
  400: "The provider does not accept the request: look at the model's settings, tools and output schema. Nothing recorded is lost; when it is corrected, resume().",
  401: "The provider does not accept the API key: set the right one. Nothing recorded is lost; then resume().",
  402: "The account at the provider has no credit left. Add credit, then resume(); nothing recorded is lost.",
  403: "The API key may not use this model: use another key or model. Nothing recorded is lost; then resume().",
  404: "The provider does not have this model, or the URL is wrong: correct it. Nothing recorded is lost; then resume().",
};

type Values = string | number | boolean | undefined | null;

export const catalogue = {
  AGENT_FAILED: entry<{ agent: string; reason: string }>(
    "An agent's own code threw, outside of any model or tool call.",
    (d) => `Agent ${d.agent} failed: ${d.reason}`,
    "Nothing recorded is lost. Correct the code and resume().",
  ),
  AGENT_INVALID: entry<{ agent: string; problem: string }>(
    "agent(…) was given something it cannot work with.",
    (d) => `Agent ${d.agent} is not valid: ${d.problem}.`,
    "Correct the definition. Names are 1–64 letters, digits, _ or -, not beginning with a digit or -.",
    (d) => aboutDefinition(d.problem),
  ),
  AGENT_MISMATCH: entry<{ threadId: string; recorded: string; given: string }>(
    "A thread is opened with another agent than the one that began it.",
    (d) => `Thread ${d.threadId} belongs to agent ${d.recorded}, not to ${d.given}.`,
    "Open it with the agent that began it, or start a new thread.",
  ),
  AGENT_UNKNOWN: entry<{ agent: string; known: string }>(
    "A thread or a call names an agent that this runner was not given.",
    ({ agent, known }) => {
      if (known !== "") return `This runner has no agent ${agent}; it has ${known}.`;
      const missed = agent === "" ? "a new thread needs the name of its agent" : `it cannot run ${agent}`;
      return `This runner was made without agents: ${missed}.`;
    },
    "Pass the agent in createRunner({ agents }).",
    ({ known }) =>
      known === ""
        ? "Leave the input to a worker with send() or enqueue(), and name the agent of a new thread; or pass agents to createRunner()."
        : undefined,
  ),
  ALREADY_RUNNING: entry<{ threadId: string; runId: string }>(
    "run() or resume() while this session is running.",
    (d) => `Thread ${d.threadId} is running (run ${d.runId}).`,
    "Await the run's result, or interrupt it first.",
  ),
  ANSWER_AMBIGUOUS: entry<{ threadId: string; open: number }>(
    "resume({ input }) should answer the open question, and there is none, or more than one.",
    (d) => `The input could answer ${d.open} open requests of thread ${d.threadId}.`,
    "Answer each by its id: resume({ answers: { [id]: respond(…) } }). Nothing was changed.",
  ),
  ANSWER_EXPIRED: entry<{ id: string; expiredAt: string }>(
    "An answer came after the request's expiresAt; or, inside a tool, no answer came in time.",
    (d) => `Request ${d.id} expired at ${d.expiredAt}.`,
    "The request's onExpire applies now.",
  ),
  ANSWER_FORBIDDEN: entry<{ id: string; by: string; approvers: string }>(
    "The sender of an answer is not among the request's approvers.",
    (d) => `Request ${d.id} cannot be answered by ${d.by}; it waits for ${d.approvers}.`,
    "Answer as one of them (by: …); groups are given in createRunner({ groups }). The request is still open.",
  ),
  ANSWER_INVALID: entry<{ id: string; problem: string }>(
    "An answer does not fit its request.",
    (d) => `The answer to ${d.id} cannot be taken: ${d.problem}.`,
    "Use approve(), reject() or respond() with a value of the request's schema. The request is still open.",
  ),
  ANSWER_TAKEN: entry<{ id: string; by: string; at: string; how: string }>(
    "A request was answered before.",
    (d) => `Request ${d.id} was already ${d.how} by ${d.by} at ${d.at}.`,
    "Nothing to do: the first answer counts.",
  ),
  ANSWER_UNKNOWN: entry<{ id: string }>(
    "An answer names a request that was never raised.",
    (d) => `There is no request ${d.id}.`,
    "List the open ones with runner.inbox(); each takes one answer.",
  ),
  ANSWER_WITHDRAWN: entry<{ id: string; at: string }>(
    "An answer to a request that was withdrawn: the person said something else, or stopped the run.",
    (d) => `Request ${d.id} was withdrawn at ${d.at}.`,
    "Nothing to do: the requested action will not happen.",
  ),
  ASK_DETACHED: entry<{ address: string }>(
    "ctx.ask in a tool that was called on its own, outside any run.",
    (d) => `No person can be asked: ${d.address} is part of no run.`,
    "Run the tool through an agent; in a test hand in a context with an ask of your own.",
  ),
  CONTEXT_INVALID: entry<{ agent: string; problem: string }>(
    "An agent's `context` function made messages that no provider would take.",
    (d) => `The context of agent ${d.agent} is not valid: ${d.problem}.`,
    "Keep each call together with its result, and at least one message; sanitizeMessages() drops the rest.",
  ),
  CONTEXT_OVERFLOW: entry<{ model: string; reason: string }>(
    "The provider refuses the request because the history does not fit the model's context; or instructions and tools alone fill the token budget of an agent.",
    (d) => `The history does not fit the context of ${d.model}: ${d.reason}.`,
    "Shorten the thread, or use a model with a larger context, or raise the agent's maxTokens; then resume(). Nothing recorded is lost.",
  ),
  CURSOR_INVALID: entry<{ problem: string }>(
    "A list was asked for with a cursor that is not one of its own.",
    (d) => `That is not a cursor of this list: ${d.problem}.`,
    "Pass `next` of the page before, as it was, with the same filter and by a runner of the same tenant; or leave it out, to begin with the first page.",
  ),
  DRIFT_REFUSED: entry<{ threadId: string; changes: string; report: object }>(
    'resume({ drift: "refuse" }) and the agent is not the one that the run began with.',
    (d) => `The agent of thread ${d.threadId} has changed since the run began: ${d.changes}.`,
    'Resume with the agent as it was, or with drift: "warn". Nothing was changed.',
  ),
  ENGINE_AWAY: entry<{ engine: string; reason: string }>(
    "an engine that dispatches threads did not confirm a wake",
    (d) => `${d.engine} did not confirm a wake: ${brief(d.reason, 300)}`,
    "Nothing is lost: the thread is in the store, and the sweep of a worker finds it. Check that the engine runs and can be reached.",
  ),
  FENCED: entry<{ threadId: string; owner?: Values }>(
    "Another process has taken the thread over, or this one stood still for longer than its lease and a stop came, or the store has lost the thread; this one may no longer write.",
    (d) =>
      `Thread ${d.threadId} was taken over${d.owner ? ` by ${d.owner}` : ", or is gone"}; this process wrote nothing more.`,
    "Follow the thread with runner.events(): its new owner continues it. If runner.threads() shows no owner, resume it.",
  ),
  FORK_POINT: entry<{ threadId: string; point: string; head: number }>(
    "A fork at a point that the thread does not have.",
    (d) => `Thread ${d.threadId} cannot be forked at ${d.point}: it goes from 0 to ${d.head}.`,
    "Pass either `at` (a seq, or the id of a message) or `before` (the id of a message); runner.history() lists them.",
  ),
  HANDLE_INVALID: entry<{ problem: string }>(
    "runner.resume() was given something that is not a handle.",
    (d) => `That is not a handle: ${d.problem}.`,
    "Pass the `handle` of an interrupted result, as it was, or parsed from its JSON.",
  ),
  HOOK_FAILED: entry<{ hook: string; agent: string; reason: string }>(
    "A hook threw, or gave something that cannot be used.",
    (d) => `Hook ${d.hook} of agent ${d.agent} failed: ${d.reason}`,
    "If the hook runs before an operation, that operation did not happen: correct the hook and resume(), or run again. If it runs after one, that operation is recorded unchanged. The values given to a hook are frozen: return the changes.",
  ),
  GRAPH_INVALID: entry<{ graph: string; problem: string }>(
    "A graph cannot be compiled; or a branch chose a key that is not a node.",
    (d) => `Graph ${d.graph} is not valid: ${d.problem}.`,
    "Every node needs a path from START and one to END; edges and branches name declared nodes only. Names are 1–64 letters, digits, _ or -, not beginning with a digit or -.",
  ),
  GRAPH_STEPS: entry<{ graph: string; maxSteps: number; node: string }>(
    "The nodes of a graph were run more often than its maxSteps, by going round in a cycle.",
    (d) => `Graph ${d.graph} has run ${d.maxSteps} nodes, and ${d.node} would be the next.`,
    "Let a branch leave the cycle, or compile with a greater maxSteps and resume(): finished nodes are kept.",
  ),
  INPUT_EMPTY: entry<{ threadId: string }>(
    "run() without any text or file.",
    (d) => `The input for thread ${d.threadId} is empty.`,
    "Pass some text. To continue without new input use resume().",
  ),
  INPUT_INVALID: entry<{ problem: string }>(
    "An input is neither text nor a list of texts nor messages of a person.",
    (d) => `The input cannot be used: ${d.problem}.`,
    "Pass a string, an array of strings, or messages with role user.",
  ),
  INPUT_TOO_LARGE: entry<{ bytes: number; most: number }>(
    "An input takes more bytes than the runner's maxBytes.",
    (d) => `The input takes ${d.bytes} bytes; at most ${d.most} are taken.`,
    "Nothing was changed. Keep large files elsewhere and give their URL, or raise maxBytes in createRunner().",
  ),
  INPUT_WITHDRAWN: entry<{ threadId: string; ids: string }>(
    "An input was taken back before it was consumed.",
    (d) => `The inputs ${d.ids} of thread ${d.threadId} were taken back.`,
    "Nothing to do: they have no effect.",
  ),
  INVALID_PAUSE_TYPE: entry<{ threadId: string; pauseType: string; needed: string }>(
    "resumeWithInput() on a thread that was not paused by a person, or handle() after a crash.",
    (d) => `Thread ${d.threadId} is paused by ${d.pauseType}, not by ${d.needed}.`,
    "Use resume(), with answers if a tool asked for them.",
  ),
  INVALID_STATE: entry<{ threadId: string; state: string; action: string }>(
    "An operation that the thread's state does not allow.",
    (d) => `Thread ${d.threadId} is ${d.state}: ${d.action} is not possible.`,
    "Look at session.state first: a completed thread takes run(input), a paused one resume(), a terminated one neither.",
  ),
  INVALID_STATE_TRANSITION: entry<{ from: string; to: string }>(
    "A move that the lifecycle does not have.",
    (d) => `A thread cannot go from ${d.from} to ${d.to}.`,
    "The moves are listed in docs/language.md under lifecycle.",
  ),
  JOURNAL_CORRUPT: entry<{ threadId: string; seq: number; problem: string }>(
    "A record cannot be read back as it was written.",
    (d) => `The journal of thread ${d.threadId} is damaged at ${d.seq}: ${d.problem}.`,
    "Nothing was overwritten. Restore the store from a backup, or continue from the readable part with runner.repair().",
  ),
  JOURNAL_VERSION: entry<{ threadId: string; seq: number; found: number; known: number }>(
    "A record was written by a newer version of Belay.",
    (d) => `The journal of thread ${d.threadId} has version ${d.found} at ${d.seq}; this program knows ${d.known}.`,
    "Update @belay/core; nothing was overwritten.",
  ),
  KEY_REQUIRED: entry<{ address: string; open: string }>(
    "A second ctx.ask without a key while another one is open: after a restart Belay could not tell which is which.",
    (d) => `${d.address} asks without a key while ${d.open} is open.`,
    "Give each a key: ctx.ask(request, { key }).",
  ),
  KEY_REUSED: entry<{ address: string; key: string }>(
    "Two steps or asks of one call have the same key.",
    (d) => `${d.address} uses the key ${JSON.stringify(d.key)} twice.`,
    "Keys are unique in a call; in a loop add the index.",
  ),
  LABELS_INVALID: entry<{ threadId: string; problem: string }>(
    "A title or a label that a thread cannot have, or too many labels.",
    (d) => `Thread ${d.threadId} cannot be labelled so: ${d.problem}.`,
    "A title has 1–256 characters. A thread has at most 16 labels, each with a key of 1–64 and a value of 1–256 characters; null removes one.",
  ),
  LATE_LOST: entry<{ threadId: string; callId: string; tool: string; reason: string }>(
    "A call that was left behind has ended, and the runner was closed before the store took its result.",
    (d) => `The late result of call ${d.callId} of ${d.tool} is lost to thread ${d.threadId}: ${d.reason}`,
    "The late result was lost; only this log entry has it. The thread shows the call as interrupted. Check its effect before repeating it.",
  ),
  MAX_TOKENS: entry<{ model: string; turn: number }>(
    "The model's answer was cut at its output limit.",
    (d) => `The answer of ${d.model} in turn ${d.turn} was cut at its token limit.`,
    "The text so far is kept. resume() lets the model continue; settings.maxOutputTokens raises the limit.",
  ),
  MAX_TURNS: entry<{ agent: string; maxTurns: number }>(
    "The model still asks for tools after the agent's last turn.",
    (d) => `Agent ${d.agent} used all of its ${d.maxTurns} turns.`,
    "resume() grants as many again; maxTurns on the agent raises the limit.",
  ),
  MODEL_FAILED: entry<{ model: string; attempts: number; reason: string; status?: number | undefined }>(
    "A model call failed and was not worth another try, or failed again each time.",
    (d) => `Model ${d.model} failed after ${d.attempts} ${d.attempts === 1 ? "try" : "tries"}: ${d.reason}`,
    "Nothing recorded is lost: resuming repeats only this call.",
    (d) => MODEL_HINTS[d.status ?? 0],
  ),
  MODEL_TIMEOUT: entry<{ model: string; phase: string; ms: number }>(
    "A model call exceeded one of the agent's timeouts.",
    (d) => `Model ${d.model} exceeded ${d.phase} (${d.ms} ms).`,
    "resume() repeats the call; `timeouts` on the agent sets the limits.",
  ),
  NEED_RESUME: entry<{ threadId: string; pauseType: string }>(
    "run(input) while the thread waits for an answer or stands at a breakpoint.",
    (d) => `Thread ${d.threadId} is paused by ${d.pauseType} and needs resume().`,
    "Answer the open requests (session.interrupts) with resume({ answers }). To say something else instead call resume({ input }). If another process may have resumed the thread, runner.open() reads it again.",
  ),
  NOT_SERIALIZABLE: entry<{ what: string; path: string; found: string }>(
    "A value that must be recorded is not plain JSON.",
    (d) => `${d.what} cannot be recorded: ${d.found} at ${d.path}.`,
    "Give strings, finite numbers, booleans, null, arrays and plain objects; dates as ISO text, bytes as base64.",
  ),
  OPTION_INVALID: entry<{ option: string; value: string; needed: string }>(
    "An option has a value that means nothing.",
    (d) => `Option ${d.option} is ${brief(d.value)}; it must be ${d.needed}.`,
    "Correct the option; nothing was changed.",
  ),
  OPTION_UNKNOWN: entry<{ option: string; where: string; nearest: string | undefined; known: string }>(
    "An option object has a key that is not the name of an option. An undefined value counts as absent.",
    (d) => `There is no option ${brief(d.option)} in ${d.where}.`,
    "Correct the name; the hint of the error has the nearest one and all others. Nothing was changed.",
    (d) => `${d.nearest === undefined ? "" : `Did you mean ${d.nearest}? `}The options are ${d.known}.`,
  ),
  OUTPUT_INVALID: entry<{ agent: string; problem: string; ended?: "by a call" | "by its schema" }>(
    "An agent with an `output` schema ended with an answer, or a call of it with exit(), that does not fit the schema; or the schema makes a value that is not JSON.",
    (d) => `The output of agent ${d.agent} does not fit its output schema: ${d.problem}.`,
    "The text is kept in the history; resume() asks the model again.",
    (d) => {
      if (d.ended === "by a call") return "Correct the value that the tool gives to exit(), and run again.";
      if (d.ended === "by its schema") return "Let the schema make JSON, such as a date as ISO text; then resume().";
      return undefined;
    },
  ),
  PERMISSION_INVALID: entry<{ owner: string; problem: string }>(
    "The permissions of an agent or a runner have a rule or a default that means nothing.",
    (d) => `The permissions of ${d.owner} are not valid: ${d.problem}.`,
    "Correct them; a rule is { tool, args?, effect, id?, reason? }, effect one of allow, ask, always-ask, deny.",
  ),
  RELAY_UNAVAILABLE: entry<Record<string, never>>(
    "A thread runs under another runner, and its store cannot relay the text. Only the log reports this.",
    () =>
      "The store relays no text between runners: readers here get the facts of threads that run elsewhere, not their text.",
    "Give sqliteStore() a database that is a file.",
  ),
  REPLAY_DIVERGED: entry<{ address: string; problem: string }>(
    "Code that continues after a pause differs from its record.",
    (d) => `${d.address} went another way than before: ${d.problem}.`,
    "Nothing was done. Bring back the code that began the call, or keep its asks and steps the same up to this point, and resume().",
  ),
  REQUEST_DROPPED: entry<{ address: string }>(
    "The reason of a tool's signal when it waited for a person and now continues elsewhere, or not at all.",
    (d) => `${d.address} is released while it waits for an answer.`,
    "Clean up; the owner of the thread starts the call again from its recorded steps.",
  ),
  REQUEST_INVALID: entry<{ problem: string }>(
    "A request that no person could answer.",
    (d) => `That request cannot be raised: ${d.problem}.`,
    "Make it with humanApproval(), humanInput() or customInterrupt().",
  ),
  RERUN_OUTSIDE: entry(
    "rerun() was thrown, or ctx.rerun() called, by code that cannot be run again: a hook, a branch, a tool outside a run.",
    () => "rerun() was thrown by code that cannot be run again.",
    "Throw it in the code of a tool, a custom agent or a node, during a run.",
  ),
  REQUEST_REJECTED: entry<{ id: string; by: string; reason: string }>(
    "Thrown by ctx.ask when a person refuses to answer a question.",
    (d) => `Request ${d.id} was rejected by ${d.by}: ${d.reason}`,
    "Continue without the answer, or let the error pass: the model reads it.",
  ),
  RUNNER_CLOSED: entry(
    "A closed runner is used.",
    () => "This runner is closed.",
    "Create a new one; the threads are in the store.",
  ),
  SCHEMA_UNSUPPORTED: entry<{ of: string; vendor: string }>(
    "A schema cannot be turned into JSON Schema, which models need.",
    (d) => `The schema of ${d.of} (${d.vendor}) cannot be turned into JSON Schema.`,
    "Use a library that implements Standard JSON Schema (zod 4, arktype; valibot through @valibot/to-json-schema), or jsonSchema(…) with the schema written out.",
  ),
  SESSION_CLOSED: entry<{ threadId: string }>(
    "A closed session is used.",
    (d) => `The session on thread ${d.threadId} is closed.`,
    "Open the thread again with runner.open(threadId).",
  ),
  STALE: entry<{
    threadId: string;
    runId: string | undefined;
    segment: number | undefined;
    present?: { readonly runId: string | undefined; readonly segment: number; readonly state: string };
  }>(
    "A command names a run or a segment that the thread has left.",
    ({ threadId, runId, segment, present }) => {
      const of = (run: string | undefined, at: number | undefined) =>
        [at === undefined ? [] : `segment ${at}`, run === undefined ? [] : `run ${run}`].flat().join(" of ");
      const now = present && ` It is ${present.state}, in ${of(present.runId ?? "none", present.segment)}.`;
      return `Thread ${threadId} is no longer in ${of(runId, segment)}, which the command was for.${now ?? ""}`;
    },
    "Nothing was done. Look at the thread again, and decide anew.",
  ),
  STORE_CONFLICT: entry<{ threadId: string; expected: number; found: number }>(
    "Another writer appended to the thread since it was read.",
    (d) => `Thread ${d.threadId} is at ${d.found}, not at ${d.expected}: another writer appended to it.`,
    "Open the thread again and repeat; nothing was written.",
  ),
  STORE_CORRUPT: entry<{ problem: string }>(
    "A database file is damaged, or is none.",
    (d) => `The database cannot be read: ${d.problem}.`,
    "Nothing was overwritten. Check that it is the right file; if so, restore it from a backup.",
  ),
  STORE_FAILED: entry<{ threadId?: Values; reason: string }>(
    "The store could not save or read.",
    (d) => `The store failed${d.threadId ? ` for thread ${d.threadId}` : ""}: ${d.reason}`,
    "Nothing unsaved was shown as done. When the store is back, open the thread and resume it.",
  ),
  STORE_FOREIGN: entry<{ problem: string }>(
    "A database belongs to another program.",
    (d) => `The database is not one of Belay: ${d.problem}.`,
    "Give Belay a file of its own; nothing was changed in this one. If it is Belay's, it is damaged: restore it from a backup.",
  ),
  STORE_FULL: entry<{ threadId?: Values; reason: string }>(
    "The disk, or the store's quota, is full.",
    (d) => `The store has no room left${d.threadId ? ` for thread ${d.threadId}` : ""}: ${d.reason}.`,
    "Nothing acknowledged is lost. Make room, open the thread and resume it.",
  ),
  STORE_UNSUITABLE: entry<{ file: string; kind: string }>(
    "A SQLite file is on a network file system, on which its locks do not hold.",
    (d) => `${d.file} is on ${d.kind}, on which SQLite's locks do not hold.`,
    "Use a local disk, or a database server for several machines.",
  ),
  STORE_VERSION: entry<{ found: number; known: number }>(
    "A database was written by a newer version of Belay.",
    (d) => `The database has schema version ${d.found}; this program knows ${d.known}.`,
    "Update @belay/core; nothing was changed.",
  ),
  TENANT_UNKNOWN: entry<{ tenant: string }>(
    "a worker met a thread of a tenant that it has no runner for",
    (d) => `This worker has no runner for tenant ${d.tenant}; its threads wait.`,
    "Return a runner for it from the function that createWorker() was given, or start a worker that has one. Nothing is lost.",
  ),
  THREAD_BUSY: entry<{ threadId: string; owner: string; until: string }>(
    "Another process, or another runner, is running the thread.",
    (d) => `Thread ${d.threadId} is being run by ${d.owner} (its lease ends ${d.until}).`,
    "Follow it with runner.events(), stop it with runner.interrupt(), or wait.",
  ),
  THREAD_EXISTS: entry<{ threadId: string }>(
    "The id for a fork belongs to an existing thread.",
    (d) => `There is a thread ${d.threadId} already.`,
    "Leave `as` out, or choose another id.",
  ),
  THREAD_SET_ASIDE: entry<{ threadId: string; crashes: number }>(
    "A thread crashed its worker again and again without getting any further.",
    (d) => `Thread ${d.threadId} was set aside after ${d.crashes} crashes at the same place.`,
    "Look at its last calls; resume() tries once more.",
  ),
  THREAD_SOUND: entry<{ threadId: string }>(
    "A repair of a thread that is not damaged.",
    (d) => `Thread ${d.threadId} can be read from its beginning to its end.`,
    "Use it as it is; runner.fork() makes a copy.",
  ),
  THREAD_UNKNOWN: entry<{ threadId: string }>(
    "A thread id that the store does not have.",
    (d) => `There is no thread ${d.threadId}.`,
    "List the threads with runner.threads(); runner.open() with a new id creates one on its first run.",
  ),
  TOKEN_EXPIRED: entry<{ threadId: string; until: string }>(
    "A handle is used after the runner's tokenTtlMs.",
    (d) => `That handle of thread ${d.threadId} was good until ${d.until}.`,
    "session.handle() issues a new one.",
  ),
  TOKEN_SPENT: entry<{ threadId: string; segment: number }>(
    "A handle is used a second time, or a session resumes a pause that has already ended by other means.",
    (d) =>
      `The pause of thread ${d.threadId} after segment ${d.segment} is over: its handle was used, or the thread was resumed by other means.`,
    "Look at session.state, after runner.open() if another process may have the thread: a completed thread takes run(input), a paused one session.resume().",
  ),
  TOKEN_UNKNOWN: entry<{ threadId: string }>(
    "A handle with a token that the thread never issued, or that a newer one has voided.",
    (d) => `Thread ${d.threadId} does not know that handle's token.`,
    "Use the latest handle, or open the thread and call session.resume().",
  ),
  TOO_LARGE: entry<{ what: string; bytes: number; most: number }>(
    "Something that must be recorded, and is no input, takes more bytes than the runner's maxBytes.",
    (d) => `${d.what} takes ${d.bytes} bytes; at most ${d.most} are taken.`,
    "A value from a caller has changed nothing. Code that returned the value has run, and does not run again by itself. Of a model's answer the shown part is kept, and resume() continues from it. Keep large data elsewhere and pass a reference, or raise maxBytes in createRunner().",
  ),
  TOOL_DUPLICATE: entry<{ agent: string; tool: string }>(
    "Two tools of one agent have the same name.",
    (d) => `Agent ${d.agent} has two tools named ${d.tool}.`,
    "Rename one of them.",
  ),
  TOOL_INVALID: entry<{ tool: string; problem: string }>(
    "tool(…) was given something it cannot work with.",
    (d) => `Tool ${d.tool} is not valid: ${d.problem}.`,
    "Correct the definition. Names are 1–64 letters, digits, _ or -, not beginning with a digit or -.",
    (d) => aboutDefinition(d.problem),
  ),
  TOOL_TIMEOUT: entry<{ tool: string; ms: number }>(
    "The reason of a tool's signal when the call took longer than its timeoutMs.",
    (d) => `Tool ${d.tool} took longer than ${d.ms} ms.`,
    "Let the tool heed ctx.signal, or raise its timeoutMs.",
  ),
  USER_INTERRUPT: entry<{ reason?: Values }>(
    "Thrown by ctx.checkInterrupt() inside a tool once the run has been stopped.",
    (d) => `User interrupted execution${d.reason && d.reason !== "general" ? ` (${d.reason})` : ""}.`,
    "Let it pass: the runtime records the stop. Clean up in `finally`.",
  ),
} as const;

/** The code of a `BelayError`. Each is explained in docs/errors.md. */
export type ErrorCode = keyof typeof catalogue;
/** The same symbol in every installed copy of this package. */
const MARK: unique symbol = Symbol.for("belay.error") as never;

export type ErrorDetails<C extends ErrorCode> = Parameters<(typeof catalogue)[C]["message"]>[0];

/** The error that Belay throws and reports: `code` for programs, `message` with the values, `hint` with the next action. */
export class BelayError extends Error {
  override readonly name: string = "BelayError";
  /** Marks errors of every installed copy of this package. */
  readonly [MARK] = true as const;
  readonly code: ErrorCode;
  readonly hint: string;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, hint: string, details: object, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.hint = hint;
    this.details = details as Record<string, unknown>;
  }

  /** Returns the error as JSON. Without this method its message would be missing. */
  toJSON(): object {
    const { name, code, message, hint, details } = this;
    return { name, code, message, hint, details };
  }
}

/**
 * Returns whether `error` is a `BelayError`. Unlike `instanceof` it also recognizes errors of another installed copy of
 * this package.
 */
export function isBelayError(error: unknown): error is BelayError {
  return error instanceof Error && (error as Partial<BelayError>)[MARK] === true;
}

/** Makes the error of the catalogue with its values filled in. */
export function belayError<C extends ErrorCode>(code: C, details: ErrorDetails<C>, cause?: unknown): BelayError {
  const { message, hint, hintFor } = catalogue[code] as CatalogueEntry<ErrorDetails<C>>;
  return new BelayError(code, message(details), hintFor?.(details) ?? hint, details as object, cause);
}

/** The reason of a stop that names none. */
export const GENERAL = "general";

/**
 * Thrown by `ctx.checkInterrupt()` once the run is stopped. Thrown by a tool or a custom agent itself, it stops the run as a
 * person's stop does.
 */
export class UserInterrupt extends BelayError {
  override readonly name = "UserInterrupt";
  /** When the stop was requested, in milliseconds since 1970. */
  readonly interruptedAt: number;
  readonly reason: string;
  /** The part of the answer that was shown before the stop. */
  readonly partialText: string;

  constructor(interruptedAt = Date.now(), reason = GENERAL, partialText = "") {
    const details = { reason };
    const { message, hint } = catalogue.USER_INTERRUPT;
    super("USER_INTERRUPT", message(details), hint, details);
    this.interruptedAt = interruptedAt;
    this.reason = reason;
    this.partialText = partialText;
  }
}

/** An error as it is recorded: its words, not its object. */
export interface ErrorRecord {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  /** The name of an error that is not Belay's and has a code of its own. */
  readonly name?: string;
}

export function errorRecord(error: BelayError): ErrorRecord {
  return { code: error.code, message: recordedWords(error.message), hint: error.hint };
}

export function recordedWords(words: string): string {
  return brief(words, MOST_WORDS);
}

/** Returns a recorded error. Its details and its cause are gone. */
export function errorFromRecord(record: ErrorRecord | undefined): BelayError {
  const { code = "AGENT_FAILED", message = "It failed.", hint = "" } = record ?? {};
  return new BelayError(code as ErrorCode, message, hint, {});
}

/** Returns the message of any thrown value. */
export function errorText(error: unknown): string {
  try {
    const words: unknown = error instanceof Error ? error.message || error.name : error;
    return typeof words === "string" ? words : String(words);
  } catch {
    return "something that cannot be put into words";
  }
}
