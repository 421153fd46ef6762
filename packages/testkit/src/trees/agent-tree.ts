// Shared by tests of agents that contain agents: agents that repeat their input, tools that ask, and a process
// that can be left and opened again.

import {
  type Agent,
  agent,
  agentTool,
  createRunner,
  type Fact,
  type ModelRequest,
  messageText,
  type Session,
  type Store,
  type Tool,
  type ToolContext,
} from "@belay/core";
import { factProblems } from "@belay/core/inside";
import { promptProblems, type ScriptedPart, scriptedModel } from "@belay/core/testing";
import { toolOf } from "../session/asking-tool.ts";
import { factsOf } from "../session/facts-of.ts";

export type AnyAgent = Agent<unknown, unknown>;

/** Everything that happened in one test, over all its processes. */
export interface Log {
  /** The agents whose models were called, in order, each with its last input. */
  readonly calls: string[];
  /** The acts of tools. */
  readonly did: string[];
  /** Why a provider would have refused a request (H1). */
  readonly problems: string[];
}

export function newLog(): Log {
  return { calls: [], did: [], problems: [] };
}

export function lastWords({ messages }: ModelRequest): string {
  const last = messages.at(-1)!;
  return last.role === "tool"
    ? last.parts.map((part) => (part.type === "result" ? `${part.outcome} ${words(part.output)}` : "")).join(", ")
    : messageText(last);
}

function words(output: unknown): string {
  return typeof output === "string" ? output : JSON.stringify(output);
}

/** Returns its first input in this scope. */
export function firstWords({ messages }: ModelRequest): string {
  return messageText(messages.find(({ role }) => role === "user")!);
}

export type Speech = (
  request: ModelRequest,
) => string | readonly ScriptedPart[] | Promise<string | readonly ScriptedPart[]>;

export function talker(log: Log, name: string, speak: Speech, tools: readonly Tool<unknown>[] = []): AnyAgent {
  const model = scriptedModel((request) => {
    log.calls.push(`${name}: ${lastWords(request)}`);
    log.problems.push(...promptProblems(request.messages).map((problem) => `${name}: ${problem}`));
    return speak(request);
  });
  return agent({ name, model, tools, graceMs: 20 });
}

/** Says its name around its input. */
export function echo(log: Log, name: string): AnyAgent {
  return talker(log, name, (request) => `${name}(${lastWords(request)})`);
}

/** Says it in two pieces and hangs between them, the first time; cut there and continued, it says the rest. */
export function hanging(log: Log, name: string, once: { hung?: boolean }): AnyAgent {
  return talker(log, name, ({ messages }) => {
    const cut = messages.findLast(({ role }) => role === "assistant");
    if (cut !== undefined && lastWords({ messages } as ModelRequest).includes("cut off")) return "two";
    if (once.hung) return "one two";
    once.hung = true;
    return [{ text: "one " }, { stall: true }];
  });
}

/** Calls its tool once, then answers with its result. */
export function worker(log: Log, name: string, tool: Tool<unknown>, id = `${name}-call`, args: unknown = {}): AnyAgent {
  return talker(
    log,
    name,
    (request) => {
      // Cut after all it had to say, it has nothing to add.
      if (lastWords(request).startsWith("[Your last answer was cut off.")) return "";
      const last = request.messages.at(-1)!;
      return last.role === "user" && !request.messages.some(({ role }) => role === "tool")
        ? [{ call: tool.name, id, args }]
        : `${name}[${lastWords(request)}]`;
    },
    [tool],
  );
}

/** Passes its input to the agent, then says the output. */
export function asker(log: Log, name: string, inner: AnyAgent, id = `${name}-call`): AnyAgent {
  return worker(log, name, agentTool(inner), id, { request: `for ${inner.name}` });
}

/** A tool that must be approved. */
export function gated(log: Log, name: string): Tool<unknown> {
  return toolOf(name, () => `${name} ${log.did.push(name) && "done"}`, { needsApproval: true });
}

export function doing(log: Log, name: string, work: (ctx: ToolContext) => unknown = () => "done"): Tool<unknown> {
  return toolOf(name, (ctx) => {
    log.did.push(name);
    return work(ctx);
  });
}

/** A process of its own on the thread; `close` is left to the test. */
export async function enter(root: AnyAgent, store: Store): Promise<Session<unknown>> {
  return createRunner<unknown, unknown>({ agent: root, store }).open("thread");
}

/** Returns the broken rules of the journal, and of the models' requests. */
export async function wrong(store: Store, log: Log): Promise<string[]> {
  return [...factProblems(await factsOf(store)), ...log.problems];
}

/** Which agents began and ended, in order, by path. */
export function runs(facts: readonly Fact[]): string[] {
  return facts.flatMap((fact) => {
    if (fact.type === "run-start") return [`+ ${fact.runPath}`];
    return fact.type === "run-end" ? [`${fact.status === "completed" ? "-" : "!"} ${fact.runPath}`] : [];
  });
}
