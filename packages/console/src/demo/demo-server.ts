// The demo as one web handler: the real server over the seeded store, people to look as, and a way to begin again.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRunner, type Runner } from "@belay/core";
import { type BelayServer, belayServer } from "@belay/server";
import { demoAgents } from "./agents.ts";
import { openStore } from "./open-store.ts";
import { crashIn, type People, seed, stream } from "./tour.ts";

const PEOPLE = ["anna", "ben", "carla", "vera"];
const COOKIE = "belay-demo-as";
const CALM_MS = 70;

const roles: Readonly<Record<string, readonly ("admin" | "operator" | "approver" | "viewer")[]>> = {
  anna: ["admin", "operator", "approver"],
  ben: ["operator", "approver"],
  carla: ["operator", "approver"],
  vera: ["viewer"],
};

type AnyRunner = Runner<unknown, unknown>;

export interface DemoSettings {
  /** The arguments for Node that run `crashDemo` with a folder, in a process of its own. */
  readonly crash: (folder: string) => readonly string[];
  /** Time between two words of the model. */
  readonly delayMs?: number;
  /** False: an empty store. */
  readonly tour?: boolean;
}

export interface Demo {
  fetch(request: Request): Promise<Response>;
  /** The runner of the present round. */
  readonly runner: AnyRunner;
  close(): Promise<void>;
}

interface Round {
  readonly runner: AnyRunner;
  readonly server: BelayServer;
  end(): Promise<void>;
}

function userOf(request: Request): string {
  const found = new RegExp(`(?:^|;\\s*)${COOKIE}=([a-z]+)`).exec(request.headers.get("cookie") ?? "")?.[1];
  return found !== undefined && PEOPLE.includes(found) ? found : "anna";
}

async function begin({ crash, delayMs = CALM_MS, tour = true }: DemoSettings): Promise<Round> {
  const folder = mkdtempSync(join(tmpdir(), "belay-demo-"));
  const { store, close } = await openStore(folder);
  const pace = { delayMs: 0 };
  const runner = createRunner({ agents: demoAgents(pace), store } as never) as unknown as AnyRunner;
  // The crashed import stays for the visitor to resume: the server has no worker.
  const auth = (request: Request) => ({ user: userOf(request), role: roles[userOf(request)] ?? [] });
  const server = belayServer({ runner: runner as never, auth, work: false });
  const ask = async (person: string, method: string, path: string, body?: unknown) => {
    const headers = {
      cookie: `${COOKIE}=${person}`,
      "x-belay": "1",
      "content-type": "application/json",
      prefer: "wait=30",
    };
    const request = new Request(`http://127.0.0.1/v1${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const response = await server.fetch(request);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  };
  const people: People = {
    post: (person, path, body) => ask(person, "POST", path, body),
    get: (path) => ask("anna", "GET", path),
  };
  if (tour) await seed(people, crashIn(crash(folder)));
  pace.delayMs = delayMs;
  if (tour) await stream(people);
  return {
    runner,
    server,
    async end() {
      await server.close({ timeoutMs: 500 });
      close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export async function startDemo(settings: DemoSettings): Promise<Demo> {
  let round = await begin(settings);
  return {
    get runner() {
      return round.runner;
    },
    close: () => round.end(),
    async fetch(request) {
      const { pathname } = new URL(request.url);
      if (pathname === "/v1/demo/view-as" && request.method === "POST") {
        const { user } = (await request.json()) as { user: string };
        return new Response("{}", {
          headers: {
            "content-type": "application/json",
            "set-cookie": `${COOKIE}=${user}; Path=/; SameSite=Strict; HttpOnly`,
          },
        });
      }
      if (pathname === "/v1/demo/reset" && request.method === "POST") {
        const old = round;
        round = await begin(settings);
        await old.end();
        return new Response("{}", { headers: { "content-type": "application/json" } });
      }
      const response = await round.server.fetch(request);
      if (pathname !== "/v1/me" || !response.ok) return response;
      const body = (await response.json()) as object;
      return new Response(JSON.stringify({ ...body, demo: { people: PEOPLE } }), {
        headers: { "content-type": "application/json", "cache-control": "no-store" },
      });
    },
  };
}
