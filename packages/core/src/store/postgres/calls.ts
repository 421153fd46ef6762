// Calls the database, with retries: a failure that passes, such as a server that restarts or a connection that is cut, is tried
// again for some seconds on another connection. If the connection was cut, the outcome of a call is unknown: each call is made
// so that it can be repeated.
//
// Statements are prepared by name, until the database reports one as unknown or already prepared: then a pooler between it and us
// gives each transaction any of its connections. From then on each statement is sent whole.

import { inTime } from "../in-time.ts";
import type { ThreadQuery } from "../store.ts";
import { type PageRow, pageStatement } from "./listing.ts";
import { migrate, SCHEMA_VERSION } from "./migrations.ts";
import type { PostgresClient, PostgresPool, PostgresQuery, PostgresResult } from "./pool.ts";
import { type StatementName, type Statements, statements, threadColumns } from "./statements.ts";
import { isUnprepared, passes } from "./store-error.ts";

const FIRST_WAIT_MS = 10;
const MOST_WAIT_MS = 400;

// biome-ignore lint/suspicious/noExplicitAny: the statement decides the columns of a row.
export type Rows = readonly any[];

const unanswered = () => "PostgreSQL has not answered in time.";

export class Calls {
  readonly #pool: PostgresPool;
  readonly #schema: string;
  readonly #statements: Statements;
  readonly #retryMs: number;
  #ready = false;
  #byName = true;
  #heardAt = 0;
  #migrating: Promise<void> | undefined;

  constructor(pool: PostgresPool, schema: string, retryMs: number) {
    this.#pool = pool;
    this.#schema = schema;
    this.#statements = statements(schema, SCHEMA_VERSION);
    this.#retryMs = retryMs;
  }

  call(name: StatementName, values: unknown[]): Promise<Rows> {
    return this.#patiently(() => this.once(name, values));
  }

  /** Reads a page of threads. Not by a prepared name: the best plan depends on the filter's values. */
  page(tenant: string, query: ThreadQuery): Promise<readonly PageRow[]> {
    const statement = pageStatement(this.#schema, threadColumns, tenant, query);
    return this.#patiently(async () => {
      if (!this.#ready) await this.#migrate();
      return (await this.query(statement)).rows;
    });
  }

  async #patiently(once: () => Promise<Rows>): Promise<Rows> {
    let giveUp = 0;
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, MOST_WAIT_MS)) {
      try {
        return await once();
      } catch (error) {
        giveUp ||= Date.now() + this.#retryMs;
        if (!passes(error) || Date.now() > giveUp) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, wait * (0.5 + Math.random())));
    }
  }

  once(name: StatementName, values: unknown[]): Promise<Rows> {
    return this.#once(name, values);
  }

  /** As once(), for calls that the caller does not need: their wait for an answer keeps no process alive. */
  aside(name: StatementName, values: unknown[]): Promise<Rows> {
    return this.#once(name, values, true);
  }

  async #once(name: StatementName, values: unknown[], aside?: true): Promise<Rows> {
    if (!this.#ready) await this.#migrate();
    const { text, name: prepared } = this.#statements[name];
    if (this.#byName) {
      try {
        return (await this.query({ name: prepared, text, values }, aside)).rows;
      } catch (error) {
        if (!isUnprepared(error)) throw error;
        this.#byName = false;
      }
    }
    return (await this.query({ text, values }, aside)).rows;
  }

  // On a network that drops packets the pool may wait for a connection without end: this bounds the wait. If one is free, there is
  // no wait, and pg itself bounds the query. A pool that is ended never answers a call that still waits for a connection.

  async query(query: PostgresQuery, aside?: true): Promise<PostgresResult> {
    const { idleCount = 0, waitingCount = 0 } = this.#pool;
    const answer = this.#pool.query({ ...query, query_timeout: this.#retryMs });
    if (idleCount <= waitingCount) return this.#inTime(answer, aside);
    const got = await answer;
    this.#heardAt = performance.now();
    return got;
  }

  async connect(): Promise<PostgresClient> {
    const client = this.#pool.connect();
    try {
      return await this.#inTime(client);
    } catch (error) {
      // Should it come after all.
      client.then(
        (late) => late.release(),
        () => {},
      );
      throw error;
    }
  }

  async #inTime<T>(answer: Promise<T>, aside?: true): Promise<T> {
    const got = await inTime(answer, this.#retryMs, unanswered, { heardAt: () => this.#heardAt, aside });
    this.#heardAt = performance.now();
    return got;
  }

  async #migrate(): Promise<void> {
    this.#migrating ??= migrate(this, this.#schema);
    try {
      await this.#migrating;
      this.#ready = true;
    } finally {
      this.#migrating = undefined;
    }
  }
}
