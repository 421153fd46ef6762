// The guards of the door to a thread: submit, signal, decide, and the table of how calls end. Each has a test that fails without
// it. A guard that no test misses is not needed, or its test is missing.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { inFile, runner } from "./in-file.mjs";
import { tenures, untried } from "./tenure.mjs";

export { untried };

/** @typedef {import("./in-file.mjs").Guard} Guard */

const stops = [
  "thread/lifecycle",
  "thread/made-again",
  "decide/decide",
  "thread/door",
  "thread/stop-",
  "thread/remote-stop",
  "thread/resume-stop",
  "thread/receipt",
  "thread/races",
  "front/verbs",
];
const answers = [
  "decide/decide",
  "thread/door",
  "thread/answer",
  "thread/ask-",
  "thread/handles",
  "thread/resume-handle",
  "thread/expiry",
  "thread/permissions",
  "thread/mail",
  "front/verbs",
  "front/threads",
  "front/start-where",
  "front/inbox",
  "graph/breakpoint",
];

const decide = inFile(`${runner}/decide/decide.ts`, answers, {
  "a command on record is not decided again": ["if (known !== undefined) return { known };", ""],
  "a refused command has another try": ["context.byRow ? given : nextTry(state, given)", "given"],
  "a refused row has no other try": ["context.byRow ? given : nextTry(state, given)", "nextTry(state, given)"],
  "a handle waits for calls": ['command.do === "handle" && context.callsRun', "false"],
  "a command with an id is kept": ["isKept(command) || context.byRow ?", "context.byRow ?"],
  "an answer finds itself": ["return [isNamed ? fact : { key, ...fact }, ", "return [fact, "],
  "a command by a row is kept": ["isKept(command) || context.byRow ?", "isKept(command) ?"],
  "a row that is refused is consumed": ['if (!byRow || "wait" in decision) return [];', "return [];"],
  "a request that is not there may be in doubt": ['command.do !== "answer" || (', "true || ("],
  "too many labels": ["refuseTooMany(state, fact.labels ?? {});", ""],
  "a stop records itself": ["if (isSignal(command) || begins", "if (begins"],
  "a run records itself": ["|| beginsSegment(command) ||", "||"],
  "an input records itself": [' || command.do === "input") return { facts };', ") return { facts };"],
  "an input makes a thread": ["return onRecord(state, place);", "return [];"],
  "user code judges a command": ["if (prepared?.refusal !== undefined) return", "if (false) return"],
  "other requests that expired end with an answer": [", ...expiries(place, state, now)];", "]; void now;"],
  "a breakpoint makes a thread": [
    "return onRecord(state, place, breakpointFact",
    'return onRecord({ ...state, state: "paused" }, place, breakpointFact',
  ],
  "a label makes a thread": ["return onRecord(state, place, fact);", "return [fact];"],
  "a rule that is not there": ["state.rules?.some(({ id }) => id === rule) ?", "true ?"],
  "a new handle keeps the kind of pause": ["{ ...state, tokenHash,", '{ ...state, pauseType: "manual", tokenHash,'],
  "a new handle keeps the requests": [
    "{ ...state, tokenHash,",
    "{ ...state, requests: undefined, interrupts: [], tokenHash,",
  ],
  "a new handle ends in time": ["tokenHash, tokenUntil })", "tokenHash, tokenUntil: undefined })"],
  "a refusal by row is recorded": ['"refusal" in decision ? decision.refusal : undefined)];', "undefined)];"],
  "a command is judged by the state of its append": ["    judge(state, command, context.place);\n", ""],
});

const command = inFile(`${runner}/decide/command.ts`, answers, {
  "a stop that met nothing has no other try": [
    "known?.refused === undefined || isSignal(command)",
    "known?.refused === undefined",
  ],
});

const begins = [
  "decide/prepare",
  "thread/withdraw",
  "workflow/refused-resume",
  "workflow/ask-trees",
  "workflow/stop-trees",
  "graph/state",
  "decide/decide",
  "thread/call-ends",
  "thread/expiry",
  "thread/resume",
  "thread/lifecycle",
  "thread/steer",
  "thread/mail",
  "thread/drift",
  "thread/ask-",
  "thread/handles",
  "thread/run-id",
  "thread/stale",
  "thread/answers",
  "front/verbs",
  "front/send-",
  "front/started",
  "front/work.test",
];

const prepare = inFile(`${runner}/decide/prepare.ts`, begins, {
  "a command that is refused calls no hook": ["if (beginsSegment(command)) judge(state, command, place);", ""],
  "user code judges the answers of a resume": ["await ask(judged(preparer, state, command, id, answer))", "answer"],
  "user code judges words that answer": ["await ask(judged(preparer, state, command, question.id, words))", "words"],
  "user code that is asked gets a grace": ["if (done === undefined) throw", "if (false) throw"],
  "only text answers": ['if (parts.some(({ type }) => type !== "text")) {', "if (false) {"],
  "the input of a resume is not its own steer": ["waiting.filter(({ key }) => key !== command.row)", "waiting"],
  "a drift function that fails refuses": ["    throw refused(error);\n", "    throw error;\n"],
  "an agent that changed is refused": ['if (verdict === "refuse" || verdict === false) throw refused();', ""],
});

const judge = inFile(`${runner}/decide/judge.ts`, [...begins, ...answers], {
  "a thread that rests otherwise takes no new run": ['  run: ["created", "initialized", "completed", "error"],\n', ""],
  "a thread that is over takes no resume": ['  resume: ["paused", "running", "error"],\n', ""],
  "code that waits for a person is woken in a pause": ['  wake: ["paused"],\n', ""],
  "a handle is for a pause": ['  handle: ["paused"],\n', ""],
  "no input after the end": ["  input: LIVING,\n", ""],
  "no breakpoint after the end": ["  breakpoint: LIVING,\n", ""],
  "no label after the end": ["  label: LIVING,\n", ""],
  "code that another process moved is not woken": ['command.do === "wake" && command.head !== state.head', "false"],
  "an input for another segment": ['if (command.do === "input") refuseIfStale', "if (false) refuseIfStale"],
  "a paused thread needs resume()": ['if (state === "paused") throw', "if (false) throw"],
  "a running thread is named": ['if (state === "running" && command.do === "handle") throw', "if (false) throw"],
  "a resume of an earlier segment": ["refuseIfStale(threadId, command, present);\n  const paused", "const paused"],
  "a worker resumes the pause that it met": ["command.ofPause !== undefined && command.ofPause !== paused", "false"],
  "a segment that is over": ["if (run?.id !== place.runId || run.segment !== segment) throw", "if (false) throw"],
  "a token of another pause": ["if (tokenHash !== state.tokenHash) throw", "if (false) throw"],
});

const run = inFile(`${runner}/decide/run.ts`, begins, {
  "calls that a failed run left end": ["const facts = callEnds(", "const facts: Fact[] = true ? [] : callEnds("],
  "the caller of a run is named": ["return by === undefined ? [] :", "return true || by === undefined ? [] :"],
});

const resume = inFile(`${runner}/decide/resume.ts`, begins, {
  "requests that expired are decided": [
    "answers.has(request.id) || isExpired(request, now)",
    "answers.has(request.id)",
  ],
  "words for one of several questions": ["if (open.length > 1) throw belayError", "if (false) throw belayError"],
  "a request that is kept stays": ['open.filter(({ onNewInput }) => onNewInput !== "keep")', "open.slice()"],
  "a steer is queued once": [".filter(({ id }) => !state.queued?.has(id)),\n  );", ",\n  );"],
  "a failed run begins again": ['if (state.state === "error") facts.push', "if (false) facts.push"],
  "an agent that is named decides about its own requests": [
    "return to === undefined || isWithin(state.requests!.get(request.id)!.runPath, [to]);",
    "return true;",
  ],
  "input beside answers waits for the results": ["(hasInput && answers.size === 0 ?", "(hasInput ?"],
  "a mode that is named counts": ["if (wanted !== undefined || mode", "if (mode"],
  "an input that was announced is not announced again": ["queued?.has(id) ? [] :", ""],
  "a message that is only observed begins no agent anew": [
    "if (mail.observed && !isRoot && !paths.includes(runPath)) continue;",
    "",
  ],
  "an input is consumed once": ['isRoot ? entering : entering.filter(({ type }) => type === "message")', "entering"],
  "only a graph has a state to change": [
    "if (other !== undefined) {\n    const needed",
    "if (false) {\n    const needed",
  ],
  "an agent without a history reads nothing": ['last !== "nothing" && agentAt', "agentAt"],
  "the agent around a call hears for the agents inside": [
    "(to === undefined ? !inCall(path) : isWithin",
    "(to === undefined ? true : isWithin",
  ],
  "an agent that was not cut cannot be named": ["if (to !== undefined && wanted.length === 0) {", "if (false) {"],
});

const submit = inFile(`${runner}/thread/submit.ts`, answers, {
  "a refused command is not sent": [
    'if ("refusal" in decision) throw decision.refusal;\n      if (command.do',
    "if (command.do",
  ],
  "a known command is not sent": ['if ("known" in decision) return recorded(door, command, decision.known);', ""],
  "a command that was taken elsewhere has its outcome": [
    "if (sent && taken !== undefined) return recorded(door, command, taken);",
    "",
  ],
  "a row of another sender that is gone": ["      if (isSent) throw belay", "      if (false) throw belay"],
  "a row that was taken back is sent again": ["taken it back.\n      sent = false;", "taken it back."],
  "edited arguments fit their schema": ['if (command.do === "answer") refuseMisfitArgs', "if (false) refuseMisfitArgs"],
  "a refused command has another try, elsewhere": ["if (!sent) command = nextTry(state, command);", ""],
  "an answer for a worker is not waited for": ["if (toWorker && (await leaseOf(door)) === undefined)", "if (false)"],
  "an aborted wait leaves the command": ["    signal?.throwIfAborted();\n", ""],
  "a command that was waited for too long is taken back": [
    "!isSent && !(await store.withdraw(key, command.key))",
    "false",
  ],
  "an answer for a worker is not taken here": ['if (toWorker) return { how: "elsewhere" };', ""],
  "a command on record at rest has its outcome": [
    'if ("known" in opened) return { how: "done", outcome: await recorded(thread, command, opened.known) };',
    "",
  ],
  "a closed session takes nothing": ["thread.refuseIfClosed();", ""],
  "a command waits for a tenure to open": ["    await tenure.opening;\n    // It reads", "    // It reads"],
  "a busy thread is elsewhere": ['code === "THREAD_BUSY" || (', "false || ("],
  "a row that is gone was consumed": ['(code === "INPUT_WITHDRAWN" && sent)', "false"],
  "another append came first": ['if (code === "STORE_CONFLICT") return "again";', ""],
  "a refused row is consumed": [
    'if (sent && (code.startsWith("ANSWER_") || code === "USER_INTERRUPT")) await consume(thread, command, opened.refusal);',
    "",
  ],
});

const signals = inFile(`${runner}/thread/signal.ts`, stops, {
  "a stop is aimed at what a tenure left": [
    "aimedAt(command, tenure.state === undefined ? thread.standing : receipt)",
    "command",
  ],
  "a stop is aimed at what it reads": ["aimedAt(order.command, at)", "order.command"],
  "a stop keeps the aim of its tenure": [
    "const command = tenure.command as SignalCommand;",
    "const { command } = order;",
  ],
  "a stop at rest names the segment that it met first": ["order.first ??= thread.standing;", ""],
  "a stop that met nothing names the segment that it met first": ["order.first ??= { runId, segment };", ""],
  "a stop after a resume is for its segment": [
    "tenure === undefined || isSignal(tenure.command) ?",
    "tenure === undefined ?",
  ],
  "a joined stop waits for a tenure that comes to nothing": [
    "await (isSignal(tenure.command) ? tenure.over : tenure.opening);",
    "return;",
  ],
  "a resume ahead begins first": ["if (ahead.length > 0 && isForNext(command, door.thread)) await", "if (false) await"],
  "a running thread is stopped at once": [
    "if (ahead.length > 0 && isForNext(command, door.thread)) await",
    "if (ahead.length > 0) await",
  ],
  "a stop does not wait for ever": ["Promise.race([begun, late])", "Promise.race([begun])"],
  "a stop for another segment misses": ["if (isStale(command.options, at)) return", "if (false) return"],
  "a termination for another segment is refused": [
    'if (command.do === "terminate") refuseIfStale(',
    "if (false) refuseIfStale(",
  ],
  "a termination is for the whole thread": [
    'command.do === "terminate" ? thread.state === "terminated" : receipt.accepted',
    "receipt.accepted",
  ],
  "a stop that came too late for a pause looks again": [" && !leavesRequests(command, thread);", ";"],
  "a termination of a closed session": ['if (order.command.do === "terminate") thread.refuseIfClosed();', ""],
  "a thread that is not there": ["if (loaded === undefined && door.thread === undefined) throw", "if (false) throw"],
  "a thread made again is another one": [
    "if (thread.isGone && order.door.thread !== thread) return",
    "if (false) return",
  ],
  "an id on record has its receipt": ["return taken && onRecord(order, taken);", "return undefined;"],
  "a stop that met nothing is no error": [
    'if (code === "INVALID_STATE" && command.do !== "terminate") return',
    "if (false) return",
  ],
  "a thread that is busy is elsewhere": ['["THREAD_BUSY", "STORE', '["STORE'],
  "a joined stop is put on record": ["if (isDone && receipt.accepted) await putOnRecord(order, thread, receipt);", ""],
  "calls left behind here are listed": [
    "door.thread?.behind.filter((id) => !receipt.late.includes(id)) ?? []",
    "[] as string[]",
  ],
  "a stop that was sent joins the stops of its segment": ["{ ...command, joins: true };\n", "command;\n"],
  "a stop that was sent and missed has the segment that it was sent to": [
    "if (command.joins && taken.refused !== undefined)",
    "if (false)",
  ],
  "a stop does not wait for the end of a later segment": ["=> isStale(command.options, fact);", "=> false;"],
});

const atRest = inFile(`${runner}/decide/signal.ts`, stops, {
  "a stop that keeps requests withdraws none": ["asked.keepsRequests || isStale", "isStale"],
  "a stop for another segment": ["asked.keepsRequests || isStale(options, place)", "asked.keepsRequests"],
  "a stop that met nothing is remembered": [
    "if ((command.id === undefined && !command.joins) || state.head === 0) throw",
    "throw",
  ],
  "a stop that met nothing leaves the pause": [
    'state.state === "paused" ? [fact, samePause(place, state)] : [fact]',
    "[fact]",
  ],
  "a stale termination is refused": ["refuseIfStale(threadId, options,", "void (threadId, options,"],
  "a stop that joins is not refused": [
    "commandFact(place, command, isJoined ? undefined : refusal)",
    "commandFact(place, command, refusal)",
  ],
  "a termination that joins another one is not refused": [" || command.joins);", ");"],
  "a thread ends once": ['move(state === "running" ? "paused" : state, "terminated");', ""],
});

const ending = inFile(`${runner}/decide/ending.ts`, stops, {
  "the run ends with its thread": ["const end = isUnderWay ?", "const end = false ?"],
  "calls end with their thread": ['[...callsEnd("over", circumstances.by), ...end]', "end"],
  "calls end with the requests they wait for": ['callsEnd("stop", interrupt.by)', 'callsEnd("pause")'],
});

const tenureAtRest = inFile(`${runner}/thread/tenure.ts`, stops, {
  "a stop at rest is on record with its key": [
    "if (isSignal(asked.command)) void this.#stops.take(asked.command);",
    "",
  ],
  "a stop at rest reads the store": ["await host.load(isStop, isWhole)", "await host.load(false, isWhole)"],
  "code that a stop ended is dropped": ['if (receipt.accepted || state.state === "terminated") hot.dropAll();', ""],
  "processes end before the receipt": ["if (hot.gone !== undefined) await this.#untilGone(hot.gone);", ""],
  "a released lease is not renewed": [
    "this.#over || isSignal(this.command)) return undefined;",
    "this.#over) return undefined;",
  ],
  "a run that waits for a stop begins": ["if (isSignal(this.command) || ", "if ("],
  "a stop at rest takes no rows": ["    if (!isStop) {\n", "    {\n"],
});

const take = inFile(
  `${runner}/thread/tenure.ts`,
  [...answers, "thread/remote-stop", "thread/stop-", "thread/pause-asked"],
  {
    "a refusal is proved": ["if (!hasSubject(drive.state, command)) {", "if (false) {"],
    "a doubt is not a refusal": ["(doubt ?? decision.refusal)", "decision.refusal"],
    "a stop does not wait for user code": ["if (prepared === undefined) return undefined;", ""],
    "a stop is for one segment": ["if (isStale(options, this.#place) || ", "if ("],
    "a missed stop is not sent again": ["|| this.#stops.hasMissed(key)) {", ") {"],
    "a missed stop with an id is on record": [
      "if (isKept(command)) this.#stops.record(",
      "if (false) this.#stops.record(",
    ],
    "answered calls run past a pause": ["const own = isParked ?", "const own = false ?"],
  },
);

const table = "packages/core/src/journal/call-ends.ts";
const source = readFileSync(join(dirname(fileURLToPath(import.meta.url)), "../..", table), "utf8");

/** Each row of the table that has an end, with its ends moved by one cause. @type {Guard[]} */
const ends = [...source.matchAll(/^ {2}(\w+): +\[(.*)\],$/gm)].flatMap(([guard, phase, row = ""]) => {
  const [first = "", ...others] = row.split(",").map((cell) => cell.trim());
  if ([first, ...others].every((cell) => cell === "_")) return [];
  const name = `journal/call-ends.ts: the ends of a call that is ${phase}`;
  const instead = `  ${phase}: [${[...others, first].join(", ")}],`;
  return [{ name, file: table, guard, instead, tests: ["journal/call-ends"] }];
});

const rules = inFile(table, ["journal/call-ends", "thread/call-ends", "workflow/"], {
  "a call whose request stays open stays": ["asking.has(phase) && !waiting.has(callId);", "false;"],
  "a call that ends in the same append has its end": ["ended.has(callId) ? undefined :", ""],
  "the innermost agents come first": ["scopes.sort((a, b) => (a.path < b.path ? 1 : -1));", ""],
  "an agent that has ended does not end again": ["if (!isRunning(state, scope) || ", "if ("],
  "the agent that reports the ends does not end": ["runPath === place.runPath || ", ""],
  "an agent that ends in the same append has its end": ["ended.has(runPath) || ", ""],
  "agents outside of the calls stay": ["ended.has(runPath) || !ends(runPath)) return", "ended.has(runPath)) return"],
  "requests of other agents stay open": [".filter(({ id }) => isHere(state.requests!.get(id)!.runPath))", ""],
  "calls of other agents stay": [".filter(({ path }) => isHere(path))", ""],
  "agents of another run have ended": ["runId !== undefined && runId === run?.id &&", ""],
  "a call with a decided request does not ask": ["known && known.decision === undefined", "known"],
  "a request that was answered before the segment has continued": ["settled > from)", "settled > 0)"],
});

/**
 * Guards without a test that fails without them. In each case another rule gives the caller the same outcome: later, or with one
 * more refused command on record.
 * @type {readonly Guard[]}
 */
export const unproved = [
  ...inFile(`${runner}/thread/submit.ts`, [], {
    "a command that is taken while it is taken back": [
      "if (last !== undefined) return recorded(door, command, last);",
      "",
    ],
    "a tenure reads its rows itself": ["if (sent && tenure.readsRows)", "if (false)"],
  }),
  ...inFile(`${runner}/thread/signal.ts`, [], {
    "the receipt of answered calls counts": ["if (stopped !== undefined) met.push(stopped);", ""],
    "the first accepted receipt counts": ["await bestOf(order.met, found)", "found"],
  }),
  ...inFile(`${runner}/thread/tenure.ts`, [], {
    "a tenure that ends takes nothing": ["drive === undefined || this.#closing || this.#over", "drive === undefined"],
  }),
];

/** @type {readonly Guard[]} */
export const guards = [
  ...decide,
  ...command,
  ...prepare,
  ...judge,
  ...run,
  ...resume,
  ...submit,
  ...signals,
  ...atRest,
  ...ending,
  ...tenureAtRest,
  ...take,
  ...ends,
  ...rules,
  ...tenures,
];
