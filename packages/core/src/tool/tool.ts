// How a tool is defined. Bad definitions are refused here, not at the first call.

import type { Agent } from "../agent.ts";
import type { ToolDescription } from "../describe.ts";
import { belayError } from "../error.ts";
import type { Approval, Request } from "../interrupt/request.ts";
import type { Json } from "../json.ts";
import { NAME } from "../message.ts";
import { type KnownOptions, refuseUnknown } from "../refuse-unknown.ts";
import { type InferOutput, type StandardSchema, toJsonSchema } from "../schema/schema.ts";
import { detachedContext, type ToolContext } from "./context.ts";

/**
 * A result, or `content(parts)` for text and files; a promise of it; or a generator that yields progress and returns it. Of a
 * generator that returns nothing the last yield is the result.
 */
export type ToolReturn = unknown | Promise<unknown> | AsyncGenerator<unknown, unknown, void>;

/** The options of `tool()`. */
export interface ToolOptions<S extends StandardSchema, Deps> {
  readonly name: string;
  readonly description: string;
  /** Any Standard Schema of an object, or `jsonSchema<T>(…)`. */
  readonly input: S;
  execute(args: InferOutput<S>, ctx: ToolContext<Deps>): ToolReturn;
  readonly version?: string | undefined;
  /** The effect of a stop on a running call: abort it (the default) or wait for its end. */
  readonly onStop?: "abort" | "finish" | undefined;
  /**
   * A person must approve each call first: always, or if this function returns true or a request; the request has the words for the person. Called once
   * for each call; a throw means ask. False: never, not even if the tool is destructive.
   */
  needsApproval?: boolean | ((args: InferOutput<S>, ctx: ToolContext<Deps>) => Verdict | Promise<Verdict>) | undefined;
  /**
   * The fate of a call that a crash cut off: a person is asked for its outcome, it runs again, or the model reads
   * that its outcome is unknown.
   */
  readonly onCrash?: "ask" | "retry" | "fail" | undefined;
  /** Runs alone: calls before it end first, calls after it wait. */
  readonly serial?: boolean | undefined;
  readonly timeoutMs?: number | undefined;
  /** How long a stop waits for a call after its signal fired. */
  readonly graceMs?: number | undefined;
  /** Changes nothing. */
  readonly readOnly?: boolean | undefined;
  /** Running it twice does no harm. */
  readonly repeatable?: boolean | undefined;
  readonly destructive?: boolean | undefined;
}

type Verdict = boolean | Request<Approval>;

/** A tool, made by `tool()`. */
export interface Tool<in Deps = never> {
  readonly name: string;
  readonly description: string;
  readonly input: StandardSchema;
  /** The input as models see it. */
  readonly inputSchema: Json;
  readonly version: string;
  readonly onStop: "abort" | "finish";
  readonly onCrash: "ask" | "retry" | "fail";
  needsApproval: boolean | undefined | ((args: never, ctx: ToolContext<Deps>) => Verdict | Promise<Verdict>);
  readonly serial: boolean;
  readonly timeoutMs: number | undefined;
  readonly graceMs: number | undefined;
  readonly readOnly: boolean;
  readonly repeatable: boolean;
  readonly destructive: boolean;
  /** The agent behind this tool: a call is a run of it. */
  readonly agent?: Agent<unknown, never>;
  /** Runs it, for instance in a test; without a context nothing can interrupt it. */
  execute(args: never, ctx?: ToolContext<Deps>): ToolReturn;
}

const OPTIONS: KnownOptions<ToolOptions<StandardSchema, never>> = {
  name: true,
  description: true,
  input: true,
  execute: true,
  version: true,
  onStop: true,
  needsApproval: true,
  onCrash: true,
  serial: true,
  timeoutMs: true,
  graceMs: true,
  readOnly: true,
  repeatable: true,
  destructive: true,
};

const NO_SCHEMA = "its input is not a Standard Schema; a JSON Schema goes into jsonSchema(…)";

/**
 * Defines a tool: a function that a model may call, with a schema for its arguments.
 *
 * @example
 * ```ts
 * const refund = tool({
 *   name: "refund",
 *   description: "Pays an order back.",
 *   input: z.object({ order: z.string() }),
 *   needsApproval: true,
 *   execute: ({ order }, ctx) => payments.refund(order, { idempotencyKey: ctx.idempotencyKey }),
 * });
 * ```
 */
export function tool<S extends StandardSchema, Deps = unknown>(options: ToolOptions<S, Deps>): Tool<Deps> {
  check(options as unknown as ToolOptions<StandardSchema, unknown>);
  const repeatable = options.repeatable ?? false;
  const readOnly = options.readOnly ?? false;
  return Object.freeze({
    name: options.name,
    description: options.description,
    input: options.input,
    inputSchema: objectSchema(options),
    version: options.version ?? "1",
    onStop: options.onStop ?? "abort",
    onCrash: options.onCrash ?? (readOnly || repeatable ? "retry" : "ask"),
    needsApproval: options.needsApproval,
    serial: options.serial ?? false,
    timeoutMs: options.timeoutMs,
    graceMs: options.graceMs,
    readOnly,
    repeatable,
    destructive: options.destructive ?? false,
    execute: (args: never, ctx: ToolContext<Deps> = detachedContext() as ToolContext<Deps>) =>
      options.execute(args, ctx),
  });
}

/** Returns a tool as JSON. */
export function describeTool(tool: Tool<never>): ToolDescription {
  const { name, description, version, inputSchema, needsApproval, onStop, onCrash, timeoutMs, graceMs } = tool;
  const { serial, readOnly, repeatable, destructive, agent } = tool;
  const approval = typeof needsApproval === "function" ? "depends" : needsApproval;
  return {
    name,
    description,
    version,
    input: inputSchema,
    ...(approval !== undefined && { needsApproval: approval }),
    onStop,
    onCrash,
    serial,
    readOnly,
    repeatable,
    destructive,
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(graceMs !== undefined && { graceMs }),
    ...(agent !== undefined && { agent: agent.name }),
  };
}

/** Providers take only objects as arguments. */
function objectSchema(options: Pick<ToolOptions<StandardSchema, never>, "name" | "input">): Json {
  const schema = toJsonSchema(options.input, `tool ${options.name}`);
  const { type = "object" } = schema as { readonly type?: Json };
  if (typeof schema === "object" && type === "object") return { type, ...(schema as object) };
  throw belayError("TOOL_INVALID", {
    tool: options.name,
    problem: `its input is of type ${JSON.stringify(type)}, not an object`,
  });
}

function check(options: ToolOptions<StandardSchema, unknown>): void {
  const given: Partial<ToolOptions<StandardSchema, unknown>> | null | undefined = options;
  const name = String(given?.name);
  const refuse = (problem: string) => belayError("TOOL_INVALID", { tool: name, problem });
  if (typeof given !== "object" || given === null) throw refuse("it is not an object");
  refuseUnknown("tool()", given, OPTIONS);
  if (typeof given.name !== "string" || !NAME.test(given.name))
    throw refuse(`its name is ${JSON.stringify(given.name)}`);
  if (typeof given.description !== "string") throw refuse("it has no description");
  if (typeof given.execute !== "function") throw refuse("it has no execute function");
  if (given.input?.["~standard"]?.version !== 1) throw refuse(NO_SCHEMA);
  oneOf(refuse, "onStop", given.onStop, ["abort", "finish"]);
  oneOf(refuse, "onCrash", given.onCrash, ["ask", "retry", "fail"]);
  const { needsApproval } = given;
  if (needsApproval !== undefined && typeof needsApproval !== "boolean" && typeof needsApproval !== "function") {
    throw refuse("its needsApproval is neither a boolean nor a function");
  }
  for (const option of ["timeoutMs", "graceMs"] as const) {
    const value = given[option];
    if (value !== undefined && !(Number.isFinite(value) && value >= 0)) throw refuse(`${option} is ${value}`);
  }
}

function oneOf(refuse: (problem: string) => Error, option: string, value: string | undefined, allowed: string[]): void {
  if (value === undefined || allowed.includes(value)) return;
  throw refuse(`${option} is ${JSON.stringify(value)}, not one of ${allowed.join(", ")}`);
}
