// The messages of `onInterrupt` hooks after a stop: each agent that was cut may add one to its own history. All hooks are called
// at once, and the stop waits for them no longer than its grace. A message that comes later is not recorded.

import type { Definition } from "../../agent.ts";
import type { Fact, MessageEvent } from "../../event.ts";
import type { FramePlace } from "../../frame.ts";
import { callHook, GRACE_MS, type HookHost, hookFailed, report, spoken, withinGrace } from "../../hooks/call-hooks.ts";
import { type Hook, hooksNamed, type InterruptWords, type ReplyInput, type Spoken } from "../../hooks/hooks.ts";
import type { Interrupt } from "../../interrupt/interrupt.ts";
import { StopSignal } from "../../interrupt/stop-signal.ts";
import type { Scope, ThreadState } from "../../journal/state.ts";
import { fitting } from "../../json.ts";
import { agentAt } from "./agent-at.ts";
import { messageFact } from "./facts.ts";
import type { ReplyHost } from "./reply-input.ts";
import { underWay } from "./under-way.ts";

interface Speaker {
  /** The words of the agent if no hook speaks. */
  readonly words: string | undefined;
  readonly maxBytes: number;
  readonly host: HookHost;
  readonly hooks: readonly Hook[];
  readonly input: ReplyInput;
}

/** The stop as the hooks see it. */
interface ToldStop {
  readonly interrupt: Interrupt;
  readonly partialText: string;
  /** How long the stop waits for the hooks. */
  readonly graceMs: number | undefined;
}

/** Returns the agents that may speak: those of this run that have begun and not ended, and have a hook or a default text. */
export function speakersOf(host: ReplyHost, place: FramePlace, state: ThreadState, signal: StopSignal): Speaker[] {
  const { setup, deps } = host;
  const speakers: Speaker[] = [];
  const root = state.scopes.get(place.runPath);
  for (const scope of [...(root === undefined ? [] : [root]), ...underWay(state, place.runPath, place.runId)]) {
    const { path } = scope;
    const agent = speaking(agentAt(host.agent, path), scope.active);
    const hooks = agent === undefined || agent.plain ? undefined : hooksNamed(setup.hooks, agent.hooks, "onInterrupt");
    const words = agent?.interruptMessage;
    if (hooks === undefined && words === undefined) continue;
    const at = { ...place, agentName: agent!.name, runPath: path };
    const input = inputOf(scope);
    const { maxBytes } = setup;
    const hookHost = { place: at, signal, clock: setup.clock, deps, desk: setup };
    speakers.push({ words, maxBytes, host: hookHost, hooks: hooks ?? [], input });
  }
  return speakers;
}

/** Returns the agent that speaks in a scope: the conversation may have been handed over to it. */
function speaking(agent: Definition | undefined, active: string | undefined) {
  if (active === undefined || agent === undefined || agent.name === active) return agent;
  const waiting = [...agent.children];
  for (const child of waiting) {
    if (child.name === active) return child;
    waiting.push(...child.children.filter((each) => !waiting.includes(each)));
  }
  return agent;
}

function inputOf({ given, later, input }: Scope): ReplyInput {
  return input === undefined ? { messages: [...given, ...later] } : { value: input };
}

/** Returns the messages of the hooks, to be recorded with the stop. Never rejects. */
export async function sayAfterStop(speakers: readonly Speaker[], stop: ToldStop): Promise<readonly Fact[]> {
  const said = await Promise.all(speakers.map((speaker) => hear(speaker, stop)));
  return speakers.flatMap(({ host }, i) => said[i]!.map((words, n) => fact(host, words, n)));
}

/** Returns the messages of one agent: those of its hooks, or else its default text. */
async function hear(speaker: Speaker, stop: ToldStop): Promise<readonly Words[]> {
  const said = speaker.hooks.length === 0 ? [] : await hearHooks(speaker, stop);
  const { words } = speaker;
  return said.length > 0 || words === undefined ? said : [{ parts: [{ type: "text", text: words }] }];
}

/** A message after a stop, and whether models read it. */
type Words = Spoken & { readonly remember?: boolean };

async function hearHooks({ host, hooks, input, maxBytes }: Speaker, stop: ToldStop): Promise<readonly Words[]> {
  const said: Words[] = [];
  const { interrupt, partialText } = stop;
  // A signal of their own: that of the stop has fired. This one fires when the stop waits for them no longer.
  const signal = new StopSignal();
  const sayAll = async () => {
    for (const hook of hooks) {
      try {
        const given = await callHook({ ...host, signal }, "onInterrupt", hook, { interrupt, partialText, input });
        const words = given === undefined ? undefined : read(host, given, maxBytes);
        if (words !== undefined) said.push(words);
      } catch (error) {
        report(host, error);
      }
    }
    return "all";
  };
  const heard = await withinGrace(host, sayAll(), stop.graceMs ?? GRACE_MS);
  if (heard === undefined) {
    if (host.signal.stop !== undefined) signal.raise(host.signal.stop);
    report(host, hookFailed(host, "onInterrupt", "it took longer than the stop could wait"));
  }
  return said.slice();
}

function read(host: HookHost, given: unknown, most: number): Words | undefined {
  try {
    const { text, remember } = isWords(given) ? given : { text: given, remember: false };
    const words = spoken(text);
    if (words !== undefined) fitting(words.parts, "What it says", most);
    return words && remember ? { ...words, remember } : words;
  } catch (error) {
    throw hookFailed(host, "onInterrupt", (error as Error).message, error);
  }
}

function isWords(given: unknown): given is InterruptWords {
  if (typeof given !== "object" || given === null || !("text" in given)) return false;
  const { text, remember = false } = given as InterruptWords;
  if (typeof text === "string" && typeof remember === "boolean") return true;
  throw new TypeError(
    "it gave { text, remember } with a text that is none, or a remember that is neither true nor false",
  );
}

function fact({ place, clock }: HookHost, { parts, remember }: Words, n: number): MessageEvent {
  const { runId, segment, runPath } = place;
  const at = runPath.includes("/") ? `${runId}.${runPath}` : runId;
  return messageFact(place, {
    id: `${at}.h${segment}.${n}`,
    role: "assistant",
    parts,
    at: clock.now(),
    origin: "hook",
    isInterrupted: true,
    ...(remember && { remembered: true as const }),
  });
}
