// The guards of answers and handles, of a tenure, of the commands that wait for one, and of the appends without one.
import { inFile, runner } from "./in-file.mjs";

/** @typedef {import("./in-file.mjs").Guard} Guard */

/** @type {readonly Guard[]} */
export const tenures = [
  ...inFile(`${runner}/decide/check-answer.ts`, ["thread/answers.test", "thread/ask-answers", "graph/approve"], {
    "patterns to remember are judged": ["if (wrong) throw", "if (false) throw"],
    "the approval of code is not judged by the tool of its call": [
      "if (args === undefined || interrupt.key !== undefined) return undefined;",
      "if (args === undefined) return undefined;",
    ],
    "the schema of running code judges a response": ["return checked.ok ? undefined", "return true ? undefined"],
  }),
  ...inFile(`${runner}/decide/stale.ts`, ["front/verbs"], {
    "a command for another run": ["(runId !== undefined && runId !== present.runId) ||", ""],
    "a command for another segment": ["|| (segment !== undefined && segment !== present.segment)", ""],
  }),
  ...inFile(`${runner}/decide/check-handle.ts`, ["thread/handles", "thread/resume-handle"], {
    "a handle of another run or segment": ["standing.runId !== runId || standing.segment !== segment ||", ""],
    "a handle with another token": ["if (!isSameHash(", "if (false && !isSameHash("],
    "a handle that has expired": ["if (tokenUntil !== undefined && tokenUntil <= now) {", "if (false) {"],
  }),
  ...inFile(`${runner}/decide/requests.ts`, ["thread/permissions", "thread/expiry"], {
    "an approval of several adds no rule before the last": [
      "open ? { open } : remembering(request!.interrupt, answer, by, now)",
      "{ ...(open && { open }), ...remembering(request!.interrupt, answer, by, now) }",
    ],
    "only a rule for good is a row": ['fact.remember === "always" && rule !== undefined', "rule !== undefined"],
    "a thread whose requests are answered is due": [": { from, dueAt: 0 };", ": { from };"],
  }),
  ...inFile(
    `${runner}/thread/tenure.ts`,
    [
      "decide/prepare",
      "thread/door",
      "thread/mail.test",
      "thread/store-failure",
      "thread/remote-stop.test",
      "thread/lifecycle",
      "thread/answer-races",
      "thread/answer-resume",
      "front/send-by-worker",
    ],
    {
      "the row of the command that begins it is consumed": [
        "if (asked.byRow) this.#mailbox.rows.push(asked.command.key);",
        "",
      ],
      "a tenure with open requests only announces no input": ["state?.openOnly ? [] :", ""],
      "a close before the beginning is named": ["this.#fail(closed ? belay", "this.#fail(false ? belay"],
      "a lease that was not returned is returned first": ["if (host.isHolding) await host.letGo();", ""],
      "a closed session begins nothing": ['if (this.#stops.intent === "close" && !isStop)', "if (false)"],
      "a row that was taken back begins nothing": ["refusal.keys.includes(rowThatBegins(this.command))", "false"],
      "rows that waited are read": ["if (this.#drive!.writer.mail) await this.#mailbox.look();", ""],
      "a run waits for no other run": ['if (state.state === "running") {\n      throw', "if (false) {\n      throw"],
      "a refusal counts for the present thread": ["(row.head === head && !openOnly)", "true"],
      "a run waits for no result of a command that began nothing": [
        " || this.state === undefined) return next",
        ") return next",
      ],
    },
  ),
  ...inFile(`${runner}/thread/tenure.ts`, ["thread/stood-still"], {
    "nothing runs before the lease is known to be valid": ["if (!writer.isHeld) await writer.alone(() => []);", ""],
  }),
  ...inFile(`${runner}/write/writer.ts`, ["thread/stood-still"], {
    "no caller resumes after the lease has ended": ["mailbox === undefined && this.isHeld)", "mailbox === undefined)"],
    "the lease is valid after the rows were read": ["unread = undefined;", "return this.#wake(batch);"],
    "the lease is valid after a renewal": [
      "if (!this.isHeld) {",
      "if (!this.isHeld && this.#provedAt === this.appendedAt) {",
    ],
    "a clock that was set back proves nothing": ["age >= 0 && ", ""],
    "no code gets a decision after the lease has ended": [
      "(this.#facts, last);\n      if (last.released",
      "(this.#facts, last);\n      this.#giveDecisions(this.#facts);\n      if (last.released",
    ],
  }),
  ...inFile(`${runner}/read/until-taken.ts`, ["thread/door"], {
    "a wait ends with its owner": ["loaded.row.lease === undefined && !isHeldHere()", "false"],
    "a wait does not end while this process has the thread": [" && !isHeldHere()", ""],
  }),
];

/**
 * Guards for which no test is named yet. Each was taken out with a few test files only, or not at all: it may need a test, other
 * test files, or to be deleted. `node scripts/guards.mjs <name> <test files>` tries one.
 * @type {readonly Guard[]}
 */
export const untried = [
  ...inFile(`${runner}/decide/check-answer.ts`, ["thread/answers.test", "thread/ask-answers", "graph/approve"], {
    "the agent that asks judges edited arguments": [
      "agentAt(checker.agent, runPath) ?? checker.agent",
      "checker.agent",
    ],
  }),
  ...inFile(`${runner}/decide/requests.ts`, ["thread/permissions", "thread/expiry"], {
    "only a thread that waits for people moves by itself": [
      'if (pauseType !== "tool_interrupt") return undefined;',
      "",
    ],
    "the open fold begins before a request without a call": ["from = Math.min(from, raised);", ""],
    "the open fold has the shared values": ["facts.some(setsValues)) from = 1;", "facts.some(setsValues)) {}"],
    "a request that is answered now is not open": ["if (!close.includes(interrupt.id)) open", "open"],
    "code that asks to be run again waits for a person": [
      'resumePause(interrupts) === "tool_interrupt" ? { from }',
      "false ? { from }",
    ],
  }),
  ...inFile(
    `${runner}/thread/tenure.ts`,
    [
      "decide/prepare",
      "thread/door",
      "thread/mail.test",
      "thread/store-failure",
      "thread/remote-stop.test",
      "thread/lifecycle",
      "thread/answer-races",
      "thread/answer-resume",
      "front/send-by-worker",
    ],
    {
      "a thread that was deleted is gone": ['if (refusal.why === "conflict" && refusal.head < from)', "if (false)"],
      "a tenure does not try for ever": ["if (tries === REOPEN_TRIES) {", "if (false) {"],
      "only a run waits for another process": ["if (!this.mayCallModel) throw refusal;", ""],
      "a run that another process began is followed": [
        "if (known !== undefined) throw new OnRecord(known);",
        "if (false) throw new OnRecord(known);",
      ],
      "a stop ends the wait": ["await this.#stops.signal.orStopped(untilFree", "await (untilFree"],
      "a wait that was too long is refused": ["if (!isFree) throw refusal;", ""],
      "a refusal of a thread in another process is a doubt": [
        "if (row?.lease !== undefined) return",
        "if (false) return",
      ],
      "answered calls run in the present segment": [
        "if (!this.mayCallModel) this.#place = placeIn(state, this.#place);",
        "",
      ],
      "a tenure that is over is not closed": ["if (!this.#over) this.#close(ended", "this.#close(ended"],
      "the receipt of a stop waits for processes": [
        "if (gone !== undefined && this.#stops.signal.stop !== undefined) await",
        "if (false) await",
      ],
      "force ends the wait for processes": ["signal.on(forced);", ""],
      "force before the wait for processes": ["    forced.stopped();\n", ""],
      "no hook speaks of a termination": ["asked === undefined || intent !== undefined", "asked === undefined"],
      "no hook speaks of a stop that keeps requests": ["if (asked.keepsRequests && isAsked(", "if (false && isAsked("],
      "the cut answer is recorded before hooks are called": [
        "if (cut) await new Promise",
        "if (false) await new Promise",
      ],
      "the cut answer is recorded once": ["cut ? { ...ended, facts: [] } : ended, said", "ended, said"],
      "answers sent before a pause continue the run": [
        'if (ended.how === "asking" && openRequests(state).length > 0) await this.#mailbox.look();',
        "",
      ],
      "a command that is being taken comes before a pause": [
        "while (this.#taking?.size && !this.#over) await",
        "while (false) await",
      ],
      "an answer that no code heard continues the run": [
        'if (ended.how !== "asking" || !drive.unheard || this.#over) return ended;',
        "if (true) return ended;",
      ],
      "a tenure that ended takes nothing back": [
        "this.over.then(() => undefined)]",
        "new Promise<undefined>(() => {})]",
      ],
      "a row that was taken back is not applied": ["isWithdrawn = byRow && !", "isWithdrawn = false && !"],
      "a row is not for an ended tenure": ["    if (this.#over) return;\n    if (isSignal", "    if (isSignal"],
      "a stop meets the run that waits": ["const next = this.next?.stop(command);", "const next = undefined;"],
      "a drain lets approved calls run": ["this.mayCallModel ? this.#stops.drain() :", "true ? this.#stops.drain() :"],
      "a close meets the run that waits": ["this.next?.close(stop), ", ""],
      "a forced close meets the run that waits": ["    this.next?.force();\n", ""],
      "a run that was stopped before it began does not begin": [
        "if (next.#stops.signal.stop === undefined || !isOver)",
        "if (true)",
      ],
      "words of a run that was stopped are recorded": ["&& !saysSomething(next.command))", ")"],
      "a lost lease ends the tenure": ["if (!kept && !this.#over && !drive", "if (false && !drive"],
      "a lease that is being returned is not lost": ["&& !drive.writer.isReleasing) {", ") {"],
      "a renewal that fails is a doubt": ["      return storeError(this.#host.key, error);\n", ""],
      "requests that are kept stay open": ["kept === undefined ? ended : leftOpen(", "true ? ended : leftOpen("],
      "only a stop has an accepted receipt": [
        "intent === undefined && asked !== undefined;\n      this.#finish",
        "true;\n      this.#finish",
      ],
      "a failed tenure returns its lease": [
        'if (fence !== undefined && error.code !== "FENCED") void',
        "if (false) void",
      ],
      "a failed tenure aborts its work": ["    signal.raise({ at", "    void ({ at"],
      "a failed tenure leaves calls behind": ["    signal.force();\n    // A stop before", "    // A stop before"],
      "a stop before the beginning is accepted": [
        "error instanceof UserInterrupt;\n    const receipt",
        "false;\n    const receipt",
      ],
    },
  ),
  ...inFile(`${runner}/read/until-taken.ts`, ["thread/door"], {
    "a wait ends with its command": ["|| isOver(loaded)) return", ") return"],
    "a wait ends with its signal": ["if (signal?.aborted || clock", "if (clock"],
    "a wait has a bound": ["|| clock.now() >= due) return false;", ") return false;"],
    "a signal wakes the wait": ['signal?.addEventListener("abort", news.wake);', ""],
    "a hint between two looks counts": ["    if (!came) {", "    if (true) {"],
    "an answer of the release before is taken": ['|| fact.type === "request-answered")', ")"],
  }),
  ...inFile(`${runner}/thread/written.ts`, ["thread/mail", "thread/steer", "thread/stop-resting", "front/send-"], {
    "the append at rest consumes the row of its command": ["byRow ? command.key : undefined", "undefined"],
  }),
  ...inFile(`${runner}/thread/send.ts`, ["thread/mail", "thread/steer", "thread/stop-resting", "front/send-"], {
    "a closed session sends nothing": ["  thread.refuseIfClosed();\n", ""],
    "an input for a segment is judged by the store": ["isMeant ? await presentOf(thread) : ", ""],
    "an input that was sent before has its id": [
      "if (id !== undefined && (await wasSent(thread, id))) return { id };",
      "",
    ],
    "a thread that was deleted gets no input": [
      "if (!thread.isWriting) await thread.recall.read(Number.MAX_SAFE_INTEGER);",
      "",
    ],
    "an input that the store knows is not delivered": ["if (sent && thread", "if (thread"],
    "an input does not wait for the run behind answered calls": [
      'if (thread.tenure?.mayCallModel === false && thread.standing.state !== "created") return;',
      "",
    ],
    "a hook may send an input": ["if (hooksNamed(thread", "if (undefined === undefined || hooksNamed(thread"],
    "an input waits for a run that begins": ["      await thread.opening;\n", ""],
    "a thread on record is left as it is": ['  if (thread.standing.state !== "created") return;', ""],
    "a stop of a new thread puts nothing on record": [' && thread.standing.state !== "created") return;', ") return;"],
    "another process may put the thread on record": [
      '!["STORE_CONFLICT", "THREAD_BUSY"].includes(',
      "!([] as string[]).includes(",
    ],
    "an input that was consumed was sent": ["return isConsumed || (", "return ("],
    "an input that waits was sent": [
      "return isConsumed || (loaded?.commands.some((command) => command.key === id) ?? false);",
      "return isConsumed;",
    ],
    "only inputs can be taken back": ['!isOwnKey(readName("id", id)) && ', ""],
  }),
  ...inFile(
    `${runner}/decide/prepare.ts`,
    ["thread/approval", "thread/answers.test", "thread/resume", "front/work.test"],
    {
      "an answer of a resume has its caller": [
        "answer.by === undefined && by !== undefined ? { ...answer, by } : answer",
        "answer",
      ],
    },
  ),
  ...inFile(`${runner}/decide/run.ts`, ["thread/approval", "thread/answers.test", "thread/resume", "front/work.test"], {
    "calls that a failed run held are closed": [
      'isOpen && ({ mode: "rethink", repair: agent.repair } as const)',
      "undefined",
    ],
    "the input of a row is consumed": [
      "if (row === undefined) facts.push(...callerFacts",
      "if (true) facts.push(...callerFacts",
    ],
  }),
];
