// The part of pg's Pool that we use.

/** A query as it is given to `pg`. */
export interface PostgresQuery {
  /** Prepared once on each connection, under this name. */
  readonly name?: string;
  readonly text: string;
  readonly values?: unknown[];
  readonly query_timeout?: number;
}

/** The result of a query of `pg`. */
export interface PostgresResult {
  // biome-ignore lint/suspicious/noExplicitAny: the query decides the columns of a row.
  readonly rows: any[];
}

/** A client of `pg`, as far as the store uses it. */
export interface PostgresClient {
  query(query: PostgresQuery): Promise<PostgresResult>;
  /** Back to the pool; with `true` it is closed instead. */
  release(destroy?: boolean): void;
  // biome-ignore lint/suspicious/noExplicitAny: as pg has it.
  on(event: string, listener: (...args: any[]) => void): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: as pg has it.
  removeListener(event: string, listener: (...args: any[]) => void): unknown;
  /** Whether its socket keeps the process alive. */
  ref?(): void;
  unref?(): void;
}

/** A pool of `pg`, as far as the store uses it. */
export interface PostgresPool {
  query(query: PostgresQuery): Promise<PostgresResult>;
  connect(): Promise<PostgresClient>;
  // biome-ignore lint/suspicious/noExplicitAny: as pg has it.
  on(event: "error", listener: (...args: any[]) => void): unknown;
  readonly options?: { readonly max?: number };
  /** Idle connections, and calls that wait for one. */
  readonly idleCount?: number;
  readonly waitingCount?: number;
  /** It is being closed. */
  readonly ending?: boolean;
}
