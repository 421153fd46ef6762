// Models that run on this machine: Ollama and LM Studio, at their default ports. Asked over plain HTTP with a short timeout:
// a machine without them must not wait.

import { get } from "node:http";

export interface LocalServer {
  readonly name: "ollama" | "lmstudio";
  readonly baseUrl: string;
  readonly models: readonly string[];
}

const PATIENCE_MS = 200;
const MOST_BYTES = 1024 * 1024;

const known = [
  { name: "ollama", port: 11434 },
  { name: "lmstudio", port: 1234 },
] as const;

export interface LookOptions {
  /** Where to look instead, for a test or another machine. */
  readonly ports?: Partial<Record<LocalServer["name"], number>>;
  readonly patienceMs?: number;
}

/** Those that answer with at least one model, in a fixed order. */
export async function localServers({ ports = {}, patienceMs = PATIENCE_MS }: LookOptions = {}): Promise<LocalServer[]> {
  const found = await Promise.all(
    known.map(async ({ name, port }) => {
      const baseUrl = `http://127.0.0.1:${ports[name] ?? port}/v1`;
      return { name, baseUrl, models: await modelsAt(baseUrl, patienceMs) };
    }),
  );
  return found.filter(({ models }) => models.length > 0);
}

/** Both speak OpenAI's protocol. */
export function modelsAt(baseUrl: string, patienceMs: number): Promise<readonly string[]> {
  return new Promise((resolve) => {
    const asked = get(`${baseUrl}/models`, { agent: false }, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        body += chunk;
        if (body.length > MOST_BYTES) response.destroy();
      });
      response.on("end", () => resolve(response.statusCode === 200 ? readModels(body) : []));
      response.on("error", () => resolve([]));
      response.on("close", () => resolve([]));
    });
    asked.on("error", () => resolve([]));
    const patience = setTimeout(() => asked.destroy(), patienceMs);
    asked.on("close", () => clearTimeout(patience));
  });
}

function readModels(body: string): readonly string[] {
  try {
    const { data } = JSON.parse(body) as { data?: readonly { id?: unknown }[] };
    const ids = (data ?? []).map(({ id }) => id).filter((id): id is string => typeof id === "string" && id !== "");
    // A model for vectors only cannot speak.
    return ids.filter((id) => !/embed/i.test(id));
  } catch {
    return [];
  }
}
