// The end of a life: all is stopped and must settle; then the processes die, and a new one resumes in calm all open work, to its
// end.

import type { RunResult, Session } from "@belay/core";
import { isRequest, startQueued, threadOf } from "@belay/core/inside";
import type { Process } from "../simulation/process.ts";
import { LEASE_MS, THREAD } from "../simulation/segment.ts";
import { ticks } from "../simulation/tick.ts";
import { yes } from "./answers.ts";
import type { Life } from "./life.ts";

/** Stops all: no run may continue, and no call may wait without end. */
export async function stopAll(life: Life): Promise<void> {
  // Forks are not stopped: those that run come to their own end.
  const forksRest = () =>
    !life.alive.some(({ pending }) => [...pending.values()].some((what) => what.startsWith("move ")));
  await life.stopAll({ letsGo: true, until: forksRest });
  if (life.diverges) await patience(() => life.alive.every(({ pending }) => pending.size === 0));
  life.checkSettled();
}

export async function endInCalm(life: Life): Promise<void> {
  const { clock, witness } = life;
  for (const process of life.alive) process.kill();
  await clock.advance(3 * LEASE_MS);
  life.calm = true;
  witness.note("calm");
  const process = life.start();
  await ticks(30);
  const { session } = process;
  if (session === undefined) return witness.problem("the thread cannot be opened any more");
  witness.checkInbox(THREAD, (await process.runner.inbox()).items, clock.now());
  if (life.dice(8) === 0) await endForGood(life, process, session);
  else if (await goOn(life, session)) await takeWhatWaits(life, process, session);
  witness.checkJournal(THREAD);
  witness.checkDeeds(THREAD);
  witness.checkInbox(THREAD, (await process.runner.inbox()).items, clock.now());
  checkValues(life, (await process.runner.look(THREAD))?.values ?? {});
  checkSaid(life);
  if (session.state === "completed") witness.checkWords(THREAD, session.messages, life.hears);
  if (life.peaceful) witness.checkLateWords(THREAD, await session.waiting());
  for (const threadId of life.forks) {
    const fork = await process.runner.open(threadId);
    if (fork.state !== "created") await goOn(life, fork);
    witness.checkJournal(threadId);
  }
}

/** Every call of `shares` that ended well has set a value under its id, and no other call has. */
function checkValues({ witness }: Life, values: Readonly<Record<string, unknown>>): void {
  const set = new Set<string>();
  for (const fact of witness.facts(THREAD)) {
    if (fact.type !== "tool-end" && fact.type !== "tool-late") continue;
    // A person may have given its result instead.
    if (fact.tool === "shares" && fact.outcome === "ok" && fact.output === "shared") set.add(fact.callId);
  }
  const [shared, ended] = [Object.keys(values).sort().join(), [...set].sort().join()];
  if (shared !== ended)
    witness.problem(`the values are of the calls ${shared}, and those that ended well are ${ended}`);
}

/** A custom agent says its words once in a run, however often it begins again. */
function checkSaid({ witness }: Life): void {
  const said = new Set<string>();
  for (const fact of witness.facts(THREAD)) {
    if (fact.type !== "step" || !fact.key.startsWith("say#")) continue;
    const at = `${fact.runId} ${fact.address}`;
    if (said.has(at)) witness.problem(`${at} was said twice`);
    said.add(at);
  }
}

/** Wherever it stands. */
async function endForGood(life: Life, process: Process, session: Session<unknown>): Promise<void> {
  life.witness.note("terminate");
  process.own("terminate", session.terminate());
  await ticks(60);
  await life.clock.advance(LEASE_MS);
  if (process.pending.size > 0) life.witness.problem("terminate() never settles");
}

/** Approves every request until the thread has ended; returns false if it cannot end. */
async function goOn(life: Life, session: Session<unknown>): Promise<boolean> {
  const { witness } = life;
  const { threadId } = session;
  for (let stretch = 0; stretch < MOST_STRETCHES; stretch++) {
    const { state } = session;
    if (state === "running") {
      await ticks(50);
      await life.clock.advance(50);
      continue;
    }
    if (state !== "paused" && state !== "error") return true;
    const open = session.interrupts.filter(isRequest);
    const answers = Object.fromEntries(open.map((each) => [each.id, yes(each, `last${stretch}`)]));
    const asksAgain = session.interrupts.some(({ kind, node }) => kind === "rerun" && node !== undefined);
    const run = session.resume({ answers, ...(asksAgain && { state: { n: 5 } }) });
    const result = await within(life, run.result);
    if (result === undefined) {
      witness.problem(`${threadId}: resume() never ends`);
      return false;
    }
    witness.note(`  ${threadId} goes on: ${result.status} ${result.status === "failed" ? result.error.code : ""}`);
    if (result.status !== "failed") continue;
    // The value that a call gave to exit() is on record: only a new run can end in another way.
    if (result.error.message.includes("a call ended the run with a value of another shape")) return false;
    if (FAILURES.has(result.error.code)) continue;
    // A person rejected a request in code that does not expect it, or the code had been different.
    if (result.error.code !== "REQUEST_REJECTED" && !(life.diverges && result.error.code === "REPLAY_DIVERGED")) {
      witness.problem(`${threadId} cannot go on: ${result.error.code} ${result.error.message}`);
    }
    return false;
  }
  witness.problem(`${threadId} goes on without end: ${session.state} ${session.pauseType}`);
  return false;
}

/** Lets the thread consume all inputs that wait. */
async function takeWhatWaits(life: Life, process: Process, session: Session<unknown>): Promise<void> {
  for (let round = 0; round < 30; round++) {
    const waiting = (await session.waiting()).filter(({ kind }) => kind === "steer" || kind === "input");
    if (session.state === "terminated" || (waiting.length === 0 && session.state !== "running")) return;
    if (session.state !== "completed" && session.state !== "initialized") {
      if (!(await goOn(life, session))) return;
    } else if (waiting.some(({ kind }) => kind === "steer")) {
      const word = life.word();
      life.watch(process, "run", () => session.run(word), { texts: [word] });
    } else {
      await startQueued(threadOf(session));
    }
    await ticks(40);
  }
  if (life.hears) life.witness.problem(`${JSON.stringify(await session.waiting())} waits for ever, ${session.state}`);
}

/** Returns undefined if the result does not come in any time that passes. */
async function within(life: Life, promise: Promise<RunResult>): Promise<RunResult | undefined> {
  let result: RunResult | undefined;
  void promise.then((settled) => (result = settled));
  for (let i = 0; i < 120 && result === undefined; i++) {
    await ticks(10);
    if (i % 10 === 9) await life.clock.advance(100);
  }
  if (life.diverges) await patience(() => result !== undefined);
  return result;
}

/** Gives code that may diverge some real time to reach its recorded steps. */
async function patience(settled: () => boolean): Promise<void> {
  for (let i = 0; i < 40 && !settled(); i++) await new Promise<void>((resolve) => setTimeout(resolve, 20));
}

/** Models in calm call little, and people are asked for each call, two of them for some. */
const MOST_STRETCHES = 200;

/** A model, a limit or a hook may fail a run in calm, too; it can be resumed. */
const FAILURES = new Set<string>([
  "MAX_TURNS",
  "MAX_TOKENS",
  "OUTPUT_INVALID",
  "MODEL_FAILED",
  "MODEL_REFUSED",
  "CONTEXT_OVERFLOW",
  "AGENT_FAILED",
  "HOOK_FAILED",
]);
