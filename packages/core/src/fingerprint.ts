// The fingerprint of an agent when a run began, short enough to be recorded with it, and how the agent differs from it
// now (R7).

import { canonical, digestOf, digestOfText } from "./interrupt/digest.ts";
import type { Json } from "./json.ts";

const SHORT = 12;
const MOST_IN_CLEAR = 64;

/**
 * The parts of an agent: the model's id in clear, everything else as a short digest. A part that the agent does not
 * have is absent.
 */
export interface Fingerprint {
  readonly model?: string;
  readonly instructions?: string;
  readonly tools?: { readonly [name: string]: string };
  /** How an agent that contains agents is put together. */
  readonly shape?: string;
}

export interface FingerprintParts {
  readonly model?: string | undefined;
  readonly instructions?: string | undefined;
  readonly tools?: readonly {
    readonly name: string;
    readonly version: string;
    readonly inputSchema: Json;
    readonly description: string;
  }[];
}

/** The changes in an agent since its run began. */
export interface DriftReport {
  readonly model?: { readonly was?: string; readonly is?: string };
  readonly instructions?: true;
  readonly tools?: {
    readonly added: readonly string[];
    readonly removed: readonly string[];
    readonly changed: readonly string[];
  };
  readonly shape?: true;
}

/** The last change of an agent with which a run of a thread continued. */
export interface LastDrift {
  /** The seq of its fact. */
  readonly seq: number;
  readonly at: number;
  readonly report: DriftReport;
}

/** The effect of a resume if the agent has changed since the run began. A function decides whether to continue. */
export type Drift = "warn" | "refuse" | ((report: DriftReport) => DriftVerdict | Promise<DriftVerdict>);

type DriftVerdict = boolean | "warn" | "refuse" | undefined;

export function fingerprintOf({ model, instructions, tools = [] }: FingerprintParts): Fingerprint {
  const digests = tools.map(({ name, version, inputSchema, description }) => [
    name,
    short([version, inputSchema, description]),
  ]);
  return {
    ...(model !== undefined && { model }),
    // Blank instructions are never sent to a model.
    ...(instructions?.trim() && { instructions: short(instructions) }),
    ...(digests.length > 0 && { tools: Object.fromEntries(digests) }),
  };
}

/**
 * Returns the fingerprint of an agent made of agents. There may be thousands of them, so one digest covers them all.
 */
export function shapeOf(kind: string, name: string, shape: Json, children: readonly Made[]): Fingerprint {
  const inside = children.map((child) => [child.name, inShort(child.fingerprint())]);
  const text = JSON.stringify([kind, name, shape, inside]);
  // An agent without children is short enough as text.
  if (children.length === 0 && text.length <= MOST_IN_CLEAR) return { shape: text };
  return { shape: digestOfText(text).slice(0, SHORT) };
}

interface Made {
  readonly name: string;
  fingerprint(): Fingerprint;
}

function inShort(fingerprint: Fingerprint): string {
  const { model, instructions, tools, shape } = fingerprint;
  if (shape !== undefined && (model ?? instructions ?? tools) === undefined) return shape;
  return canonical(fingerprint as Json);
}

export function sameFingerprint(a: Fingerprint, b: Fingerprint): boolean {
  return driftReport(a, b) === undefined;
}

/** Returns the changes; undefined if there are none. Names are in alphabetical order. */
export function driftReport(was: Fingerprint, is: Fingerprint): DriftReport | undefined {
  // As in the next run of a session.
  if (was === is) return undefined;
  const tools = toolDrift(was.tools ?? {}, is.tools ?? {});
  const report: DriftReport = {
    ...(was.model !== is.model && {
      model: { ...(was.model !== undefined && { was: was.model }), ...(is.model !== undefined && { is: is.model }) },
    }),
    ...(was.instructions !== is.instructions && { instructions: true }),
    ...(tools && { tools }),
    ...(was.shape !== is.shape && { shape: true }),
  };
  return Object.keys(report).length > 0 ? report : undefined;
}

/** Returns the report as one line, without a full stop. */
export function driftWords(report: DriftReport): string {
  const { model, instructions, tools, shape } = report;
  const list = (verb: string, names: readonly string[] = []) =>
    names.length > 0 && `${names.length === 1 ? "tool" : "tools"} ${names.join(", ")} ${verb}`;
  return [
    model && `model ${model.was ?? "(none)"} is now ${model.is ?? "(none)"}`,
    instructions && "instructions changed",
    list("added", tools?.added),
    list("removed", tools?.removed),
    list("changed", tools?.changed),
    shape && "shape changed",
  ]
    .filter(Boolean)
    .join("; ");
}

type Digests = { readonly [name: string]: string };

function toolDrift(was: Digests, is: Digests): DriftReport["tools"] {
  const before = Object.keys(was).sort();
  const after = Object.keys(is).sort();
  const added = after.filter((name) => !Object.hasOwn(was, name));
  const removed = before.filter((name) => !Object.hasOwn(is, name));
  const changed = before.filter((name) => Object.hasOwn(is, name) && was[name] !== is[name]);
  return added.length + removed.length + changed.length > 0 ? { added, removed, changed } : undefined;
}

function short(value: Json): string {
  return digestOf(value).slice(0, SHORT);
}
