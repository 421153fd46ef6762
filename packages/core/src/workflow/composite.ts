// Shared by all agents made of agents: their definition, their input, their end. A composite keeps no
// state of its own: its next step is read from the records of its children.

import { type Agent, type Definition, definitionOf, type Ended, noCalls } from "../agent.ts";
import type { AgentDescription } from "../describe.ts";
import { belayError, shown } from "../error.ts";
import type { Action } from "../event.ts";
import { type Fingerprint, shapeOf } from "../fingerprint.ts";
import type { Frame } from "../frame.ts";
import { type HooksGiven, readHooks } from "../hooks/hooks.ts";
import type { Interrupt } from "../interrupt/interrupt.ts";
import type { Inside } from "../interrupt/view.ts";
import { asText, bytesOver, type Json } from "../json.ts";
import { type Message, messageText, NAME } from "../message.ts";
import { refuseUnknown } from "../refuse-unknown.ts";
import { type ChildEnd, type ChildInput, runChild, wordsOf } from "./child.ts";
import { workflowView } from "./view.ts";

export type AnyAgent = Definition;

interface Composite {
  readonly kind: Exclude<AgentDescription["kind"], "chat">;
  readonly name: string;
  readonly children: readonly AnyAgent[];
  /** The parts of its fingerprint besides its children. */
  readonly shape?: Json;
  readonly hooks?: HooksGiven<never> | undefined;
  /** It is no agent to people. */
  readonly plain?: true;
  /** More of its description. */
  about?(): Pick<AgentDescription, "graph" | "maxIterations">;
  run(frame: Frame): Promise<Ended>;
}

/** The agents that `where` was given: `work` says in which order they run. */
export function agentsOf(
  where: string,
  options: { readonly name: string; readonly agents: readonly Agent<unknown, never>[] },
  known: Readonly<Record<string, true>>,
  work: string,
): readonly AnyAgent[] {
  readDefinition(where, options, known);
  const { name, agents } = options;
  if (Array.isArray(agents) && agents.length > 0) return definitionsOf(String(name), agents);
  throw belayError("AGENT_INVALID", { agent: String(name), problem: `it has no agents to run ${work}` });
}

/** Returns the definitions of the agents inside agent `name`. */
export function definitionsOf(name: string, agents: readonly unknown[]): readonly AnyAgent[] {
  const refusal = () => belayError("AGENT_INVALID", { agent: name, problem: "one of those inside it is no agent" });
  return agents.map((each) => definitionOf(each, refusal));
}

/** Refuses a definition that is no object, or that has an unknown option. */
export function readDefinition(where: string, options: object, known: Readonly<Record<string, true>>): void {
  if (typeof options !== "object" || options === null) {
    throw belayError("AGENT_INVALID", { agent: String(options), problem: "it is not an object" });
  }
  refuseUnknown(where, options, known);
}

export function composite({ kind, name, children, shape = null, hooks, plain, about, run }: Composite): AnyAgent {
  if (typeof name !== "string" || !NAME.test(name)) {
    throw belayError("AGENT_INVALID", { agent: String(name), problem: `its name is ${JSON.stringify(name)}` });
  }
  const childAt = (segment: string) => childIn(children, kind, segment);
  const table = readHooks(hooks);
  let known: Fingerprint | undefined;
  return Object.freeze({
    name,
    repair: "synthetic" as const,
    chats: false,
    children,
    childAt,
    ...(table && { hooks: table }),
    ...(plain && { plain }),
    // Code of your own has no shape to show.
    ...(kind !== "custom" && { view: (inside: Inside) => workflowView(kind, children.length, inside) }),
    run: (frame: Frame) => (frame.beginning.mayCallModel ? run(frame) : runOpen(frame, childAt)),
    fingerprint() {
      known ??= shapeOf(kind, name, shape, children);
      return known;
    },
    describe: (): AgentDescription => {
      const agents = children.filter((child) => !child.plain);
      return { name, kind, children: agents.map((child) => child.describe()), ...about?.() };
    },
    argsProblem: (interrupt: Interrupt, args: Json) =>
      byName(children, interrupt.by, name).argsProblem(interrupt, args),
    verdict: (...call: Parameters<AnyAgent["verdict"]>) => withTool(children, name, call),
  });
}

/** Only open calls may run: those of the children that have begun and not ended, all at once. */
async function runOpen(frame: Frame, childAt: (segment: string) => AnyAgent | undefined): Promise<Ended> {
  const { runPath, runId } = frame.place;
  const open = frame.desk.begunBelow(runPath, runId).filter(({ ended }) => ended === undefined);
  const ends = await Promise.all(
    open.map(async ({ path }) => {
      const agent = childAt(path.slice(runPath.length + 1));
      return agent === undefined ? nothingMoves : runChild(frame, { agent, path }, { value: null });
    }),
  );
  return together(ends) ?? nothingMoves;
}

/** Returns the agent that runs under this last part of a path: by its position, or, in user code and in a graph, by its name. */
function childIn(children: readonly AnyAgent[], kind: string, segment: string): AnyAgent | undefined {
  const colon = segment.lastIndexOf(":");
  const name = segment.slice(colon + 1);
  if (kind === "custom" || kind === "graph") return children.find((child) => child.name === name);
  const child = children[Number(segment.slice(segment.lastIndexOf(".", colon) + 1, colon))];
  return child?.name === name ? child : undefined;
}

/** The agent of that name, however deep it is. */
export function byName(children: readonly AnyAgent[], wanted: string, of: string): AnyAgent {
  for (const child of children) {
    if (child.name === wanted) return child;
    try {
      return byName(child.children, wanted, of);
    } catch {
      // Not in there.
    }
  }
  throw belayError("AGENT_UNKNOWN", { agent: wanted, known: `those inside ${of}` });
}

async function withTool(
  children: readonly AnyAgent[],
  name: string,
  call: Parameters<AnyAgent["verdict"]>,
): ReturnType<AnyAgent["verdict"]> {
  for (const child of children) {
    try {
      return await child.verdict(...call);
    } catch {
      // It has no such tool.
    }
  }
  throw belayError("OPTION_INVALID", { option: "tool", value: shown(call[1]), needed: `one inside ${name}` });
}

/** Returns its input: a child's recorded input, or the people's messages of the root. */
export function inputOf({ scope }: Frame): ChildInput {
  return scope.input === undefined ? { messages: scope.given } : { value: scope.input };
}

/** The same as a value. One that was given nothing, null, has that, and no words. */
export function valueOfFrame({ scope }: Pick<Frame, "scope">): Json {
  return scope.input === undefined ? wordsOf(scope.given) : scope.input;
}

/** Makes its own end. The root's is also a message for people. The agent around a child judges whether its end can be recorded. */
export function completed(frame: Frame, output: Json, action?: Action): Ended {
  const text = asText(output);
  const ended = { how: "completed", text, output, finish: "stop", ...(action && { action }) } as const;
  const { runPath, runId, agentName } = frame.place;
  if (runPath.includes("/") || text.trim() === "") return { ...ended, facts: [] };
  // Code that returns the words that it has said adds no second message.
  const last = frame.scope.messages.at(-1);
  if (last?.role === "assistant" && last.id.startsWith(`${runId}.`) && messageText(last) === text)
    return { ...ended, facts: [] };
  const { maxBytes: most } = frame.desk;
  // As recorded text, which is larger than the value.
  const bytes = bytesOver(text, most);
  if (bytes !== undefined) {
    const error = belayError("TOO_LARGE", { what: `The output of agent ${agentName}`, bytes, most });
    return { how: "failed", facts: [], error };
  }
  const turn = frame.scope.turn + 1;
  const parts = [{ type: "text", text } as const];
  const at = frame.clock.now();
  const message: Message = { id: `${runId}.${turn}`, role: "assistant", parts, at, origin: "runtime", finish: "stop" };
  return { ...ended, facts: [frame.message(message, turn, 1)] };
}

/** Joins the ends of several children. The failure of one does not undo the others. */
export function together(ends: readonly ChildEnd[]): Exclude<ChildEnd, { how: "completed" }> | undefined {
  const facts = ends.flatMap((end) => (end.how === "completed" ? [] : end.facts));
  const stopped = ends.filter((end) => end.how === "stopped");
  const calls = ends.flatMap((end) => ("calls" in end ? end.calls : []));
  if (stopped.length > 0) {
    const partialText = stopped.map((end) => end.partialText).join("");
    return { how: "stopped", facts, partialText, calls, attempt: 1 };
  }
  const failed = ends.find((end) => end.how === "failed");
  if (failed !== undefined) return { how: "failed", facts, error: failed.error };
  return ends.some((end) => end.how === "asking") ? { how: "asking", facts, calls } : undefined;
}

export const nothingMoves = { how: "asking", facts: [], calls: noCalls } as const;
