// The choice of the model: the one that was asked for, else the first with a key in the environment, else one that runs on this
// machine, else the demo. Providers are loaded with the first request to them.

import { fromAiSdk, type Model } from "@belay/core";
import { problem } from "../problem.ts";
import { DEMO, demoModel } from "./demo-model.ts";
import { type LookOptions, localServers, modelsAt } from "./local-servers.ts";

type Env = Readonly<Record<string, string | undefined>>;

export interface ChosenModel {
  readonly model: Model;
  /** "provider/name". */
  readonly name: string;
  readonly demo: boolean;
  /** How much of a thread is sent before its beginning is summed up; undefined: all of it. */
  readonly contextTokens?: number;
}

export interface ModelWish {
  /** "provider/name", "demo", or, with `baseUrl`, a name. */
  readonly model?: string;
  readonly baseUrl?: string;
  readonly env?: Env;
  readonly look?: LookOptions;
  readonly delayMs?: number;
}

const defaults = { anthropic: "claude-sonnet-5-5", openai: "gpt-5.6" } as const;
const providers: readonly string[] = ["demo", "anthropic", "openai", "ollama", "lmstudio"];
/** The real limit is the provider's; an early summary costs less than a refusal. */
const FAR_TOKENS = 150_000;
const LOCAL_TOKENS = 24_000;
/** A server that was named may be far away. */
const NAMED_PATIENCE_MS = 3_000;

export async function chooseModel(wish: ModelWish): Promise<ChosenModel> {
  const chosen = await choose(wish, wish.env ?? process.env);
  if (chosen.demo) return chosen;
  const asked = Number(filled((wish.env ?? process.env).BELAY_CONTEXT_TOKENS));
  const isFar = /^(?:anthropic|openai)\//.test(chosen.name);
  return { ...chosen, contextTokens: asked > 0 ? asked : isFar ? FAR_TOKENS : LOCAL_TOKENS };
}

async function choose(wish: ModelWish, env: Env): Promise<ChosenModel> {
  const asked = filled(wish.model);
  // An option counts more than the environment's value for the other half.
  const wanted = asked ?? (filled(wish.baseUrl) === undefined ? filled(env.BELAY_MODEL) : undefined);
  const isNamed = asked !== undefined && providers.includes(splitName(asked)[0]);
  const baseUrl = filled(wish.baseUrl) ?? (isNamed ? undefined : filled(env.BELAY_BASE_URL));
  if (baseUrl !== undefined) return atServer(readBaseUrl(baseUrl), wanted, env);
  if (wanted !== undefined) return byName(wanted, env, wish);
  if (filled(env.ANTHROPIC_API_KEY)) return anthropic(defaults.anthropic, env);
  if (filled(env.OPENAI_API_KEY)) return openai(defaults.openai, env);
  const [server] = await localServers(wish.look);
  if (server !== undefined) return compatible(server.name, server.models[0]!, server.baseUrl, undefined, env);
  return demo(wish, env);
}

async function byName(wanted: string, env: Env, wish: ModelWish): Promise<ChosenModel> {
  const [provider, name] = splitName(wanted);
  switch (provider) {
    case "demo":
      return demo(wish, env);
    case "anthropic":
      return anthropic(name || defaults.anthropic, env);
    case "openai":
      return openai(name || defaults.openai, env);
    case "ollama":
    case "lmstudio": {
      const server = (await localServers(wish.look)).find((each) => each.name === provider);
      if (server === undefined) throw problem("MODEL_SERVER", { server: provider, problem: "silent" });
      return compatible(provider, name || server.models[0]!, server.baseUrl, undefined, env);
    }
    default:
      throw problem("MODEL_UNKNOWN", { model: wanted });
  }
}

/** Names may have slashes of their own: "openai/org/model". */
function splitName(wanted: string): [provider: string, name: string] {
  const slash = wanted.indexOf("/");
  return slash < 0 ? [wanted, ""] : [wanted.slice(0, slash), wanted.slice(slash + 1)];
}

async function atServer(baseUrl: string, wanted: string | undefined, env: Env): Promise<ChosenModel> {
  const host = new URL(baseUrl).host;
  const key = filled(env.BELAY_API_KEY) ?? filled(env.OPENAI_API_KEY);
  if (wanted !== undefined) return compatible(host, wanted, baseUrl, key, env);
  const [first] = await modelsAt(baseUrl, NAMED_PATIENCE_MS);
  if (first === undefined) throw problem("MODEL_SERVER", { server: baseUrl, problem: "no-models" });
  return compatible(host, first, baseUrl, key, env);
}

function readBaseUrl(given: string): string {
  try {
    const url = new URL(given);
    if (url.protocol === "http:" || url.protocol === "https:") return given.replace(/\/+$/, "");
  } catch {}
  throw problem("MODEL_SERVER", { server: given, problem: "no-address" });
}

function anthropic(name: string, env: Env): ChosenModel {
  const apiKey = keyOf(env, "ANTHROPIC_API_KEY", "anthropic");
  return lazily(`anthropic/${name}`, "anthropic.messages", async () => {
    const { createAnthropic } = await import("@ai-sdk/anthropic");
    const { fetch } = await proxied(env);
    return fromAiSdk(createAnthropic({ apiKey, fetch, ...anthropicUrl(env.ANTHROPIC_BASE_URL) })(name), {
      cache: true,
    });
  });
}

function openai(name: string, env: Env): ChosenModel {
  const apiKey = keyOf(env, "OPENAI_API_KEY", "openai");
  return lazily(`openai/${name}`, "openai.responses", async () => {
    const { createOpenAI } = await import("@ai-sdk/openai");
    const { fetch } = await proxied(env);
    return fromAiSdk(createOpenAI({ apiKey, fetch, ...openaiUrl(env.OPENAI_BASE_URL) })(name));
  });
}

/** Anthropic's own tools take it without the version, and add that: so do we, if it is missing. */
function anthropicUrl(given: string | undefined): { baseURL?: string } {
  const url = filled(given)?.replace(/\/+$/, "");
  if (url === undefined) return {};
  return { baseURL: /\/v\d+$/.test(url) ? url : `${url}/v1` };
}

/** OpenAI's own tools take it with the version; a bare host has none. */
function openaiUrl(given: string | undefined): { baseURL?: string } {
  const url = filled(given)?.replace(/\/+$/, "");
  if (url === undefined) return {};
  return { baseURL: /^https?:\/\/[^/]+$/.test(url) ? `${url}/v1` : url };
}

/** A fetch that goes through the proxy of the environment, loaded only if there is one. */
async function proxied(env: Env): Promise<{ readonly fetch: typeof fetch | undefined }> {
  const named = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
  if (!named.some((name) => filled(env[name]) !== undefined)) return { fetch: undefined };
  return { fetch: (await import("./proxied-fetch.ts")).proxiedFetch(env) };
}

function compatible(server: string, name: string, baseURL: string, apiKey: string | undefined, env: Env): ChosenModel {
  return lazily(`${server}/${name}`, `${server}.chat`, async () => {
    const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
    const { fetch } = await proxied(env);
    const options = { name: server, baseURL, fetch, includeUsage: true, ...(apiKey !== undefined && { apiKey }) };
    return fromAiSdk(createOpenAICompatible(options)(name));
  });
}

function demo(wish: ModelWish, env: Env): ChosenModel {
  const asked = Number(filled(env.BELAY_DEMO_DELAY_MS));
  const delayMs = Number.isFinite(asked) && env.BELAY_DEMO_DELAY_MS ? asked : (wish.delayMs ?? 0);
  return { model: demoModel({ delayMs }), name: DEMO, demo: true, contextTokens: LOCAL_TOKENS };
}

/** `provider` is the name that the loaded model gives itself: its opaque data must return to it. */
function lazily(name: string, provider: string, load: () => Promise<Model>): ChosenModel {
  let loading: Promise<Model> | undefined;
  const model: Model = {
    id: name,
    provider,
    async *stream(request, options) {
      loading ??= load();
      yield* (await loading).stream(request, options);
    },
  };
  return { model, name, demo: false };
}

function keyOf(env: Env, variable: string, provider: string): string {
  const key = filled(env[variable]);
  if (key === undefined) throw problem("MODEL_KEY", { provider, variable });
  return key;
}

function filled(value: string | undefined): string | undefined {
  return value === undefined || value.trim() === "" ? undefined : value.trim();
}
