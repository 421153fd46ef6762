// One MCP server: the connection to it, and the calls under way on it. A server that died is reached again at the next call.

import { pathToFileURL } from "node:url";
import type {
  CallToolResult,
  Client,
  ElicitResult,
  InputRequiredResult,
  Tool as McpTool,
  StreamableHTTPClientTransport,
  Transport,
} from "@modelcontextprotocol/client";
import { Problem, problem } from "../problem.ts";
import type { ServerConfig } from "./config.ts";
import { authProviderOf, type SignIn } from "./sign-in.ts";

/** A server's request to the person in the middle of a call. */
export interface Elicitation {
  readonly message: string;
  /** The JSON Schema of an answer; undefined for a page to open. */
  readonly schema?: object;
  readonly url?: string;
}

/** The call that gets the questions of the server. */
export interface CallListener {
  elicit(asked: Elicitation): Promise<ElicitResult>;
}

export interface ServerOptions {
  readonly folder: string;
  readonly connectMs?: number;
  /** How to sign in at servers on the web; without it only what their config gives is sent. */
  readonly signIn?: SignIn;
  /** Takes the person to a page and resolves to the parameters that came back; without it no person is asked. */
  readonly visit?: (page: URL, expected: string | undefined) => Promise<URLSearchParams>;
}

export type CallOutcome = CallToolResult | InputRequiredResult;

/** A person may take days to answer in the middle of a call; the tool bounds the time of a call. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;
const CONNECT_MS = 15_000;
/** Bounds the rounds with a server that never accepts an answer. */
const MOST_VISITS = 3;
/** Servers that know nothing of the question which protocol they speak may not answer it at all. */
const PROBE_MS = 3_000;

export class McpServer {
  readonly name: string;
  readonly #config: ServerConfig;
  readonly #options: ServerOptions;
  #connecting: Promise<Client> | undefined;
  /** The connection that stands. */
  #live: Client | undefined;
  readonly #forgotten: Client[] = [];
  /** Calls under way, the newest last. Before 2026 a server does not say for which of them it asks. */
  readonly #listeners: CallListener[] = [];
  #stderr = "";
  #web: StreamableHTTPClientTransport | undefined;

  constructor(name: string, config: ServerConfig, options: ServerOptions) {
    this.name = name;
    this.#config = config;
    this.#options = options;
  }

  /** Its folder. */
  get folder(): string {
    return this.#options.folder;
  }

  get timeoutMs(): number | undefined {
    return this.#config.timeoutMs;
  }

  async tools(): Promise<readonly McpTool[]> {
    const client = await this.#client();
    if (client.getServerCapabilities()?.tools === undefined) return [];
    const timeout = this.#options.connectMs ?? CONNECT_MS;
    try {
      return (await client.listTools(undefined, { timeout })).tools;
    } catch (error) {
      throw this.#down(error);
    }
  }

  /** Whether it asks by ending a round of a call, rather than in the middle of one (protocol 2026-07-28). */
  async asksByRounds(): Promise<boolean> {
    return (await this.#client()).getProtocolEra() === "modern";
  }

  /** `more` continues a call that asked for something. */
  async call(
    name: string,
    args: Record<string, unknown>,
    listener: CallListener,
    options: { signal: AbortSignal; onprogress(progress: object): void; more?: object },
  ): Promise<CallOutcome> {
    this.#listeners.push(listener);
    try {
      const { signal, onprogress, more } = options;
      const request = { signal, onprogress, timeout: NO_TIMEOUT_MS, allowInputRequired: true };
      const send = (client: Client) => client.callTool({ name, arguments: args, ...more }, request);
      return (await this.#signedIn(() => this.#remembered(send))) as CallOutcome;
    } catch (error) {
      options.signal.throwIfAborted();
      if (error instanceof Problem) throw error;
      if (isUnreachable(error)) throw this.#down(error);
      // The connection broke under it: that is not the tool's failure, and the outcome is unknown.
      if (this.#live === undefined || isCutOff(error)) {
        throw problem("MCP_LOST", { server: this.name, tool: name, reason: this.#reason(error) }, error);
      }
      throw problem("MCP_FAILED", { server: this.name, tool: name, reason: wordsOf(error) }, error);
    } finally {
      this.#listeners.splice(this.#listeners.indexOf(listener), 1);
      if (this.#listeners.length === 0) for (const client of this.#forgotten.splice(0)) void close(client);
    }
  }

  async close(): Promise<void> {
    const connecting = this.#connecting;
    this.#connecting = undefined;
    const client = await connecting?.catch(() => undefined);
    await Promise.all([client, ...this.#forgotten.splice(0)].map((each) => each && close(each)));
  }

  #client(): Promise<Client> {
    this.#connecting ??= this.#signedIn(() => this.#connect()).catch((error) => {
      this.#connecting = undefined;
      throw error instanceof Problem ? error : this.#down(error);
    });
    return this.#connecting;
  }

  /** Does it; if the server needs a login, asks the person to sign in, if there is one, and does it again. */
  async #signedIn<T>(work: () => Promise<T>): Promise<T> {
    const { signIn, visit } = this.#options;
    for (let visits = 0; ; visits++) {
      try {
        return await work();
      } catch (error) {
        const { page } = signIn ?? {};
        if (signIn === undefined || page === undefined || visits >= MOST_VISITS) throw error;
        signIn.page = undefined;
        if (visit === undefined) throw problem("MCP_LOGIN", { server: this.name }, error);
        await this.#web?.finishAuth(await visit(page, signIn.expected));
      }
    }
  }

  /** Does it; a server that was started anew has forgotten its session with us, has refused the call, and is met anew. */
  async #remembered<T>(send: (client: Client) => Promise<T>): Promise<T> {
    const client = await this.#client();
    try {
      return await send(client);
    } catch (error) {
      const { status } = error as { readonly status?: number };
      if ((status !== 404 && status !== 400) || client.transport?.sessionId === undefined) throw error;
      if (this.#live === client) {
        this.#live = undefined;
        this.#connecting = undefined;
        // Other calls over it are refused in their turn.
        this.#forgotten.push(client);
      }
      return send(await this.#client());
    }
  }

  async #connect(): Promise<Client> {
    const { Client } = await import("@modelcontextprotocol/client");
    const client = new Client(
      { name: "belay", version: "0.1.0" },
      {
        capabilities: { elicitation: { form: { applyDefaults: true }, url: {} }, roots: {} },
        versionNegotiation: { mode: "auto", probe: { timeoutMs: PROBE_MS } },
        inputRequired: { autoFulfill: false },
      },
    );
    client.setRequestHandler("roots/list", () => this.roots());
    client.setRequestHandler("elicitation/create", async ({ params }) => {
      const listener = this.#listeners.at(-1);
      return listener === undefined ? { action: "cancel" as const } : listener.elicit(elicitationOf(params));
    });
    client.onclose = () => {
      if (this.#live !== client) return;
      this.#live = undefined;
      this.#connecting = undefined;
    };
    // Reported by the call that fails because of it.
    client.onerror = () => {};
    const transport = await this.#transport();
    try {
      await client.connect(transport, { timeout: this.#options.connectMs ?? CONNECT_MS });
    } catch (error) {
      await close(client);
      throw error;
    }
    this.#live = client;
    return client;
  }

  roots() {
    const { folder } = this.#options;
    return { roots: [{ uri: pathToFileURL(folder).href, name: folder.split("/").at(-1) || folder }] };
  }

  async #transport(): Promise<Transport> {
    const config = this.#config;
    if (config.kind === "http") {
      const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
      const { oauth = {} } = config;
      const authProvider = await authProviderOf(oauth, this.#options.signIn);
      this.#web = new StreamableHTTPClientTransport(new URL(config.url), {
        requestInit: { headers: config.headers },
        ...(authProvider && { authProvider }),
        ...(oauth.skipIssuerCheck === "true" && { skipIssuerMetadataValidation: true }),
      });
      return answering(this.#web);
    }
    const { StdioClientTransport, getDefaultEnvironment } = await import("@modelcontextprotocol/client/stdio");
    const transport = new StdioClientTransport({
      command: config.command,
      args: [...config.args],
      env: { ...getDefaultEnvironment(), ...config.env },
      cwd: config.cwd ?? this.#options.folder,
      // Not on our screen; its end is kept, to say why a server died.
      stderr: "pipe",
    });
    this.#stderr = "";
    transport.stderr?.on("data", (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString("utf8")).slice(-2_000);
    });
    return transport;
  }

  #down(error: unknown): Error {
    return problem("MCP_DOWN", { server: this.name, reason: this.#reason(error) }, error);
  }

  #reason(error: unknown): string {
    const last = this.#stderr.trim().split("\n").at(-1) ?? "";
    return wordsOf(error).replace(/\.$/, "") + (last === "" ? "" : `; it last wrote: ${last}`);
  }
}

export function elicitationOf(params: object): Elicitation {
  const { message, requestedSchema, url } = params as { message: string; requestedSchema?: object; url?: string };
  return { message, ...(requestedSchema && { schema: requestedSchema }), ...(url !== undefined && { url }) };
}

async function close(client: Client): Promise<void> {
  await client.close().catch(() => {});
}

/** Ours, in place of an answer that can no longer come. */
const CUT_OFF = -32_099;

/** A server on the web may die in the middle of its answer: its caller gets an error instead of waiting for ever. */
function answering(web: StreamableHTTPClientTransport): Transport {
  const send = web.send.bind(web);
  web.send = (message, options) => {
    const ended = () => {
      const { onRequestStreamEnd } = (options ?? {}) as { onRequestStreamEnd?: () => void };
      onRequestStreamEnd?.();
      // After the answer no caller waits for this one.
      if (!("method" in message && "id" in message)) return;
      const error = { code: CUT_OFF, message: "the connection ended before the answer" };
      web.onmessage?.({ jsonrpc: "2.0", id: message.id, error });
    };
    return send(message, { ...options, onRequestStreamEnd: ended });
  };
  return web;
}

/** The call may have arrived. */
function isCutOff(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === CUT_OFF || code === "CONNECTION_CLOSED" || error instanceof TypeError;
}

/** The call cannot have arrived. */
function isUnreachable(error: unknown): boolean {
  const { code } = ((error as Error).cause ?? {}) as { readonly code?: string };
  return code !== undefined && ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"].includes(code);
}

function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // A failed fetch says why in its cause.
  return error instanceof TypeError && error.cause instanceof Error
    ? `${error.message}: ${error.cause.message}`
    : error.message;
}
