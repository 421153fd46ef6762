// The acts of people on the thread of a life, by one of its processes.

import type { InterruptOptions, ResumeOptions, Session } from "@belay/core";
import { isRequest } from "@belay/core/inside";
import type { Process } from "../simulation/process.ts";
import { THREAD } from "../simulation/segment.ts";
import type { Sent } from "../simulation/witness.ts";
import { someAnswer } from "./answers.ts";
import { oneOf } from "./dice.ts";
import type { Life } from "./life.ts";
import { graphNodes } from "./tree.ts";

export type Deed = (life: Life, process: Process, session: Session<unknown>) => void;

/** Resumes if that is possible, else runs. */
export const goOn: Deed = (life, process, session) => {
  const { state } = session;
  if (state === "paused" || state === "error") return resume(life, process, session);
  if (state !== "running" && state !== "terminated") run(life, process, session);
};

/** In any state. */
export const run: Deed = (life, process, session) => {
  const word = life.word();
  life.watch(process, "run", () => session.run(word), { texts: [word] });
};

/** The same few ids again and again. */
export const runById: Deed = (life, process, session) => {
  if (session.state === "running") return;
  const [word, id] = [life.word(), `run${life.dice(3)}`];
  // Whether its input was taken is not known: it may be the run of another person.
  life.watch(process, `run ${id} ${word}`, () => session.run(word, { id }));
};

export const resume: Deed = (life, process, session) => {
  const { input: words = [], ...options } = someResume(life, session);
  const input = words.length > 0 ? { input: words } : {};
  const what = JSON.stringify({ ...options, ...(options.answers && { answers: Object.keys(options.answers) }) });
  life.watch(process, `resume ${what}`, () => session.resume({ ...options, ...input }), {
    texts: words,
    to: options.to,
  });
};

type SomeResume = Omit<ResumeOptions, "input"> & { readonly input?: readonly string[] };

function someResume(life: Life, session: Session<unknown>): SomeResume {
  const { dice } = life;
  const open = session.interrupts.filter(isRequest);
  switch (dice(8)) {
    case 0:
      return { input: [life.word()] };
    case 1:
      return { input: [life.word(), life.word()] };
    case 2:
      return { input: [life.word()], mode: "continue" };
    case 3:
      return { mode: "rethink" };
    case 4: {
      const answered = open.filter(() => dice(2) === 0);
      const said = answered.map((each) => [each.id, someAnswer(dice, each, `p${dice(4)}`, life.ruled)] as const);
      return { answers: Object.fromEntries(said), ...(dice(3) === 0 && { input: [life.word()] }) };
    }
    case 5: {
      const { scopes, run: of } = life.witness.state(THREAD);
      const inside = [...scopes.values()].filter((each) => each.runId === of?.id && each.ended === undefined);
      const paths = inside.map(({ path }) => path).filter((path) => path.includes("/"));
      if (paths.length === 0) return {};
      return { to: oneOf(dice, paths), input: [life.word()], ...(dice(3) === 0 && { mode: "rethink" }) };
    }
    case 6:
      return session.interrupts.some(({ kind, node }) => kind === "node" || node !== undefined)
        ? { state: { n: 5 } }
        : {};
    default:
      return {};
  }
}

export const resumeByHandle: Deed = (life, process) => life.resumeBy(process, life.dice(2));

export const issueHandle: Deed = (life, process, session) => {
  life.witness.note(`p${process.number} handle`);
  process.own(
    "handle",
    session.handle().then((handle) => life.witness.issued(handle)),
  );
};

export const stop: Deed = (life, process, session) => {
  const { dice, witness } = life;
  const options: InterruptOptions = {
    mode: oneOf(dice, ["now", "now", "after-model", "after-tools"]),
    ...(life.rollsBack && dice(3) === 0 && { rollbackPartial: true }),
    ...(dice(4) === 0 && { timeoutMs: 30 }),
    ...(dice(5) === 0 && { force: true }),
    ...(dice(6) === 0 && { graceMs: 0 }),
    ...(dice(8) === 0 && { id: `stop${dice(3)}` }),
    ...(dice(4) === 0 && { requests: "keep" }),
  };
  witness.note(`p${process.number} interrupt ${JSON.stringify(options)} while ${session.state}`);
  life.stop(process, session, options);
};

/** By whichever process has it. */
export const stopAnywhere: Deed = (life, process) => {
  const mode = oneOf(life.dice, ["now", "after-model", "after-tools"] as const);
  const requests = oneOf(life.dice, ["withdraw", "keep"] as const);
  life.witness.note(`p${process.number} runner.interrupt ${mode} ${requests}`);
  life.stopAnywhere(process, { mode, requests });
};

export const pause: Deed = (life, process, session) => {
  life.witness.note(`p${process.number} pause`);
  process.own("pause", session.pause());
};

export const send: Deed = (life, process, session) => {
  const { dice, witness } = life;
  const kind = oneOf(dice, ["steer", "enqueue"] as const);
  const text = life.word();
  const said: Sent = { text, id: `${kind} of ${text}`, sent: undefined, withdrawn: false };
  witness.sent.push(said);
  witness.note(`p${process.number} ${said.id} while ${session.state}`);
  const takesBack = dice(5) === 0;
  process.own(
    kind,
    session[kind](text, { id: said.id }).then(async () => {
      said.sent = true;
      if (!takesBack) return;
      said.withdrawn = undefined;
      said.withdrawn = await session.withdraw(said.id);
      witness.note(`  withdrawn ${said.id}: ${said.withdrawn}`);
    }),
  );
};

export const observe: Deed = (life, process, session) => {
  life.witness.note(`p${process.number} observe`);
  process.own("observe", session.observe(`seen: ${life.word()}`));
};

/** Something open mostly, at times something that was decided long ago. */
export const answer: Deed = (life, process, session) => {
  const { dice, witness } = life;
  const raised = witness.facts(THREAD).flatMap((fact) => {
    const interrupt = fact.type === "action" ? fact.action.interrupted : undefined;
    return isRequest(interrupt) ? [interrupt] : [];
  });
  const open = session.interrupts.filter(isRequest);
  if (raised.length === 0) return;
  const request = oneOf(dice, open.length > 0 && dice(4) > 0 ? open : raised);
  const said = someAnswer(dice, request, life.person(), life.ruled);
  witness.note(`p${process.number} answer ${request.id} ${request.kind} ${request.tool ?? ""} ${said.type}`);
  const by = dice(2) === 0 ? session : process.runner;
  process.answer(by, request.id, said);
};

/** Every person answers the same request, twice. */
export const raceToAnswer: Deed = (life, _, session) => {
  const { dice } = life;
  const open = session.interrupts.filter(isRequest);
  if (open.length === 0) return;
  const request = oneOf(dice, open);
  life.witness.note(`race for ${request.id}`);
  for (const each of [...life.alive, ...life.alive]) {
    const said = someAnswer(dice, request, life.person(), life.ruled);
    const by = dice(2) === 0 ? (each.session ?? each.runner) : each.runner;
    each.answer(by, request.id, said);
  }
};

/** All that is open, at once. */
export const answerAll: Deed = (life, process, session) => {
  const { dice } = life;
  const open = session.interrupts.filter(isRequest);
  life.witness.note(`p${process.number} answers all of ${open.map(({ id }) => id).join(", ")}`);
  for (const request of open) {
    const said = someAnswer(dice, request, life.person(), life.ruled);
    process.answer(session, request.id, said);
  }
};

export const breakpoint: Deed = (life, process, session) => {
  const { dice } = life;
  if (!life.shape.includes("graph")) return;
  const at = oneOf(dice, ["before", "after"] as const);
  const options = { node: oneOf(dice, graphNodes), at, stop: dice(2) === 0 };
  life.witness.note(`p${process.number} breakpoint ${JSON.stringify(options)}`);
  process.own("breakpoint", session.setBreakpoint(options));
};

/** Seldom: it is the end of most of a life. */
export const terminate: Deed = (life, process, session) => {
  if (life.dice(8) > 0) return;
  life.witness.note(`p${process.number} terminate`);
  process.own("terminate", session.terminate());
};

export const fork: Deed = (life, process) => {
  const head = life.witness.facts(THREAD).length;
  if (head <= 3 || life.forks.length >= 2) return;
  const as = `fork${life.forks.length}`;
  const at = 1 + life.dice(head);
  life.forks.push(as);
  life.witness.note(`p${process.number} ${as} at ${at} of ${head}`);
  process.own("fork", process.runner.fork(THREAD, { at, as }));
};

/** Answers the requests of a fork, and resumes it. */
export const moveFork: Deed = (life, process) => {
  const { dice, forks } = life;
  if (forks.length === 0) return;
  const threadId = oneOf(dice, forks);
  life.witness.note(`p${process.number} moves ${threadId}`);
  const moved = async () => {
    const session = await process.runner.open(threadId);
    if (session.state !== "paused") return;
    const open = session.interrupts.filter(isRequest);
    const said = open.map((each) => [each.id, someAnswer(dice, each, "f", life.ruled)] as const);
    const result = await session.resume({ answers: Object.fromEntries(said) }).result;
    if (result.status === "failed") process.refusal(`resume ${threadId}`, result.error);
  };
  process.own(`move ${threadId}`, moved());
};

/** A handle is on one thread. */
export const handleForFork: Deed = (life, process) => {
  const { dice, forks, witness } = life;
  const handle = witness.handles.at(-1 - dice(3));
  if (forks.length === 0 || handle === undefined) return;
  const threadId = oneOf(dice, forks);
  witness.note(`p${process.number} handle of ${THREAD} for ${threadId}`);
  const tried = async () => {
    const { status } = await (await process.runner.resume({ ...handle, threadId })).result;
    if (status !== "failed") witness.problem(`a handle of ${THREAD} lets ${threadId} go on`);
  };
  process.own("handle for a fork", tried());
};
