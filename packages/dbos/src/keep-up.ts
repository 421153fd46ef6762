// The work that DBOS leaves to its user: it deletes no finished wake, and returns no wake of a process that was
// killed. A process that serves holds a lock of its database session; a wake of a process without a lock is enqueued again.
import { pause } from "@belay/core/dispatch";
import pg from "pg";

const TICK_MS = 1_000;
/** How often to look whether another process has launched. */
const LOCKED_MS = 50;
/** How often finished wakes of processes that are gone are deleted. */
const SWEEP_TICKS = 60;
/** A wake that DBOS took for this process and never began, because the database went away in between. */
const NEVER_BEGUN_MS = 10_000;

/** Returns whether PostgreSQL has no such schema, table or column: the tables of DBOS are not there, or not there in full. */
export function isGone(error: unknown): boolean {
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  return code === "3F000" || code === "42P01" || code === "42703" || (cause != null && isGone(cause));
}

export interface KeepUp {
  readonly url: string;
  readonly schema: string;
  readonly queue: string;
  readonly workflow: string;
  /** The name of this process. */
  readonly executor: string;
  /** Wakes that this process is moving, and those whose end DBOS may have recorded by now. */
  readonly running: ReadonlySet<string>;
  readonly finished: Set<string>;
  readonly signal: AbortSignal;
  readonly launch: () => Promise<void>;
  /** Creates the tables anew if they were deleted. */
  readonly restore: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** Launches DBOS, keeps its table in order until the signal fires, and then stops DBOS when the last delivery has ended. */
export async function keepUp(work: KeepUp): Promise<void> {
  const { signal, restore, stop } = work;
  let launched = false;
  let session: pg.Client | undefined;
  let ticks = 0;
  const tick = async (): Promise<void> => {
    session ??= await lockedSession(work);
    if (!launched) await launchAlone(session, work);
    launched = true;
    await giveBack(session, work);
    await forget(session, work, ticks++ % SWEEP_TICKS === 0);
  };
  const drop = () => {
    session?.end().catch(() => {});
    session = undefined;
  };
  while (!signal.aborted) {
    try {
      await tick();
    } catch (error) {
      if (isGone(error)) await restore().catch(() => {});
      else drop();
    }
    await pause(launched ? TICK_MS : 200, signal);
  }
  if (launched) await stop();
  if (session !== undefined) await forget(session, work, false).catch(() => {});
  drop();
}

/**
 * Launches DBOS while no other process does: the first one creates the tables, and a launch that meets them half made would fail
 * and leave its connections open.
 */
async function launchAlone(session: pg.Client, { schema, launch, stop, signal }: KeepUp): Promise<void> {
  const lock = [`belay launches DBOS in ${schema}`];
  // Never by a statement that waits: DBOS makes indexes concurrently, which waits for the end of all other statements.
  while (!(await tryLock(session, lock))) {
    await pause(LOCKED_MS, signal);
    signal.throwIfAborted();
  }
  try {
    await launch();
  } catch (error) {
    await stop().catch(() => {});
    throw error;
  } finally {
    await session.query("SELECT pg_advisory_unlock(hashtextextended($1, 0))", lock).catch(() => {});
  }
}

async function tryLock(session: pg.Client, values: unknown[]): Promise<boolean> {
  const { rows } = await session.query("SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS taken", values);
  return rows[0].taken;
}

async function lockedSession({ url, executor }: KeepUp): Promise<pg.Client> {
  const session = new pg.Client({ connectionString: url, connectionTimeoutMillis: 3_000, keepAlive: true });
  session.on("error", () => {});
  await session.connect();
  await tryLock(session, [executor]);
  return session;
}

/** Enqueues again the wakes of processes without a lock, and those that DBOS took for this process and never began. */
async function giveBack(session: pg.Client, { schema, queue, executor, running }: KeepUp): Promise<void> {
  const table = `"${schema}".workflow_status`;
  const back = `UPDATE ${table} SET status = 'ENQUEUED', started_at_epoch_ms = NULL, owner_xid = NULL
    WHERE queue_name = $1 AND status = 'PENDING' AND executor_id = $2`;
  await session.query(
    `${back} AND started_at_epoch_ms < (EXTRACT(epoch FROM now()) * 1000)::bigint - $3 AND NOT workflow_uuid = ANY($4::text[])`,
    [queue, executor, NEVER_BEGUN_MS, [...running]],
  );
  const { rows } = await session.query(
    `SELECT DISTINCT executor_id FROM ${table} WHERE queue_name = $1 AND status = 'PENDING' AND executor_id <> $2`,
    [queue, executor],
  );
  for (const { executor_id: other } of rows) {
    if (!(await tryLock(session, [other]))) continue;
    try {
      await session.query(back, [queue, other]);
    } finally {
      await session.query("SELECT pg_advisory_unlock(hashtextextended($1, 0))", [other]);
    }
  }
}

/** Deletes the wakes that this process has finished; with `all` also those of other processes. */
async function forget(session: pg.Client, { schema, workflow, finished }: KeepUp, all: boolean): Promise<void> {
  const ended = "status NOT IN ('PENDING', 'ENQUEUED', 'DELAYED')";
  const from = `DELETE FROM "${schema}".workflow_status`;
  const ids = [...finished];
  const { rows } = await session.query(
    `${from} WHERE workflow_uuid = ANY($1::text[]) AND ${ended} RETURNING workflow_uuid`,
    [ids],
  );
  for (const { workflow_uuid: id } of rows) finished.delete(id);
  if (!all) return;
  await session.query(`${from} WHERE name = $1 AND ${ended}`, [workflow]);
  // Their rows were deleted by a sweep, or with the whole table.
  for (const id of ids) finished.delete(id);
}
