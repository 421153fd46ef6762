// Every word that the program itself says, in English. It is also the shape of the other languages: a text, or a function of
// the values in it, by room and name. It is one piece, so that a translator has one file to read.

/** The kinds of ids. */
export type IdOf = "thread" | "request" | "rule" | "server";
/** Why a model server is of no use. */
export type ServerProblem = "silent" | "no-models" | "no-address";

const serverProblems: Readonly<Record<string, string>> = {
  silent: "does not answer",
  "no-models": "names no models",
  "no-address": "is no http or https address",
} satisfies Record<ServerProblem, string>;

const count = (n: number, one: string, many = `${one}s`): string => `${n} ${n === 1 ? one : many}`;

export const en = {
  app: {
    welcome: "an agent you can stop at any moment",
    welcomeDemo:
      "No model is set up: rules stand in for one, offline. Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or start Ollama.",
    welcomeKeys: "Esc stops · Enter while it runs steers · Tab queues · / commands · ? keys",
    welcomeConsole: "console: /console",
    slowServers: (servers: string) => `MCP servers still starting: ${servers}. Their tools are added when they are up.`,
    serversUp: "All MCP servers have answered, or failed.",
    earlier: (n: number) => `… ${count(n, "earlier entry", "earlier entries")}`,
    goodbye: (id: string) => `Resume with: belay --resume ${id}`,
    thought: (took: string) => (took === "" ? "thought" : `thought for ${took}`),
    prompt: "Ask, or tell it what to do",
    promptInterrupted: "Type a new instruction, or Enter alone to continue",
    promptRunning: "Enter steers, Tab queues",
    promptStopping: "Type on; it is sent when the stop is done",
    bytes: (n: number) =>
      n < 1000 ? `${n} B` : n < 1_000_000 ? `${(n / 1000).toFixed(1)} kB` : `${(n / 1_000_000).toFixed(1)} MB`,
    pasted: (lines: number) => `[pasted: ${count(lines, "line")}]`,
  },
  status: {
    idle: "ready",
    thinking: "thinking",
    answering: "answering",
    retrying: (seconds: number, why: string, next: number, tries: number) =>
      `retrying in ${seconds} s (${why}, ${next} of ${tries})`,
    broken: "the stream broke",
    turnsUsed: "turns used",
    summarising: "summarising",
    writing: (what: string, size: string) => `writing ${what} · ${size}`,
    silent: (time: string) => `no word for ${time}`,
    working: (tools: number) => (tools === 1 ? "working" : `working on ${tools} calls`),
    stopping: "stopping…",
    forcing: "forcing the stop…",
    interrupted: "stopped",
    asking: (n: number) => (n === 1 ? "waiting for your answer" : `waiting for ${n} answers`),
    crashed: "cut off by a crash",
    paused: "paused",
    failed: "failed",
    terminated: "ended for good",
    mode: { ask: "ask", "accept-edits": "accept edits", plan: "plan" },
    escInterrupts: "esc to stop",
    escForces: "esc again to force",
    enterGoesOn: "⏎ to continue",
    context: (percent: number) => `${percent} % context`,
    quitHint: "Ctrl-C again quits",
    rewindHint: "Esc again to rewind",
  },
  stop: {
    interrupted: "Stopped.",
    word: "stopped",
    after: (time: string) => `stopped after ${time}`,
    counts: (stopped: number, finished: number, notStarted: number) =>
      `${stopped} stopped · ${finished} finished · ${notStarted} never began`,
    stillRunning: (n: number) => `${n} still running`,
    continue: "⏎ continue",
    nothing: "Nothing was running any more.",
    stopped: (what: string) => `Stopped: ${what}.`,
    finished: (what: string) => `Finished: ${what}.`,
    notStarted: (what: string) => `Never began: ${what}.`,
    late: (what: string) => `Left behind, still running: ${what}.`,
    failed: "That failed. Enter alone tries again.",
    noWords: "The model ended without an answer.",
    filtered: "The provider's content filter ended the answer.",
    crashed: "This thread was cut off in the middle. Enter alone continues from what was recorded.",
    cutOff: (what: string) => `It was running: ${what}.`,
    superseded: "(that answer begins again)",
    supersededBy: (why: string) => `(${why}: that answer begins again)`,
    survives: (names: string) => `Not ended by the stop, still running:\n${names}`,
    lateResult: (tool: string) => `${tool} ended after all`,
    drifted: (what: string) => `Since this run began: ${what}.`,
    driftModel: (was: string, is: string) => `model ${was} is now ${is}`,
    driftInstructions: "its instructions changed (AGENTS.md, say)",
    driftTools: (names: string) => `tools changed: ${names}`,
    guidesChanged: (names: string) => `${names} changed since this program started: start it again to use it.`,
  },
  notify: {
    asks: "belay waits for your answer",
    done: "belay is done",
    failed: "belay failed",
  },
  left: {
    found: (commands: string) => `Still running since before the crash: ${commands}`,
    question: "Still running since before the crash. What about it?",
    choices: { wait: "Wait until it ends", stop: "Stop it", leave: "Leave it running" },
    keys: "↑↓ Enter · Esc leaves it running",
    waiting: "Waiting until it ends.",
    ended: (commands: string) => `Has ended: ${commands}`,
    stopped: (commands: string) => `Stopped: ${commands}`,
    left: "Left running.",
  },
  mail: {
    steer: "pending",
    queue: "queued",
    held: "held",
    sendsQueue: "ctrl-s sends the queue",
    takeBack: "alt-up takes it back",
    gone: "It has been read already.",
  },
  tool: {
    ok: "done",
    error: "failed",
    rejected: "rejected",
    "not-executed": "not run",
    interrupted: "stopped",
    unknown: "outcome unknown",
    exit: (code: string) => `exit code ${code}`,
    held: "held: runs when you continue",
    more: (n: number) => `… ${count(n, "more line")} (ctrl-o shows all)`,
    noOutput: "(no output)",
  },
  dialog: {
    approve: (tool: string) => `Run ${tool}?`,
    make: (path: string) => `Create ${path}?`,
    replace: (path: string) => `Replace ${path}?`,
    change: (path: string) => `Edit ${path}?`,
    changed: (path: string) => `${path} has changed since you saw it. Change it like this?`,
    look: (path: string, leadsTo: string, why: string) =>
      `Read ${path}?${leadsTo === "" ? "" : ` It leads to ${leadsTo}.`}${why === "" ? "" : ` (${why})`}`,
    fetch: (url: string) => `Fetch ${url}?`,
    run: "Run this command?",
    question: "Question",
    unknownOutcome: (tool: string) => `${tool} was cut off by a crash. What became of it?`,
    others: (n: number) => `${count(n, "request")} open · ctrl-n next, ctrl-p previous`,
    once: "Yes, once",
    thread: "Yes, and the same in this thread",
    folder: "Always allow this in this folder",
    prefix: (prefix: string) => `Always allow ${prefix} in this folder`,
    everywhere: "Always allow this in every folder",
    accept: "Yes, and accept edits until Esc",
    edit: "Edit the arguments",
    no: "No, tell it why",
    again: "Run it again",
    result: "It ran: give its result",
    skip: "Skip it",
    ruleThread: (rule: string) => `makes the rule: ${rule}, in this thread`,
    ruleFolder: (rule: string) => `makes the rule: ${rule}, in this folder`,
    ruleEverywhere: (rule: string) => `makes the rule: ${rule}, in every folder`,
    ruleAccept: "files of this folder are changed unasked; Shift-Tab or Esc ends it",
    scrolled: (from: number, to: number, all: number) => `${from}–${to} of ${all} · PgUp PgDn`,
    in: (folder: string) => `in ${folder}`,
    reason: "Why not? (Enter sends, Esc back)",
    editing: "Enter runs it like this, Esc back",
    words: "Something else, in your own words",
    answering: "Enter answers, Esc stops",
    wording: "Enter answers, Esc back",
    resulting: "What did it give? (Enter sends, Esc back)",
    notJson: (problem: string) => `Not valid JSON: ${problem}`,
    deadline: (left: string, then: string) => `${left} left, then ${then}`,
    thenReject: "it is rejected",
    thenApprove: "it is approved",
    thenFail: "the call fails",
    draftFirst: "Send or clear what you are typing; then the keys answer this.",
    keys: "↑↓ or the letter, then Enter · Esc stops the run",
    defaultReason: "no reason given",
    answered: (how: string, by: string) => `${how} by ${by}`,
    elsewhere: (how: string) => `${how} in another terminal`,
    approved: "approved",
    rejected: "rejected",
    responded: "answered",
    expired: "expired",
    withdrawn: "withdrawn",
    yes: "Yes",
    noPlain: "No",
    refused: (why: string) => `Not taken: ${why}`,
    openRequest: (what: string) => `asks: ${what}`,
  },
  picker: {
    rewind: "Rewind to before which message?",
    rewindKeys: "↑↓ choose · Enter forks there · Esc back",
    rewindNone: "There is nothing to rewind to.",
    effects: (n: number) => `Done since then, and not undone: ${count(n, "call")}`,
    noEffects: "Nothing was changed since then.",
    rewound: (id: string) => `A new thread begins here; the old one is kept: belay --resume ${id}`,
    threads: "Which thread?",
    threadsKeys: "↑↓ choose · type to search · Enter opens · Esc back",
    threadsNone: "There are no threads yet.",
    untitled: "(nothing said yet)",
    history: "Earlier inputs",
    historyKeys: "↑↓ Ctrl-R choose · type to search · Enter takes it · Esc back",
    historyNone: "No earlier input has these words.",
    forked: (id: string) => `This is a fork of ${id}.`,
  },
  help: {
    title: "Keys",
    keys: [
      ["Enter", "send; while it runs: steer it; after a stop with nothing typed: continue"],
      ["Tab", "queue for when the run has ended"],
      ["Alt-Up", "take the last steer or queued input back into the prompt"],
      ["Ctrl-S", "send a queue that a stop holds"],
      ["Esc", "stop; again: force. Idle: clear the draft; twice: rewind"],
      ["Ctrl-C", "clear the draft, or stop; twice: quit"],
      ["Ctrl-D", "quit, when nothing is typed"],
      ["Shift-Tab", "mode: ask, accept edits, plan; Esc goes back to ask"],
      ["Ctrl-O", "show tool output whole, or folded"],
      ["Alt-Enter, Ctrl-J", "new line"],
      ["Up, Down", "earlier inputs"],
      ["Ctrl-R", "search the inputs of all threads"],
      ["Ctrl-A E U K W Y", "begin, end, clear before, clear after, erase word, put it back"],
      ["Ctrl-Z", "to the shell; fg comes back"],
      ["?", "this page, when nothing is typed"],
    ] as readonly (readonly [string, string])[],
    close: "Esc closes",
  },
  demo: {
    try: "Try:",
    choose: "Tab or ↑ chooses one of these, Enter sends it:",
    tour: "Take the tour",
    summarise: "Summarise this folder",
    write: "Write a summary to SUMMARY.md",
    tourInstead: "Write that to TOUR.md instead",
    steps: [
      "Tour 1 of 4: press Esc while it speaks.",
      "Tour 2 of 4: say something else. Tab fills in an example, Enter sends it.",
      "Tour 3 of 4: it asks before it writes. Enter allows it once.",
      "Tour 4 of 4: Esc Esc goes back to before a message. Files stay as they are.",
    ] as readonly string[],
  },
  slash: {
    does: {
      help: "keys and commands",
      new: "start a new thread in this folder",
      resume: "choose another thread",
      rewind: "go back to before a message",
      fork: "continue on a copy of this thread",
      compact: "sum up what was said so far; words after it say what matters",
      cost: "the tokens that this thread has used",
      rules: "what may run without asking",
      mcp: "the MCP servers and their tools",
      console: "these threads as pages in a browser",
      export: "write this thread to a file",
      theme: "light, dark or none",
      quit: "leave; the thread is kept",
    },
    unknown: (name: string) =>
      `There is no command ${name}, and it was not sent. /help lists them; a blank before the slash sends it as text.`,
    busy: (name: string) => `${name} leaves this thread, and it is running: Esc stops it first.`,
    tokens: (input: number, output: number) => `This thread has used ${input} tokens in and ${output} out.`,
    contextUse: (used: number, most: number) => `The last request took ${used} of ${most} tokens.`,
    themes: "/theme light, /theme dark or /theme none. BELAY_THEME keeps the choice.",
    themed: (theme: string) => `Theme: ${theme}. BELAY_THEME=${theme} keeps it.`,
    exported: (file: string) => `Written to ${file}.`,
    console: (url: string) => `The console is at ${url} until you leave. The link lets in the person that opens it.`,
    compacts: "Before the next request, what was said so far is summed up.",
    compacted: (tokens: number) =>
      `The context was summed up${tokens === 0 ? "" : ` at ${tokens} tokens`}. The thread itself keeps every word.`,
  },
  commands: {
    pipeSilent: "Nothing came by the pipe within a second: it was not read. --stdin waits for it.",
    nothingToDo: "There is nothing to continue: give a prompt. See belay --help.",
    waitsFor: (what: string, command: string) => `Waits for you: ${what} Answer with: ${command}`,
    goOn: (id: string) => `Resume with: belay --resume ${id}`,
    moreThreads: (n: number) => `${count(n, "more thread")}; --limit shows more.`,
    serving: (url: string) => `Belay serves at ${url}`,
    servingEnds: "Ctrl-C ends the server; threads stay as they are.",
    demoEnds: "A tour of real runs, without a key. Ctrl-C ends it; nothing is kept.",
    working: (n: number) =>
      `Belay works, up to ${count(n, "thread")} at once in each folder. Ctrl-C ends it; threads stay as they are.`,
    inboxEmpty: "Nothing waits for an answer.",
    requestDamaged: (id: string) =>
      `Request ${id} is damaged and cannot be shown. Which thread waits for it is not known.`,
    requestDamagedIn: (id: string, thread: string) =>
      `Request ${id} is damaged and cannot be shown. A fork of its thread asks it anew: belay --resume ${thread} --fork`,
    ofThread: (id: string) => `thread ${id}`,
    expires: (at: string) => `expires ${at}`,
    answerYesNo: (id: string) => `belay answer ${id} yes · belay answer ${id} no "why not"`,
    answerText: (id: string) => `belay answer ${id} "your answer"`,
    answered: (how: string, open: number) =>
      `${how}: taken. ${open === 0 ? "Nothing else is open there." : `${open} more open.`}`,
    decided: (id: string, how: string, at: string, what: string) =>
      `Request ${id} was already answered: ${how}, ${at}${what === "" ? "" : `, ${JSON.stringify(what)}`}. The first answer counts; nothing was changed.`,
    deletes: (n: number) =>
      `${n === 1 ? "This thread goes" : `These ${n} threads go`} for good, with all that was said. Files stay as they are.\nType yes to delete: `,
    deleted: (id: string) => `Deleted ${id}.`,
    deletedNone: "Nothing was deleted.",
    run: (id: string) => `run ${id}`,
    rulesOfFile: (file: string) => `Rules of ${file}, the later the stronger:`,
    rulesBuiltIn: (file: string) => `Built-in rules ("builtin": false in ${file} drops them):`,
    rulesNoBuiltIn: (file: string) => `${file} drops the built-in rules.`,
    rulesDefault: (effect: string) => `Default: ${effect}`,
    rulesHere: (folder: string) => `Remembered in ${folder} (belay rules remove <id>):`,
    rulesEverywhere: "Remembered in every folder (belay rules remove <id>):",
    rulesElsewhere: (folder: string) => `Remembered in ${folder}, not here:`,
    rulesWithoutFolder:
      "Remembered by an earlier release, for no folder. They do not apply; keep one for this folder (belay rules keep <id>, or --everywhere) or remove it (belay rules remove <id>):",
    rulesThread: "Remembered in this thread (belay rules remove <id> --thread <thread>):",
    rulesElse: "For the rest: what only reads runs, everything else asks.",
    ruleRemoved: (id: string) => `Removed ${id}.`,
    ruleKept: (id: string, folder: string | undefined) => `${id} now holds in ${folder ?? "every folder"}.`,
    rulesMade: (file: string) => `Wrote ${file}.`,
    rulesThere: (file: string) => `${file} already exists.`,
    mcpNone: "No MCP server is named in mcp.json.",
    mcpVisit: (page: string) => `Sign in on this page: ${page}`,
    mcpSignedIn: (server: string, tools: number) => `Signed in at ${server}: ${count(tools, "tool")}.`,
  },
  log: {
    person: "person",
    agent: "agent",
    runtime: "runtime",
    hook: "hook",
    call: "call",
    result: "result",
    late: "late",
    step: "step",
    answer: "answer",
    queued: "queued",
    read: "read",
    state: "state",
    end: "end",
    drift: "drift",
    rule: "rule",
    break: "break",
    child: "child",
    stop: "stop",
    request: "request",
    exit: "exit",
    transfer: "transfer",
    action: "action",
    /** A word of the journal: an outcome, a state, a kind. */
    word: (name: string) => name,
    cut: (by: string) => `✂ cut by ${by}`,
    answered: (id: string, how: string, by: string) => `${id} ${how} by ${by}`,
    refused: (why: string) => `refused: ${why}`,
    paused: (state: string, why: string) => `${state} (${why})`,
    tokens: (input: number, output: number) => `, ${input} + ${output} tokens`,
    drifted: "the agent is not the one that the run began with",
    removed: (id: string, by: string) => `${id} removed by ${by}`,
    stops: (at: string, node: string) => `stops ${at} ${node}`,
    stopsNot: (at: string, node: string) => `does not stop ${at} ${node}`,
    atNode: (at: string, node: string) => (at === "rerun" ? `${node} asks to run again` : `${at} ${node}`),
    stoppedBy: (by: string) => `by ${by}`,
    asks: (kind: string, tool: string) => `${kind} of ${tool}`,
    to: (agent: string) => `to ${agent}`,
  },
  page: {
    title: (id: string) => `Thread ${id}`,
    agent: "Agent",
    person: "Person",
    runtime: "Runtime",
    cut: (by: string) => `(cut by ${by})`,
    notRun: "not run",
  },
  usage: {
    usage: "Usage:",
    arguments: "Arguments:",
    options: "Options:",
    commands: "Commands:",
    choices: (all: string) => `choices: ${all}`,
    default: (value: string) => `default: ${value}`,
    help: "display help for command",
    error: (what: string) => `error: ${what}`,
    seeHelp: "See belay --help.",
    unknownOption: (option: string) => `unknown option ${option}`,
    didYouMean: (option: string) => `(Did you mean ${option}?)`,
    noArgument: (name: string) => `missing required argument ${name}`,
    noValue: (option: string) => `option ${option} argument missing`,
    tooMany: (expected: string, given: string) => `too many arguments. Expected ${expected} but got ${given}.`,
    notAllowed: (value: string, option: string) => `option ${option}: ${value} is invalid.`,
    allowed: (choices: string) => `Allowed choices are ${choices}.`,
    notCount: "It must be a whole number above 0.",
    belay: "An agent in the terminal whose stop button really stops.",
    prompt: "what to begin with",
    print: "answer without the app: a prompt, or - for standard input",
    stdin: "wait for standard input, however long it takes; a pipe that speaks at once is read anyway",
    outputFormat: "what --print writes",
    ask: "with --print: deny what needs a person, or pause there (exit code 3)",
    continue: "continue the last thread of this folder",
    resume: "resume a thread, by its id or the beginning of it; without one, choose",
    fork: "with --continue or --resume: in a new thread with the same past",
    model: "anthropic/name, openai/name, ollama/name, lmstudio/name or demo",
    baseUrl: "a server that speaks OpenAI's protocol; --model is then a name of that server",
    folder: "the folder to work in",
    noMcp: "without the MCP servers of mcp.json and .mcp.json",
    plain: "without redrawing, for screen readers",
    version: "print the version",
    data: "where threads are kept",
    config: "where permissions.json and mcp.json are",
    lang: "of the interface",
    after: `
Without --print it opens the app; with input piped in, or without a terminal, it answers once and ends.
A text with a blank in it is a prompt: belay "what is in this folder?"

Models: --model, else ANTHROPIC_API_KEY, else OPENAI_API_KEY, else Ollama or LM Studio on this machine,
else an offline demo that needs no key.

Exit codes: 0 completed, 1 failed, 2 wrong usage, 3 paused and waits for a person, 129 ended by SIGHUP,
130 stopped, 141 the reader of the output went away, 143 ended by SIGTERM.`,
    json: "as JSON",
    jsonLines: "as JSON, one a line",
    itsId: "its id, or the beginning of it",
    itsName: "its name, or the beginning of it",
    threads: "list the threads, the last changed first",
    here: "only those of this folder",
    limit: "how many",
    inbox: "list the open requests of all threads",
    answer: "answer a request: yes, no and why, or the answer to a question",
    words: "yes · no, because … · the answer",
    value: "an answer that is not text; for an approval, the result of the call",
    args: "with yes: other arguments to run with",
    remember: "with yes: allow the same from now on, in this thread, always in its folder, or everywhere",
    by: "the person that answers",
    answerNoMcp: "without MCP servers",
    interrupt: "stop a thread's run, whichever terminal it is in",
    reason: "for the record",
    force: "do not wait for tools",
    stopsBy: "the person that stops it",
    log: "show a thread as a timeline",
    follow: "follow new facts",
    logJson: "the facts of its journal as JSON, one a line",
    export: "write a thread as a page",
    delete: "delete threads for good",
    yes: "without asking",
    format: "of the page",
    output: "where to; standard output by default",
    rules: "show which calls may run without asking",
    rulesThread: "also what was remembered there",
    rulesInit: "make a file for rules of your own",
    rulesKeep: "let a rule of an earlier release hold in this folder",
    rulesKeepEverywhere: "in every folder",
    rulesRemove: "forget a rule that was remembered",
    rulesRemoveThread: "one that was remembered there",
    rulesExplain: "show the verdict of the rules on a call in this folder",
    asJson: "as JSON",
    serve: "serve the threads over HTTP, with pages in a browser",
    servePort: "the port",
    serveHost: "the address to listen at; any but this machine's own needs --token",
    serveToken: "the token that opens it, in place of the one in the data folder",
    serveOpen: "open the page in a browser",
    serveDemo: "serve a scratch store with a tour of real runs; needs no key",
    serveWork:
      "the number of threads that its worker moves at once in each folder; 0: what is sent, approved or left behind waits for `belay work`",
    work: "move threads: continue crashed runs and start queued inputs, each in its folder",
    workConcurrency: "the number of threads at once in each folder",
    mcp: "list the MCP servers and their tools",
    mcpLogin: "sign in at a server on the web, in a browser",
  },
  /** Errors that the runtime has no code for: the fault, then the remedy. */
  problems: {
    ANSWER_CUT: {
      message: (_: Record<string, never>) => "The answer was cut at the output limit of the model.",
      hint: "Its text is kept; continue, and the model writes on.",
    },
    CONTEXT_FULL: {
      message: (d: { reason: string }) => `The thread does not fit the context of the model: ${d.reason}.`,
      hint: "Nothing is lost. Use a model with a larger context, or set BELAY_CONTEXT_TOKENS lower, and continue.",
    },
    DISK_FULL: {
      message: (d: { reason: string }) => `There is no room left to save the thread: ${d.reason}.`,
      hint: "Nothing that was recorded is lost. Make room, then continue.",
    },
    MODEL_BROKEN: {
      message: (d: { model: string; tries: number; status: string; reason: string }) =>
        `The model ${d.model} failed${d.tries > 1 ? ` ${d.tries} times` : ""}: ${d.reason}${d.status === "" ? "" : ` (${d.status})`}.`,
      hint: "Nothing is lost: continuing repeats only this call.",
    },
    MODEL_KEY_REFUSED: {
      message: (d: { model: string; variable: string; status: string; reason: string }) =>
        `The key in ${d.variable} was refused for ${d.model} (${d.status}): ${d.reason}.`,
      hint: "Set a valid key in that variable and start again with --continue.",
    },
    MODEL_NOT_FOUND: {
      message: (d: { model: string; url: string; reason: string }) =>
        `There is no model ${d.model}${d.url === "" ? "" : ` at ${d.url}`} (404): ${d.reason}.`,
      hint: "Check --model, and the base URL: --base-url, ANTHROPIC_BASE_URL or OPENAI_BASE_URL.",
    },
    MODEL_SILENT: {
      message: (d: { model: string; seconds: number }) => `The model ${d.model} said nothing for ${d.seconds} s.`,
      hint: "Nothing is lost: continuing repeats only this call.",
    },
    NOT_SAVED: {
      message: (d: { reason: string }) => `The thread could not be saved: ${d.reason}.`,
      hint: "Nothing that was recorded is lost. When the disk can be written again, continue.",
    },
    THREAD_UNSAVED: {
      message: (d: { thread: string }) =>
        `Thread ${d.thread} could not be saved a moment ago and is not free again yet.`,
      hint: "If the disk is full, make room. Then continue in half a minute.",
    },
    TURNS_USED: {
      message: (d: { turns: number }) => `${count(d.turns, "turn")} used`,
      hint: "⏎ continues with as many again.",
    },
    ANSWER_MISFIT: {
      message: (d: { misfit: string }) => `That answer does not fit: ${d.misfit}.`,
      hint: "The request is still open.",
    },
    ANSWER_UNCLEAR: {
      message: (d: { words: string }) => `${JSON.stringify(d.words)} is neither yes nor no.`,
      hint: "Say yes, or no and why; a question is answered with its answer, or --value with JSON.",
    },
    COMMAND_UNKNOWN: {
      message: (d: { command: string; commands: string; near: string | undefined }) =>
        `There is no command ${JSON.stringify(d.command)}. ${d.near === undefined ? `The commands are ${d.commands}.` : `Did you mean ${d.near}?`}`,
      hint: "A prompt of one word goes with -p, one of several in quotes. See belay --help.",
    },
    CONFIG_INVALID: {
      message: (d: { file: string; problem: string }) => `${d.file} cannot be used: ${d.problem}.`,
      hint: "Correct the file; nothing was changed.",
    },
    DATA_FOLDER: {
      message: (d: { folder: string; reason: string }) => `The data folder ${d.folder} cannot be used: ${d.reason}.`,
      hint: "Make room in it and let it be written to, or name another by --data or BELAY_DATA.",
    },
    DATA_DAMAGED: {
      message: (d: { file: string; reason: string }) => `${d.file} cannot be read: ${d.reason}.`,
      hint: "Nothing was overwritten. Look whether it is the right file; else restore it from a backup.",
    },
    DATA_NEWER: {
      message: (d: { file: string }) => `${d.file} was written by a newer version of this program.`,
      hint: "Update belay; nothing was changed.",
    },
    DELETE_UNCONFIRMED: {
      message: (_: Record<string, never>) => "Nothing was deleted: there is no terminal to ask on.",
      hint: "--yes deletes without asking.",
    },
    EDIT_AMBIGUOUS: {
      message: (d: { path: string; times: number }) => `The old text occurs ${d.times} times in ${d.path}.`,
      hint: "Give more of the lines around it, so that it occurs once, or set all to true.",
    },
    EDIT_EMPTY: {
      message: (d: { path: string }) => `That edit would change nothing in ${d.path}.`,
      hint: "Give an old text that is not empty and a new text that differs from it.",
    },
    EDIT_NOT_FOUND: {
      message: (d: { path: string; near: string }) => `The old text does not occur in ${d.path}${d.near}.`,
      hint: "Read the file again and give the text exactly as it stands there, blanks and line breaks included.",
    },
    FETCH_FAILED: {
      message: (d: { url: string; reason: string }) => `${d.url} could not be fetched: ${d.reason}.`,
      hint: "Check the address; try again later or use another source.",
    },
    FETCH_FORBIDDEN: {
      message: (d: { url: string; reason: string }) => `${d.url} may not be fetched: ${d.reason}.`,
      hint: "Only public http and https addresses may be fetched. A person can allow one more by BELAY_FETCH_ALLOW=host:port.",
    },
    FILE_CHANGED: {
      message: (d: { path: string; why: string }) =>
        `${d.path} has changed since the person saw the difference, and the person rejected the new one${d.why === "" ? "" : `: ${d.why}`}. Nothing was written.`,
      hint: "Read the file again.",
    },
    FILE_EXISTS: {
      message: (d: { path: string }) => `${d.path} already exists.`,
      hint: "Use edit to change a part of it, or set overwrite to true to replace all of it.",
    },
    FILE_RACED: {
      message: (d: { path: string }) => `${d.path} was changed by another program just now. Nothing was written.`,
      hint: "Read the file again.",
    },
    FILE_TOO_LARGE: {
      message: (d: { path: string; bytes: number; most: number }) =>
        `${d.path} has ${d.bytes} bytes; at most ${d.most} can be handled.`,
      hint: "Use a shell command that shows a part of it, or finds something in it.",
    },
    FILE_UNWRITABLE: {
      message: (d: { file: string; reason: string }) => `${JSON.stringify(d.file)} cannot be written: ${d.reason}.`,
      hint: "Name a file in an existing, writable folder with room.",
    },
    FOLDER_GONE: {
      message: (d: { reason: string }) => `The folder that you are in no longer exists: ${d.reason}.`,
      hint: "Change to an existing folder.",
    },
    FOLDER_MISSING: {
      message: (d: { folder: string }) => `${d.folder} is not a folder.`,
      hint: "Give an existing folder.",
    },
    FOLDER_MOVED: {
      message: (d: { thread: string; about: string; now: string | undefined }) =>
        `Thread ${d.thread} is about ${d.about}, which ${d.now === undefined ? "is not there any more" : `leads to ${d.now} by now`}.`,
      hint: "Put it back to continue there; or continue with the same past in another folder, in a new thread, by --fork and --folder.",
    },
    FOLDER_OTHER: {
      message: (d: { thread: string; about: string; folder: string }) =>
        `Thread ${d.thread} is about ${d.about}, not about ${d.folder}.`,
      hint: "Continue it there, without --folder; or with the same past here, in a new thread, by --fork.",
    },
    PORT_TAKEN: {
      message: (d: { host: string; port: number; reason: string }) =>
        `Nothing can listen at ${d.host}:${d.port}: ${d.reason}.`,
      hint: "Give another --port, or end the program that has it.",
    },
    SERVE_OPEN: {
      message: (d: { host: string }) => `Without a token of your own, ${d.host} would be open to other machines.`,
      hint: "Give --token with at least 16 characters, or leave --host out.",
    },
    ID_AMBIGUOUS: {
      message: (d: { what: IdOf; given: string; count: number }) =>
        `${JSON.stringify(d.given)} is the beginning of ${d.count} ${d.what} ids.`,
      hint: "Give more of it.",
    },
    ID_UNKNOWN: {
      message: (d: { what: IdOf; given: string }) => `There is no ${d.what} ${JSON.stringify(d.given)}.`,
      hint: "belay threads, belay inbox, belay rules and belay mcp list the ids.",
    },
    INPUT_TOO_LONG: {
      message: (d: { most: number }) => `The input is longer than ${d.most} bytes.`,
      hint: "Put it into a file of the folder and let the agent read it.",
    },
    MCP_DOWN: {
      message: (d: { server: string; reason: string }) => `The MCP server ${d.server} is not there: ${d.reason}.`,
      hint: "Continue without its tools, or ask the person to look at it; the next call tries to reach it again.",
    },
    MCP_FAILED: {
      message: (d: { server: string; tool: string; reason: string }) =>
        `${d.tool} of the MCP server ${d.server} failed: ${d.reason}`,
      hint: "Correct the arguments, or do it in another way.",
    },
    MCP_LOST: {
      message: (d: { server: string; tool: string; reason: string }) =>
        `The MCP server ${d.server} went away while ${d.tool} was running: ${d.reason}. It may have taken effect.`,
      hint: "Check its effect before you repeat it; the next call tries to reach the server again.",
    },
    MCP_LOGIN: {
      message: (d: { server: string }) => `The MCP server ${d.server} needs you to sign in.`,
      hint: "Sign in with: belay mcp login and the name of the server.",
    },
    MCP_UNTRUSTED: {
      message: (d: { file: string; folder: string; by: string }) =>
        `${d.file} is not used: its commands are this folder's. To trust it, add "trustedFolders": [${JSON.stringify(d.folder)}] to ${d.by}.`,
      hint: "Read it first: its commands would run on this machine.",
    },
    MODEL_KEY: {
      message: (d: { provider: string; variable: string }) => `A model of ${d.provider} needs a key.`,
      hint: "Set it in the environment (ANTHROPIC_API_KEY or OPENAI_API_KEY), or choose --model demo, which needs none.",
    },
    MODEL_SERVER: {
      message: (d: { server: string; problem: ServerProblem }) =>
        `The model server ${d.server} ${serverProblems[d.problem] ?? d.problem}.`,
      hint: "Start it, and give --base-url as http://host:port/v1 and --model as one of its models.",
    },
    MODEL_UNKNOWN: {
      message: (d: { model: string }) => `There is no provider for the model ${JSON.stringify(d.model)}.`,
      hint: "Give anthropic/name, openai/name, ollama/name, lmstudio/name or demo; with --base-url, a name of that server.",
    },
    NO_PROMPT: {
      message: (_: Record<string, never>) => "There is no prompt.",
      hint: 'Give one with -p "…", or piped in, or a thread to resume: --continue, --resume <id>. The app needs a terminal.',
    },
    NO_THREAD: {
      message: (d: { folder: string }) => `There is no thread of ${d.folder} to continue.`,
      hint: "Start one without --continue; belay threads lists those of other folders.",
    },
    OPTION_NOT_JSON: {
      message: (d: { option: string; reason: string }) => `${d.option} is not JSON: ${d.reason}.`,
      hint: `Write it like '{"path":"a.txt"}', in quotes for the shell.`,
    },
    OUTPUT_LOST: {
      message: (d: { reason: string }) => `The output could not be written: ${d.reason}.`,
      hint: "What a run has said is kept with its thread: belay threads, belay export.",
    },
    PATH_MISSING: {
      message: (d: { path: string }) => `There is no ${d.path}.`,
      hint: "List the folder to see its files.",
    },
    PATH_NOT_FILE: {
      message: (d: { path: string }) => `${d.path} is not a plain file.`,
      hint: "Give the path of a file of text.",
    },
    PATH_NOT_TEXT: {
      message: (d: { path: string }) => `${d.path} is not text in UTF-8.`,
      hint: "Leave it as it is, or look at it with a shell command.",
    },
    PATH_OUTSIDE: {
      message: (d: { path: string; root: string }) => `${d.path} lies outside of ${d.root}.`,
      hint: "Only what is in this folder can be read or written, also through links.",
    },
    PATH_PROTECTED: {
      message: (d: { path: string }) => `${d.path} belongs to Git itself and is not written to.`,
      hint: "Use git commands for what concerns the repository.",
    },
    PATTERN_INVALID: {
      message: (d: { pattern: string; reason: string }) =>
        `${JSON.stringify(d.pattern)} is not a regular expression: ${d.reason}.`,
      hint: "Correct it, or escape its special characters to find them as they are.",
    },
    PATTERN_SLOW: {
      message: (d: { pattern: string; path: string }) => `${JSON.stringify(d.pattern)} takes too long on ${d.path}.`,
      hint: "Use a simpler pattern, without repetitions inside repetitions.",
    },
    REQUEST_DAMAGED: {
      message: (d: { id: string }) =>
        `Request ${JSON.stringify(d.id)} is damaged: an answer could allow something that is not shown.`,
      hint: "belay inbox says which thread it is of; a fork of that thread asks it anew.",
    },
    SYSTEM_REFUSED: {
      message: (d: { reason: string }) => `The system refused: ${d.reason}.`,
      hint: "Check the file or address in the message; earlier records are kept.",
    },
    THREAD_ELSEWHERE: {
      message: (d: { thread: string }) => `Thread ${d.thread} is running in another terminal.`,
      hint: "Follow it with belay log and its id and --follow, stop it with belay interrupt and its id, or wait.",
    },
    THREAD_MOVED: {
      message: (d: { thread: string }) => `Thread ${d.thread} was continued in another terminal, or was deleted.`,
      hint: "See belay log with its id; --resume opens its present state.",
    },
  },
  plain: {
    you: "You:",
    agent: "Agent:",
    tool: "Tool:",
    state: "State:",
    choices: "Type the letter, then Enter:",
  },
};

type Same<T> = T extends (...values: infer V) => string
  ? (...values: V) => string
  : T extends string
    ? string
    : T extends readonly unknown[]
      ? T
      : { readonly [Name in keyof T]: Same<T[Name]> };
export type Texts = Same<typeof en>;
