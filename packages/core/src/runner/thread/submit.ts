// The one door to a thread. A command is applied by the process that can write: by the tenure of this process if it has one,
// by an append of its own if the thread rests, else by the owner, to which it is sent as a row. Its outcome is read from what
// is on record. Invariants:
// 1. Only a process that has proved its lease, or that the thread rests, refuses a command (0034).
// 2. A command that was sent is taken once: by the process that consumes its row.
// 3. A command whose sender got THREAD_BUSY cannot act later: its row was taken back first (V1).
// 4. The sender may die after each line: the row stays, and the same id finds its outcome.

import { type BelayError, belayError } from "../../error.ts";
import type { FramePlace } from "../../frame.ts";
import { refuseMisfitArgs } from "../../interrupt/decision.ts";
import { folded } from "../../journal/fold.ts";
import { sketch } from "../../journal/sketch.ts";
import type { ThreadState } from "../../journal/state.ts";
import type { ThreadKey } from "../../store/store.ts";
import { type Command, isSignal, nextTry, rowOf } from "../decide/command.ts";
import { decide, type Outcome, outcomeOf } from "../decide/decide.ts";
import { commandFact } from "../decide/facts.ts";
import type { Setup } from "../given/setup.ts";
import { loadThread } from "../read/read-facts.ts";
import { busy } from "../read/store-error.ts";
import { type Patience, untilTaken, WAIT_MS } from "../read/until-taken.ts";
import type { Door } from "./door.ts";
import type { LiveThread } from "./live-thread.ts";
import { recorded } from "./outcome.ts";
import { sendInput } from "./send.ts";
import { signal as submitSignal } from "./signal.ts";
import { written } from "./written.ts";

/**
 * Applies a command, wherever the thread is, and resolves to its outcome. Rejects with its refusal. `isSent`: a row of the
 * store holds it already, of another sender. If another process has the thread for longer than `waitMs`, the command is taken
 * back, and the refusal is THREAD_BUSY. `signal` ends the wait at any time, and leaves the command where it is.
 */
export function submit<C extends Command>(
  door: Door,
  command: C,
  patience: Patience = {},
  isSent = false,
): Promise<Outcome<C>> {
  if (isSignal(command)) return submitSignal(door, command) as Promise<Outcome<C>>;
  if (command.do === "input") return sendInput(door.thread!, command) as Promise<Outcome<C>>;
  return apply(door, command, patience, isSent);
}

async function apply<C extends Command>(
  door: Door,
  command: C,
  { waitMs = WAIT_MS, signal }: Patience,
  isSent: boolean,
): Promise<Outcome<C>> {
  const { setup, key } = door;
  const { clock, store } = setup;
  const due = clock.now() + waitMs;
  for (let sent = isSent; ; ) {
    const toWorker = door.byWorker === true && command.do === "answer";
    const tried = await door.here((thread) => submitHere(thread, command, sent, toWorker));
    if (tried?.how === "done") return tried.outcome;
    const { state, rows } = await read(door);
    if (!sent) command = nextTry(state, command);
    const taken = state.taken?.get(command.key);
    if (sent && taken !== undefined) return recorded(door, command, taken);
    if (sent && !rows.has(command.key)) {
      if (isSent) throw belayError("INPUT_WITHDRAWN", { threadId: key.threadId, ids: command.key });
      // Another caller under the same id has taken it back.
      sent = false;
    }
    if (!sent) {
      const context = { place: anywhere(key), now: clock.now(), groups: setup.groups, ...dry };
      const decision = decide(state, command, context);
      if ("known" in decision) return recorded(door, command, decision.known);
      if ("refusal" in decision) throw decision.refusal;
      if (command.do === "answer") refuseMisfitArgs(state.requests!.get(command.request)!.interrupt, command.answer);
      await store.send(key, rowOf(command, clock.now()));
      sent = true;
    }
    if (toWorker && (await leaseOf(door)) === undefined) return sentOutcome(command, state, setup);
    // Taken, or free again: the next round sees which. A row that is gone was consumed. A tenure of this process takes the row by
    // itself: rounds that did not wait for it would follow each other without end, and stop the event loop.
    const isHeldHere = () => door.thread?.tenure?.readsRows === true;
    const wait = { signal, waitMs: due - clock.now(), isHeldHere };
    if (await untilTaken(setup, key, command.key, state.head, wait)) continue;
    signal?.throwIfAborted();
    if (!isSent && !(await store.withdraw(key, command.key))) {
      const last = (await read(door)).state.taken?.get(command.key);
      if (last !== undefined) return recorded(door, command, last);
    }
    throw await busyElsewhere(door);
  }
}

type Tried<C extends Command> = { readonly how: "done"; readonly outcome: Outcome<C> } | { readonly how: "elsewhere" };

async function submitHere<C extends Command>(
  thread: LiveThread,
  command: C,
  sent: boolean,
  toWorker: boolean,
): Promise<Tried<C>> {
  for (;;) {
    thread.refuseIfClosed();
    const { tenure } = thread;
    // The code that is asked may be the caller, and wait for this command.
    const isAsking = tenure?.isAsking === true && command.do !== "answer";
    if (tenure === undefined || isAsking) {
      if (toWorker) return { how: "elsewhere" };
      const tried = await atRest(thread, command, sent);
      if (tried !== "again") return tried;
      continue;
    }
    await tenure.opening;
    // It reads its rows itself: taken twice, the row would be gone the second time.
    if (sent && tenure.readsRows) return { how: "elsewhere" };
    const taken = await tenure.take(command);
    if (taken !== undefined) {
      const outcome = "known" in taken ? await recorded(thread, command, taken.known) : taken.outcome;
      return { how: "done", outcome };
    }
    await tenure.over;
  }
}

/** Applies a command by an append of its own, which takes the lease. */
async function atRest<C extends Command>(thread: LiveThread, command: C, sent: boolean): Promise<Tried<C> | "again"> {
  const { opened, state } = await written(thread, command, sent);
  if ("known" in opened) return { how: "done", outcome: await recorded(thread, command, opened.known) };
  if ("facts" in opened) return { how: "done", outcome: outcomeOf(command, state!, opened.facts) };
  const { code } = opened.refusal;
  // Another process consumed the row in the meantime: the journal has its outcome.
  if (code === "THREAD_BUSY" || (code === "INPUT_WITHDRAWN" && sent)) return { how: "elsewhere" };
  if (code === "STORE_CONFLICT") return "again";
  if (sent && (code.startsWith("ANSWER_") || code === "USER_INTERRUPT")) await consume(thread, command, opened.refusal);
  throw opened.refusal;
}

/** A row that no process can take: left in the store, it would be tried again and again. */
async function consume(thread: LiveThread, command: Command, refusal: BelayError): Promise<void> {
  await thread.append((place) => [commandFact(place, command, refusal)], command.key).catch(() => {});
}

const dry = { callsRun: false, byRow: false };

function anywhere({ threadId }: ThreadKey): FramePlace {
  return { threadId, runId: "", segment: 1, agentName: "", runPath: "" };
}

/** Returns the thread as the store has it, with the keys of the rows that wait for it. */
async function read({ setup, key }: Door): Promise<{ state: ThreadState; rows: ReadonlySet<string> }> {
  const loaded = await loadThread(setup.store, key);
  const state = folded(key.threadId, loaded?.lines ?? []);
  return { state, rows: new Set(loaded?.commands.map((row) => row.key)) };
}

async function leaseOf({ setup, key }: Door) {
  return (await loadThread(setup.store, key, Number.MAX_SAFE_INTEGER))?.row.lease;
}

/** Returns the outcome that a worker will find, if the thread stays as it is. */
function sentOutcome<C extends Command>(command: C, state: ThreadState, { clock, groups }: Setup): Outcome<C> {
  const place = anywhere({ tenant: "", threadId: state.threadId });
  const decision = decide(state, command, { place, now: clock.now(), groups, ...dry });
  const facts = "facts" in decision ? decision.facts : [];
  return outcomeOf(
    command,
    sketch(
      state,
      facts.filter(({ type }) => type === "request-answered"),
    ),
    facts,
  );
}

async function busyElsewhere(door: Door): Promise<BelayError> {
  const { setup, key } = door;
  const lease = await leaseOf(door);
  return busy(key.threadId, lease?.owner ?? "another process", lease?.until ?? setup.clock.now());
}
