// The due time of a thread, in a column of its own with an index: a worker looks often, and few of many threads can move. A
// trigger maintains it, so that it is right for processes of the version before, which do not have it. It is in no checksum: a
// row found by it in vain costs one look.
//
// While an owner appends, it is written at most every `LAZY_MS`: an index that changes with each append would cost the
// append a third more. It may be early, never late; the query checks the lease.

const LAZY_MS = 5_000;

const NOW = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/** From when on a thread can move, leases apart, as isMovable() has it. */
const from = (row: string, now: string) => `CASE ${row}.state WHEN 'running' THEN ${now}
    WHEN 'paused' THEN CASE WHEN ${row}.answers > 0 THEN ${now} ELSE ${row}.rest_due END
    WHEN 'completed' THEN CASE WHEN ${row}.queued > 0 THEN ${now} END
    WHEN 'initialized' THEN CASE WHEN ${row}.queued > 0 THEN ${now} END END`;

/** The step from version 2. Programs of that version can work with it. */
export function dueColumn(s: string): string {
  return `
ALTER TABLE ${s}.thread ADD COLUMN due_at bigint;
CREATE FUNCTION ${s}.due_1() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := ${NOW};
  since bigint := ${from("NEW", "v_now")};
BEGIN
  IF since IS NULL THEN
    NEW.due_at := NULL;
  ELSIF NEW.owner IS NOT NULL THEN
    NEW.due_at := greatest(NEW.until, since);
  ELSIF OLD.owner IS NULL AND OLD.append_id = NEW.append_id AND OLD.due_at < since THEN
    -- A command came or went: it has waited since it could move.
    NEW.due_at := OLD.due_at;
  ELSE
    NEW.due_at := since;
  END IF;
  RETURN NEW;
END $$;
UPDATE ${s}.thread AS t SET due_at = CASE WHEN t.owner IS NULL THEN ${from("t", "t.updated_at")} ELSE t.until END
  WHERE ${from("t", "t.updated_at")} IS NOT NULL;
CREATE TRIGGER due BEFORE UPDATE ON ${s}.thread FOR EACH ROW
  WHEN (NEW.owner IS NULL OR OLD.owner IS NULL OR NEW.state <> OLD.state OR NEW.queued <> OLD.queued
    OR NEW.answers <> OLD.answers OR NEW.until - coalesce(OLD.due_at, 0) > ${LAZY_MS})
  EXECUTE FUNCTION ${s}.due_1();
CREATE INDEX thread_due ON ${s}.thread (due_at) WHERE due_at IS NOT NULL;
ALTER TABLE ${s}.version ADD COLUMN oldest integer;
UPDATE ${s}.version SET oldest = 2;`;
}

/** Reads due threads, `limit` at most, waiting for longer than $1. */
function dueQuery(s: string, limit: string, more = ""): string {
  const now = "(extract(epoch FROM statement_timestamp()) * 1000)::bigint";
  return `SELECT t.tenant, t.id, t.head, t.fence, t.due_at FROM ${s}.thread t
    WHERE t.due_at <= ${now} - $1::bigint AND (t.owner IS NULL OR t.until <= ${now})${more} ORDER BY t.due_at LIMIT ${limit}`;
}

/**
 * Statements over all tenants have their limits in their text. The server plans them once; with the limit as a value it would
 * plan each look anew, which takes longer than the look.
 */
const SIZES = [16, 64, 256] as const;

export const dueStatements = (s: string) => ({
  due16: dueQuery(s, "16"),
  due64: dueQuery(s, "64"),
  due256: dueQuery(s, "256"),
  /** $2: how many; $3: the tenant, NULL for all. */
  dueOf: dueQuery(s, "$2", " AND ($3::bytea IS NULL OR t.tenant_name = $3)"),
});

/** Chooses the statement; it may find more than `limit`. */
export function dueStatement(limit: number, tenant: unknown): keyof ReturnType<typeof dueStatements> {
  const size = tenant === null ? SIZES.find((size) => limit <= size) : undefined;
  return size === undefined ? "dueOf" : `due${size}`;
}
