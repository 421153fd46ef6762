// Every statement, prepared by its name on each connection. Values are always parameters; a statement's text has only
// the name of the schema in it.

import { dueStatements } from "./due.ts";
import { listingColumns } from "./listing.ts";
import type { PostgresQuery } from "./pool.ts";
import { nameOf } from "./rows.ts";
import { sumOf } from "./sum-of.ts";

export type StatementName = keyof ReturnType<typeof texts>;

export type Statements = Readonly<Record<StatementName, Pick<PostgresQuery, "name" | "text">>>;

/** Lines that are read at once. None is longer than a body that is kept apart. */
const PAGE = 2_000;

export function statements(schema: string, version: number): Statements {
  const list = Object.entries(texts(schema)).map(([name, text]) => [
    name,
    // Two schemas, or versions, may share a connection.
    { name: `belay_${name}_${version}_${nameOf(schema, "")}`, text },
  ]);
  return Object.fromEntries(list) as Statements;
}

/**
 * The append of a writer after its own last line: most are only a line after the one that the writer wrote last, or that was the
 * last when it looked. $15 is its fence, or, if it takes the thread, its owner name. Returns no row if any value differs:
 * append_2 reports the reason, or does it. One statement, and no function, costs the server half as much.
 */
function goOn(s: string, takes: boolean): string {
  const was = "row";
  const now = "(extract(epoch FROM statement_timestamp()) * 1000)::bigint";
  const fence = takes ? "f.fence" : "row.fence";
  const next = {
    agent: "$9::text",
    state: "$10::text",
    head: "($5::bigint + $6::integer)",
    fence,
    owner: `(CASE WHEN $14::boolean THEN NULL ELSE ${takes ? "$15::text" : "row.owner"} END)`,
    until: `(${now} + $13)`,
    append_id: "$4::text",
    hash: "$8::bytea",
    rest_from: "$11::bigint",
    rest_due: "$12::bigint",
    updated_at: "$7::bigint",
  };
  // Lists show these; the trigger of listing.ts copies them. In no sum: they are found again by the next append.
  const n = takes ? 19 : 18;
  const listed = {
    pause: `CASE WHEN $${n}::boolean THEN $${n + 1}::text WHEN row.pause = '?' THEN '?' WHEN $10 = 'paused' THEN coalesce(row.pause, '?') END`,
    run: `CASE WHEN $${n}::boolean THEN $${n + 2}::text ELSE row.run END`,
  };
  const set = Object.entries({ ...next, ...listed }).map(([column, value]) => `${column} = ${value}`);
  const free = `(row.owner IS NULL OR row.until <= ${now})`;
  // Taken from the sequence once.
  const fences = `f AS MATERIALIZED (SELECT nextval('${s.replaceAll("'", "''")}.fence') AS fence), `;
  return `WITH ${takes ? fences : ""}t AS (
      UPDATE ${s}.thread AS row SET ${set.join(", ")}, sum = ${sumOf(was, next)} ${takes ? "FROM f" : ""}
      WHERE name = $1 AND ${takes ? free : "row.fence = $15 AND owner IS NOT NULL"} AND head = $5 AND hash = $16
        ${takes ? "AND created_at = coalesce($18::bigint, created_at) " : ""}AND append_id <> $4 AND tenant = $2 AND id = $3 AND sum = ${sumOf(was)}
      RETURNING num, open, row.fence)
    INSERT INTO ${s}.entry SELECT t.num, $5 + 1, $6, $7, t.fence, $17::text, NULL, $8 FROM t
    RETURNING (SELECT open > 0 FROM t) AS mail, fence`;
}

/** The columns of a thread `t`. */
export const threadColumns = columns();

function columns(): string {
  const hex = (column: string) => `encode(t.${column}, 'hex') AS ${column}`;
  const now = "(extract(epoch FROM clock_timestamp()) * 1000)";
  return `t.num, ${hex("name")}, ${hex("tenant_name")}, t.tenant, t.id, t.agent, t.state, t.head, t.fence, t.owner, t.until,
    t.append_id, ${hex("hash")}, ${hex("base")}, ${hex("root")}, t.open, t.queued, t.answers, t.rest_from, t.rest_due, t.parent, t.parent_id, t.parent_seq,
    t.created_at, t.updated_at, ${hex("sum")}, t.owner IS NOT NULL AND t.until > ${now} AS held`;
}

function texts(s: string) {
  const row = threadColumns;
  const listing = listingColumns("l");
  const args = (n: number) => Array.from({ length: n }, (_, i) => `$${i + 1}`).join(", ");
  // Of one thread's own lines: a page from the line that holds the seq after `after` on, as two texts, and the line before.
  const page = (num: string, after: string, to: string) => `
    LEFT JOIN LATERAL (
      SELECT string_agg(concat_ws(',', e.seq, e.count, e.at, e.blob), ' ' ORDER BY e.seq) AS places,
        string_agg(coalesce(e.body, ''), E'\\x1e' ORDER BY e.seq) AS bodies, min(e.seq) AS first
      FROM (SELECT * FROM ${s}.entry WHERE thread = ${num} AND seq <= ${to} AND ${after} < ${to}
        AND seq >= coalesce((SELECT max(seq) FROM ${s}.entry WHERE thread = ${num} AND seq <= ${after} + 1), 0)
        ORDER BY seq LIMIT ${PAGE}) AS e
    ) AS p ON true
    LEFT JOIN LATERAL (
      SELECT encode(hash, 'hex') AS before, seq + count - 1 AS before_end FROM ${s}.entry
      WHERE thread = ${num} AND seq < p.first ORDER BY seq DESC LIMIT 1
    ) AS b ON true`;
  const renewed = "(extract(epoch FROM statement_timestamp()) * 1000)::bigint + a.ttl";
  const gone = '{"ok":false,"why":"conflict","head":0}';
  const request = `SELECT r.num, r.tenant, r.id, t.id AS thread_id, r.expires_at, r.body, r.closed, r.decided_at, encode(r.sum, 'hex') AS sum
    FROM ${s}.request r LEFT JOIN ${s}.thread t ON t.num = r.thread`;
  return {
    // $2: after this seq, where neither $3 (after the snapshot) nor $4 (as it rests).
    load: `SELECT ${row}, ${listing}, c.list AS commands, s.seq AS snapshot_seq, s.body AS snapshot_body,
        encode(s.sum, 'hex') AS snapshot_sum, a.after, p.places, p.bodies, b.before, b.before_end
      FROM ${s}.thread t
      LEFT JOIN ${s}.listing l ON l.thread = t.num
      LEFT JOIN ${s}.snapshot s ON $3::boolean AND s.thread = t.num AND s.seq <= t.head
      CROSS JOIN LATERAL (SELECT CASE WHEN $4::boolean THEN coalesce(t.rest_from, t.head) - 1
        WHEN $3 THEN coalesce(s.seq, 0) ELSE $2::bigint END AS after) AS a
      LEFT JOIN LATERAL (SELECT json_agg(json_build_array(key, kind, body, at, encode(sum, 'hex')) ORDER BY num)::text AS list
        FROM ${s}.command WHERE thread = t.num AND consumed_seq IS NULL) AS c ON t.open > 0
      ${page("t.num", "greatest(a.after, coalesce(t.parent_seq, 0))", "t.head")}
      WHERE t.name = $1`,
    row: `SELECT ${row} FROM ${s}.thread t WHERE t.name = $1`,
    misnamed: `SELECT 1 FROM ${s}.thread WHERE md5(id) = md5($2) AND tenant = $1 AND id = $2 LIMIT 1`,
    page: `SELECT p.places, p.bodies, b.before, b.before_end FROM (SELECT $1::bigint AS num) AS o
      ${page("o.num", "$2::bigint", "$3::bigint")}`,
    // The threads that have the lines of a fork, from the nearest to the first; the first has no base of its own.
    parents: `WITH RECURSIVE up AS (SELECT parent, seq, 1 AS depth FROM ${s}.fork WHERE num = $1
      UNION ALL SELECT f.parent, f.seq, up.depth + 1 FROM ${s}.fork f JOIN up ON f.num = up.parent)
      SELECT up.parent AS num, up.seq AS "to", encode(f.base, 'hex') AS base
      FROM up LEFT JOIN ${s}.fork f ON f.num = up.parent ORDER BY up.depth`,
    // A line, and whether it fits, one by one: for those that a page does not prove.
    lines: `SELECT e.seq, e.count, e.at, e.body, e.blob, encode(e.hash, 'hex') AS hash FROM ${s}.entry e
      WHERE e.thread = $1 AND e.seq >= $2 AND e.seq <= $3 ORDER BY e.seq LIMIT ${PAGE}`,
    blob: `SELECT body FROM ${s}.blob WHERE num = $1`,
    append: `SELECT ${s}.append_2(${args(23)}) AS outcome`,
    // $24: the creation time of the known thread. A thread made again under its name is another. append_2 reads by a snapshot
    // of its own: this locks the row against a deletion before that; without a row to lock, one may exist by then.
    appendTo: `WITH known AS MATERIALIZED (
        SELECT created_at, sum = ${s}.row_sum_1(t) AS fits FROM ${s}.thread t WHERE name = $1 FOR KEY SHARE)
      SELECT CASE WHEN EXISTS (SELECT FROM known WHERE created_at <> $24::bigint AND fits) THEN '${gone}'
        WHEN $6::bigint > 0 AND NOT EXISTS (SELECT FROM known) THEN concat(${s}.refuse_misnamed_1($1, $3, $4), '${gone}')
        ELSE ${s}.append_2(${args(23)}) END AS outcome`,
    goOn: goOn(s, false),
    takeOn: goOn(s, true),
    // Waits for no disk: a renewal that a crash of the server loses ends a lease early, and fences keep its owner from writing.
    renew: `SELECT set_config('synchronous_commit', 'off', true), ${s}.renew_1(${args(5)}) AS done`,
    // The same for many. A thread that the same fence asks for twice is renewed once, and both callers get the outcome.
    renewAll: `WITH asked AS (SELECT * FROM unnest($1::bytea[], $2::text[], $3::text[], $4::bigint[], $5::bigint[]) WITH ORDINALITY
          AS a(name, tenant, id, fence, ttl, nth)),
      t AS (UPDATE ${s}.thread AS row SET until = ${renewed}, sum = ${sumOf("row", { until: `(${renewed})` })}
        FROM (SELECT DISTINCT ON (name) * FROM asked ORDER BY name, ttl DESC) AS a
        WHERE row.name = a.name AND row.tenant = a.tenant AND row.id = a.id AND row.fence = a.fence AND row.owner IS NOT NULL
          AND row.sum = ${sumOf("row")} RETURNING row.name, row.fence)
      SELECT asked.nth, set_config('synchronous_commit', 'off', true) FROM asked JOIN t ON t.name = asked.name AND t.fence = asked.fence`,
    release: `SELECT ${s}.release_1(${args(4)})`,
    send: `SELECT ${s}.send_1(${args(9)}) AS done`,
    withdraw: `SELECT ${s}.withdraw_1(${args(5)}) AS done`,
    // The kinds that withdraw_1 leaves alone. The row is locked first, as by all that changes a thread. An answer gives up its
    // key, which may be sent again.
    withdrawOther: `WITH c AS (
        UPDATE ${s}.command AS c SET consumed_seq = 0, body = '', taken_by = $5::uuid,
          name = CASE c.kind WHEN 'answer' THEN ${s}.name_1('withdrawn', $5::uuid::text) ELSE c.name END
        FROM (SELECT row.num, row.owner FROM ${s}.thread AS row WHERE name = $1 AND tenant = $2 AND id = $3
          AND sum = ${sumOf("row")} FOR UPDATE) AS t
        WHERE c.thread = t.num AND c.name = ${s}.name_1('', $4) AND c.consumed_seq IS NULL
          AND (c.kind = 'answer' OR (c.kind = 'stop' AND t.owner IS NULL))
        RETURNING c.thread, CASE c.kind WHEN 'answer' THEN 1 ELSE 0 END AS answers),
      t AS (UPDATE ${s}.thread AS row SET open = row.open - 1, answers = row.answers - c.answers,
          sum = ${sumOf("row", { open: "(row.open - 1)::text", answers: "(row.answers - c.answers)::text" })}
        FROM c WHERE row.num = c.thread RETURNING row.num)
      SELECT EXISTS (SELECT FROM t) OR EXISTS (SELECT FROM ${s}.command c JOIN ${s}.thread t ON t.num = c.thread
        WHERE t.name = $1 AND c.taken_by = $5::uuid) AS done`,
    delete: `SELECT ${s}.delete_1(${args(5)}) AS done`,
    threads: `SELECT ${row} FROM ${s}.thread t WHERE t.tenant_name = $1 ORDER BY t.updated_at DESC, t.id`,
    ...dueStatements(s),
    requests: `${request} WHERE r.tenant_name = $1 AND r.closed IS NULL AND r.num > $2 ORDER BY r.num LIMIT $3`,
    request: `${request} WHERE r.name = $1`,
    rules: `SELECT tenant, id, at, body, encode(sum, 'hex') AS sum FROM ${s}.rule WHERE tenant_name = $1 ORDER BY num`,
    decided: `${request} WHERE r.tenant_name = $1 AND r.decided_at IS NOT NULL AND r.decided_at <= $2
        AND (r.decided_at, r.id) < ($2::bigint, $3::text) ORDER BY r.decided_at DESC, r.id DESC LIMIT $4`,
    decidedOf: `${request} WHERE r.thread = (SELECT num FROM ${s}.thread WHERE name = $1) AND r.decided_at IS NOT NULL
        AND (r.decided_at, r.id) < ($2::bigint, $3::text) ORDER BY r.decided_at DESC, r.id DESC LIMIT $4`,
    removeRule: `SELECT ${s}.remove_rule_1($1, $2) AS done`,
    // The columns that change with each write to a thread.
    sums: `SELECT encode(name, 'hex') AS name, encode(sum, 'hex') AS sum FROM ${s}.thread WHERE name = ANY ($1)`,
    names: `SELECT encode(tenant_name, 'hex') AS tenant_name, id FROM ${s}.thread WHERE name = ANY ($1)`,
    // A hint is not stored: its commit waits for no disk, and delays no other commit.
    notify: "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)",
    relay: "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, part) FROM unnest($2::text[]) AS part",
  };
}
