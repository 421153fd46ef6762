// agent(…): the definition of a model with tools. Immutable; bad definitions are refused here.

import { type Agent, type Definition, definitionOf, type Ended, published } from "../agent.ts";
import type { AgentDescription } from "../describe.ts";
import { belayError, shown } from "../error.ts";
import { type Fingerprint, fingerprintOf } from "../fingerprint.ts";
import type { Desk, Frame } from "../frame.ts";
import { type HooksGiven, readHooks } from "../hooks/hooks.ts";
import type { Interrupt } from "../interrupt/interrupt.ts";
import type { Json } from "../json.ts";
import { toJson } from "../json.ts";
import { isBlank, type Message, messageText, NAME } from "../message.ts";
import type { Model, ModelRequest, ModelSettings } from "../model/model.ts";
import type { Verdict } from "../permission/decide.ts";
import { type Permissions, readPermissions } from "../permission/permissions.ts";
import { readName } from "../read-name.ts";
import { type KnownOptions, refuseUnknown } from "../refuse-unknown.ts";
import { closed, isStrict } from "../schema/closed.ts";
import { type InferOutput, jsonSchema, type StandardSchema, toJsonSchema, validate } from "../schema/schema.ts";
import { describeTool, type Tool, tool } from "../tool/tool.ts";
import { byName } from "../workflow/composite.ts";
import type { ModelTimeouts } from "./call-model.ts";
import { type ChatDefinition, type ContextBudget, contextProblem, type InstructionsFunction } from "./definition.ts";
import { verdictOn } from "./gate.ts";
import { systemMessage } from "./instructions.ts";
import { chatLoop } from "./loop.ts";
import { defaultRetry, type RetrySettings } from "./retry.ts";

/** `undefined` is as if it were not there, as in all options. */
type MaybeSettings = { readonly [Name in keyof ModelSettings]?: ModelSettings[Name] | undefined };

/** Settings of an agent's model calls, and how failed calls are tried again. */
export interface AgentSettings extends MaybeSettings {
  /** How often a failed model call is tried again. */
  readonly retry?: { readonly [Name in keyof RetrySettings]?: RetrySettings[Name] | undefined } | undefined;
}

/** The options of `agent()`. */
export interface AgentOptions<S extends StandardSchema | undefined, Deps> {
  readonly name: string;
  readonly model: Model;
  /**
   * Text, or a function that returns it. The function is called once when the agent begins in a run. Its text is recorded, and
   * a resume uses the recorded text.
   */
  readonly instructions?: string | InstructionsFunction<Deps> | undefined;
  /** A function is asked again and again: from its next turn on the agent has the tools of the list that it returns then. */
  readonly tools?: readonly Tool<Deps>[] | (() => readonly Tool<Deps>[]) | undefined;
  /** Agents, made by agent(…), that it may hand the conversation over to; they, and it, may hand it on or back. */
  readonly subAgents?: readonly Agent<unknown, Deps>[] | undefined;
  /** The run's output must fit this schema; the result has its type. */
  readonly output?: S | undefined;
  /** The shared value that its output becomes, for the other agents of the thread: they read it in `ctx.values`. */
  readonly outputKey?: string | undefined;
  readonly settings?: AgentSettings | undefined;
  /**
   * The history that is sent: a pure function of it, or a budget of tokens that is kept by recorded
   * summaries. All of it by default.
   */
  readonly context?: ((history: readonly Message[]) => readonly Message[]) | ContextBudget | undefined;
  /** Turns a run may take before it fails with MAX_TURNS. */
  readonly maxTurns?: number | undefined;
  readonly timeouts?: ModelTimeouts | undefined;
  /** How long a stop waits for a tool after its signal fired. */
  readonly graceMs?: number | undefined;
  /** Which calls may run, must be approved by a person, or never run. */
  readonly permissions?: Permissions | undefined;
  /** Called around the work of the agent: one object of hooks, or several, the outermost first. */
  readonly hooks?: HooksGiven<Deps> | undefined;
  /** Shown and recorded after a person's stop, if no `onInterrupt` hook speaks. Without it no message is added. */
  readonly interruptMessage?: string | undefined;
  /** How calls that never started are closed when the person changes direction: with a result for the model, or dropped. */
  readonly repair?: "synthetic" | "drop" | undefined;
}

/** Silence of a model for this long is a stall. */
const IDLE_MS = 90_000;

const OPTIONS: KnownOptions<AgentOptions<undefined, never>> = {
  name: true,
  model: true,
  instructions: true,
  tools: true,
  subAgents: true,
  output: true,
  outputKey: true,
  settings: true,
  context: true,
  maxTurns: true,
  timeouts: true,
  graceMs: true,
  permissions: true,
  hooks: true,
  interruptMessage: true,
  repair: true,
};

const SETTINGS: KnownOptions<AgentSettings> = {
  toolChoice: true,
  maxOutputTokens: true,
  temperature: true,
  topP: true,
  stopSequences: true,
  seed: true,
  providerOptions: true,
  retry: true,
};

const RETRY: KnownOptions<RetrySettings> = { attempts: true, delayMs: true, maxDelayMs: true };

const TIMEOUTS: KnownOptions<ModelTimeouts> = { firstTokenMs: true, idleMs: true, totalMs: true };

type OutputOf<S> = S extends StandardSchema ? InferOutput<S> : string;

/**
 * Defines an agent: a model with instructions and tools. The definition holds no state; threads do.
 *
 * @example
 * ```ts
 * const helper = agent({ name: "helper", model: fromAiSdk(openai("gpt-5")), instructions: "Be brief.", tools: [weather] });
 * const run = await createRunner({ agent: helper }).run("Is it raining in Rome?");
 * console.log((await run.result).status);
 * ```
 */
export function agent<S extends StandardSchema | undefined = undefined, Deps = unknown>(
  options: AgentOptions<S, Deps>,
): Agent<OutputOf<S>, Deps> {
  const alone = define(options as AgentOptions<StandardSchema | undefined, never>);
  const subAgents = (options.subAgents ?? []) as readonly Agent<unknown, never>[];
  const definition = subAgents.length === 0 ? alone : familyOf(alone, subAgents).get(alone.name)!;
  const { name } = definition;
  const inCalls = [...(definition.family?.values() ?? [definition])].flatMap(inTools);
  let print: { readonly of: ChatDefinition["tools"]; readonly is: Fingerprint } | undefined;
  const loop = sharing(definition) ? sharedLoop : chatLoop;
  const made: Definition = Object.freeze({
    name,
    repair: options.repair ?? "synthetic",
    chats: true,
    children: [...subAgents.map((sub) => definitionOf(sub)), ...inTools(definition)],
    // Any agent of the family may have called it.
    childAt: (segment) => inCalls.find(({ name: called }) => segment.endsWith(`/${called}`)),
    hooks: definition.hooks,
    interruptMessage: options.interruptMessage,
    run: (frame) => loop(frame, definition),
    fingerprint: () => {
      const of = definition.tools;
      if (print?.of !== of) print = { of, is: printOf(definition) };
      return print.is;
    },
    describe: (): AgentDescription => ({
      name,
      kind: "chat",
      model: definition.model.id,
      tools: [...definition.tools.values()].map(describeTool),
      children: made.children.map((child) => child.describe()),
      ...(definition.request.output !== undefined && { output: definition.request.output.schema }),
    }),
    argsProblem: (interrupt, args) => argsProblem(definition, interrupt, args),
    verdict: (desk, tool, args) => verdictOf(definition, desk, tool, args),
  } satisfies Definition);
  const shown = published(made);
  chats.set(shown, definition);
  return shown as Agent<OutputOf<S>, Deps>;
}

/** Returns true if an agent of the family stores its output as a shared value. */
function sharing({ outputKey, family }: ChatDefinition): boolean {
  return outputKey !== undefined || [...(family?.values() ?? [])].some((member) => member.outputKey !== undefined);
}

/** The output becomes the value of the agent that speaks last; else that of the agent that was asked. */
async function sharedLoop(frame: Frame, definition: ChatDefinition): Promise<Ended> {
  const ended = await chatLoop(frame, definition);
  if (ended.how !== "completed") return ended;
  const speaker = definition.family?.get(frame.scope.active ?? "");
  const outputKey = speaker?.outputKey ?? definition.outputKey;
  return outputKey === undefined ? ended : { ...ended, outputKey };
}

/** The definition of each agent(…), for agents that hand over to it. */
const chats = new WeakMap<object, ChatDefinition>();

function inTools({ tools }: ChatDefinition): readonly Definition[] {
  return [...tools.values()].flatMap(({ agent }) => (agent === undefined ? [] : [definitionOf(agent)]));
}

/**
 * The agents that may speak in a run of `alone`, each with a tool to hand over to the others. The run has the output of
 * `alone`, whichever of them gives it (I4): an `output` schema of another member holds for runs of that member only.
 */
function familyOf(
  alone: ChatDefinition,
  subAgents: readonly Agent<unknown, never>[],
): ReadonlyMap<string, ChatDefinition> {
  const members = new Map<string, ChatDefinition>([[alone.name, alone]]);
  for (const sub of subAgents) {
    const definition = typeof sub === "object" && sub !== null ? chats.get(sub) : undefined;
    if (definition === undefined) {
      const problem = `${String((sub as Partial<Agent> | null)?.name)} is no agent made by agent(…); use agentTool() for others`;
      throw belayError("AGENT_INVALID", { agent: alone.name, problem });
    }
    for (const member of definition.family?.values() ?? [definition]) {
      const { name } = member;
      if (members.has(name)) {
        throw belayError("AGENT_INVALID", { agent: alone.name, problem: `two agents of its family are named ${name}` });
      }
      members.set(name, member);
    }
  }
  const family = new Map<string, ChatDefinition>();
  const names = [...members.keys()];
  for (const [name, member] of members) family.set(name, withTransfer(member, names, family, alone));
  return family;
}

function withTransfer(
  member: ChatDefinition,
  names: readonly string[],
  family: ReadonlyMap<string, ChatDefinition>,
  root: ChatDefinition,
): ChatDefinition {
  const transfer = transferTool(names.filter((name) => name !== member.name));
  // One that it has as a member of another family is ours.
  if (member.family === undefined && member.tools.has(transfer.name)) {
    throw belayError("TOOL_DUPLICATE", { agent: member.name, tool: transfer.name });
  }
  const tools = new Map([...member.tools].filter(([name]) => name !== transfer.name)).set(transfer.name, transfer);
  const shown = [...tools.values()].map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  const { output: _own, ...request } = member.request;
  const output = root.request.output && { output: root.request.output };
  return { ...member, tools, request: { ...request, tools: shown, ...output }, output: root.output, family };
}

function transferTool(names: readonly string[]): Tool {
  return tool({
    name: "transfer_to_agent",
    description: "Hands the conversation over to another agent, which goes on with it.",
    input: jsonSchema<{ agent_name: string }>({
      type: "object",
      properties: { agent_name: { type: "string", enum: names } },
      required: ["agent_name"],
      additionalProperties: false,
    }),
    repeatable: true,
    needsApproval: false,
    execute: ({ agent_name }, ctx) => {
      ctx.transferTo(agent_name);
      return `${agent_name} goes on.`;
    },
  }) as Tool;
}

function printOf({ model, instructions, tools }: ChatDefinition): Fingerprint {
  const words = instructions === undefined ? undefined : messageText(instructions);
  return fingerprintOf({
    model: model.id,
    ...(words !== undefined && { instructions: words }),
    tools: [...tools.values()],
  });
}

async function argsProblem(agent: ChatDefinition, interrupt: Interrupt, args: Json): Promise<string | undefined> {
  const { tool = "", by } = interrupt;
  const asker = agent.name === by ? agent : agent.family?.get(by);
  // It is one inside a call of this one that asks.
  if (asker === undefined) return byName(inTools(agent), by, agent.name).argsProblem(interrupt, args);
  const { tools } = asker;
  const found = tools.get(tool);
  if (found === undefined) return `there is no tool ${JSON.stringify(tool)} here`;
  if (typeof args !== "object" || args === null || Array.isArray(args)) return "arguments are a JSON object";
  const checked = await validate(found.input, args);
  return checked.ok ? undefined : checked.problem;
}

async function verdictOf(agent: ChatDefinition, desk: Desk, name: string, args: Json): Promise<Verdict> {
  const tool = agent.tools.get(name);
  if (tool === undefined) {
    const known = [...agent.tools.keys()].join(", ") || "none";
    throw belayError("OPTION_INVALID", { option: "tool", value: shown(name), needed: `one of ${known}` });
  }
  // Whether a tool that reads the arguments would ask is known only by running it.
  const { needsApproval } = tool;
  return verdictOn({ desk }, agent, tool, args, typeof needsApproval === "function" ? true : needsApproval);
}

function define(options: AgentOptions<StandardSchema | undefined, never>): ChatDefinition {
  const refuse = (problem: string) => belayError("AGENT_INVALID", { agent: String(options?.name), problem });
  if (typeof options?.name !== "string" || !NAME.test(options.name))
    throw refuse(`its name is ${JSON.stringify(options?.name)}`);
  refuseUnknown("agent()", options, OPTIONS);
  const { settings, timeouts } = options;
  if (settings !== undefined) refuseUnknown("settings of agent()", settings, SETTINGS);
  if (settings?.retry !== undefined) refuseUnknown("settings.retry of agent()", settings.retry, RETRY);
  if (timeouts !== undefined) refuseUnknown("timeouts of agent()", timeouts, TIMEOUTS);
  const { name, model, instructions, output, outputKey } = options;
  if (typeof model?.stream !== "function" || typeof model.id !== "string") {
    throw refuse("its model has no id or no stream(); wrap AI SDK models with fromAiSdk(model)");
  }
  if (instructions !== undefined && typeof instructions !== "string" && typeof instructions !== "function")
    throw refuse("its instructions are neither text nor a function");
  if (output !== undefined && output["~standard"]?.version !== 1)
    throw refuse("its output is not a Standard Schema; a JSON Schema goes into jsonSchema(…)");
  const { interruptMessage } = options;
  if (interruptMessage !== undefined && (typeof interruptMessage !== "string" || isBlank(interruptMessage)))
    throw refuse(`its interruptMessage is ${shown(interruptMessage)}, not a text`);
  const maxTurns = options.maxTurns ?? 100;
  if (!Number.isInteger(maxTurns) || maxTurns < 1) throw refuse(`maxTurns is ${maxTurns}`);
  if (options.graceMs !== undefined && !(options.graceMs >= 0)) throw refuse(`graceMs is ${options.graceMs}`);
  const given = options.tools;
  if (given !== undefined && typeof given !== "function" && !Array.isArray(given))
    throw refuse("its tools are not a list");
  if (typeof given === "function" && (options.subAgents ?? []).length > 0)
    throw refuse("its tools are a function, which an agent with subAgents cannot have");
  const current = currentTools(options);
  checkNumbers(refuse, "timeouts", options.timeouts);
  checkNumbers(refuse, "settings.retry", options.settings?.retry);
  if (options.settings?.retry?.attempts === 0) throw refuse("settings.retry.attempts is 0, which is no try at all");
  const wrongContext = contextProblem(options.context);
  if (wrongContext !== undefined) throw refuse(wrongContext);
  if (options.repair !== undefined && options.repair !== "synthetic" && options.repair !== "drop") {
    throw refuse(`repair is ${JSON.stringify(options.repair)}, not synthetic or drop`);
  }
  const permissions =
    options.permissions === undefined ? undefined : readPermissions(options.permissions, `agent:${name}`);
  return {
    name,
    model,
    permissions,
    hooks: readHooks(options.hooks),
    family: undefined,
    instructions: typeof instructions === "function" ? undefined : systemMessage(instructions),
    instruct: typeof instructions === "function" ? (instructions as InstructionsFunction) : undefined,
    get tools() {
      return current().table;
    },
    get request() {
      return current().request;
    },
    output,
    outputKey: outputKey === undefined ? undefined : readName("outputKey", outputKey),
    maxTurns,
    maxCorrections: 2,
    timeouts: { ...options.timeouts, idleMs: options.timeouts?.idleMs ?? IDLE_MS },
    retry: retrySettings(options.settings?.retry),
    graceMs: options.graceMs ?? 500,
    context: typeof options.context === "function" ? options.context : undefined,
    budget: typeof options.context === "object" ? options.context : undefined,
  };
}

function retrySettings(given: Partial<RetrySettings> = {}): RetrySettings {
  const { attempts, delayMs, maxDelayMs } = defaultRetry;
  return {
    attempts: given.attempts ?? attempts,
    delayMs: given.delayMs ?? delayMs,
    maxDelayMs: given.maxDelayMs ?? maxDelayMs,
  };
}

function checkNumbers(
  refuse: (problem: string) => Error,
  of: string,
  numbers: ModelTimeouts | Partial<RetrySettings> | undefined,
): void {
  for (const [name, value] of Object.entries(numbers ?? {})) {
    if (value !== undefined && !(typeof value === "number" && value >= 0)) throw refuse(`${of}.${name} is ${value}`);
  }
}

/** The table of an agent's tools and the request that offers them, made anew only if the list is another one. */
function currentTools(options: AgentOptions<StandardSchema | undefined, never>) {
  const { tools: given = [], name } = options;
  const read = typeof given === "function" ? given : () => given;
  const make = (list: readonly Tool<never>[]) => {
    if (!Array.isArray(list)) {
      throw belayError("AGENT_INVALID", { agent: name, problem: "the function of its tools gave no list" });
    }
    return { list, table: toolTable(name, list), request: requestBase(options, list) };
  };
  let made = make(read());
  return () => {
    const list = read();
    if (list !== made.list) made = make(list);
    return made;
  };
}

function toolTable(agentName: string, tools: readonly Tool<never>[]): ReadonlyMap<string, Tool> {
  const table = new Map<string, Tool>();
  for (const tool of tools) {
    if (typeof tool?.execute !== "function" || tool.inputSchema === undefined) {
      throw belayError("AGENT_INVALID", { agent: agentName, problem: "one of its tools was not made by tool(…)" });
    }
    if (table.has(tool.name)) throw belayError("TOOL_DUPLICATE", { agent: agentName, tool: tool.name });
    table.set(tool.name, tool);
  }
  return table;
}

function requestBase(
  options: AgentOptions<StandardSchema | undefined, never>,
  list: readonly Tool<never>[],
): ModelRequest {
  const { retry: _retry, ...settings } = options.settings ?? {};
  const tools = list.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  const output = options.output && outputSpec(options.name, options.output);
  return {
    messages: [],
    ...(toJson(settings, `The settings of agent ${options.name}`) as ModelSettings),
    tools,
    ...(output !== undefined && { output }),
  };
}

function outputSpec(name: string, output: StandardSchema): NonNullable<ModelRequest["output"]> {
  const schema = closed(toJsonSchema(output, `the output of agent ${name}`));
  return { name, schema, strict: isStrict(schema) };
}
