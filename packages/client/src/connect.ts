// connect: a server's threads, requests and agents, in the words of the runner.

import type { AgentDescription, Answer, InboxItem, Input, Look, Message, RememberedRule } from "@belay/core";
import { type Change, follow } from "./events.ts";
import { Hints } from "./hints.ts";
import { type InboxFilter, type InboxQuery, inbox } from "./inbox.ts";
import { type ConnectOptions, Line } from "./request.ts";
import { ClientRun, ClientThread, type KeyOptions, type Place } from "./thread.ts";

/** The threads to list. Each property that is given must hold. */
export interface ThreadFilter {
  readonly state?: Look["state"] | undefined;
  readonly pauseType?: Look["pauseType"] | undefined;
  readonly agent?: string | undefined;
  /** `key:value`. */
  readonly label?: string | undefined;
  readonly search?: string | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** A row of the list of threads. */
export interface ThreadItem
  extends Pick<Look, "threadId" | "agent" | "state" | "pauseType" | "runId" | "title" | "labels" | "head" | "parent"> {
  /** The number of open requests. */
  readonly open: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly damaged?: true;
}

/** The login of this client. */
export interface Me {
  readonly user: string;
  readonly tenant?: string;
  readonly groups: readonly string[];
  readonly role: readonly string[];
}

/** The result of one answer among several. */
export type Answered =
  | { readonly id: string; readonly ok: true; readonly open: number; readonly resumed: boolean }
  | {
      readonly id: string;
      readonly problem: { readonly code: string; readonly detail: string; readonly hint: string };
    };

/** A server, as `connect` returns it. */
export class Client {
  readonly #line: Line;
  readonly #hints: Hints;

  constructor(options: ConnectOptions) {
    this.#line = new Line(options);
    this.#hints = new Hints(this.#line);
  }

  /** The handle on a thread. Nothing is sent. */
  open(threadId: string): ClientThread {
    return new ClientThread(this.#line, this.#hints, threadId);
  }

  /** Runs `input` on a new thread. */
  async run(
    input: Input,
    options: KeyOptions & {
      readonly threadId?: string;
      readonly agent?: string;
      readonly title?: string;
      readonly labels?: Readonly<Record<string, string>>;
    } = {},
  ): Promise<ClientRun> {
    const { id, signal, ...rest } = options;
    const body = { input, ...rest };
    const made = await this.#line.ask<{ thread: Look; run: Place }>("POST", "/threads", { body, key: id, signal });
    return new ClientRun(this.open(made.body.thread.threadId), made.body.run);
  }

  threads(query: ThreadFilter = {}): Promise<{ readonly items: readonly ThreadItem[]; readonly next?: string }> {
    return this.#line.get("/threads", query);
  }

  inbox(filter: InboxFilter = {}): InboxQuery {
    return inbox(this.#line, this.#hints, filter);
  }

  async request(
    id: string,
  ): Promise<{ readonly item: InboxItem; readonly decided?: object; readonly messages: readonly Message[] }> {
    return this.#line.get(`/requests/${encodeURIComponent(id)}`);
  }

  async answer(
    id: string,
    answer: Answer,
    options: KeyOptions = {},
  ): Promise<{ readonly open: number; readonly resumed: boolean }> {
    const asked = { body: answer, key: options.id, signal: options.signal };
    return (await this.#line.ask<never>("POST", `/requests/${encodeURIComponent(id)}/answer`, asked)).body;
  }

  /** Up to 100 answers. Each stands alone. */
  async answers(given: readonly (Answer & { readonly id: string })[]): Promise<readonly Answered[]> {
    const { body } = await this.#line.ask<{ results: Answered[] }>("POST", "/requests/answers", {
      body: { answers: given },
    });
    return body.results;
  }

  /** Hints over all threads. `sync` means: read your lists again. */
  async *changes(options: { readonly signal?: AbortSignal | undefined } = {}): AsyncGenerator<Change> {
    for await (const event of follow(this.#line, "/changes", options)) {
      if (event.type === "sync" || event.type === "change") yield event;
    }
  }

  /** Calls back with hints for as long as the returned function is not called, on the one line of this client. */
  onChange(listener: (change: Change) => void): () => void {
    return this.#hints.listen(listener);
  }

  async agents(): Promise<readonly AgentDescription[]> {
    return (await this.#line.get<{ items: AgentDescription[] }>("/agents")).items;
  }

  async rules(): Promise<readonly RememberedRule[]> {
    return (await this.#line.get<{ items: RememberedRule[] }>("/rules")).items;
  }

  async removeRule(id: string): Promise<void> {
    await this.#line.ask("DELETE", `/rules/${encodeURIComponent(id)}`);
  }

  me(): Promise<Me> {
    return this.#line.get("/me");
  }

  /** Exchanges the token of the server for a cookie of the browser. */
  async logIn(token: string): Promise<void> {
    await this.#line.ask("POST", "/session", { body: { token } });
  }

  async logOut(): Promise<void> {
    await this.#line.ask("DELETE", "/session");
  }
}

/**
 * Connects to a server. Nothing is sent until something is asked for.
 *
 * ```ts
 * const belay = connect({ url: "http://127.0.0.1:4180", token });
 * const run = await belay.open("climbing").run("What is a belay?");
 * for await (const event of run) if (event.type === "text-delta") show(event.text);
 * ```
 */
export function connect(options: ConnectOptions): Client {
  return new Client(options);
}
