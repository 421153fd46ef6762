// The lists of a database. A thread's row in `listing` has the columns that lists show and are ordered by; `label` and `word` have
// those that it is found by. A trigger maintains the listing, for any statement and release that writes the thread. An append of a running
// thread that keeps running changes none of them; so running threads are read by their state, and put in the order of their
// own rows.
//
// No index holds an id or an agent's name as it is: a name may have any length.

import type { PauseType } from "../../lifecycle.ts";
import type { ListedRow, Named, ThreadQuery, ThreadRow } from "../store.ts";
import { fromText, toText } from "../text.ts";
import { beyond, wordsOf } from "../words.ts";
import { bytes, type ListingRow, listingSum, nameOf, type Row, tenantName, threadName } from "./rows.ts";

/** The pause of a thread that no append has listed: of an earlier release, or written by other means. */
const UNLISTED = "?";

export function listingTables(s: string): string {
  return `
ALTER TABLE ${s}.thread ADD COLUMN pause text DEFAULT '${UNLISTED}', ADD COLUMN run text;
CREATE TABLE ${s}.listing (
  thread bigint PRIMARY KEY REFERENCES ${s}.thread ON DELETE CASCADE, tenant_name bytea NOT NULL, agent_name bytea NOT NULL,
  id text COLLATE "C" NOT NULL, at bigint NOT NULL, state text NOT NULL, pause text, run text, title text, labels text, sum bytea
) WITH (fillfactor = 70);
INSERT INTO ${s}.listing (thread, tenant_name, agent_name, id, at, state, pause)
  SELECT num, tenant_name, ${s}.name_1('', agent), id, updated_at, state, '${UNLISTED}' FROM ${s}.thread;
CREATE INDEX listing_at ON ${s}.listing (tenant_name, at);
CREATE INDEX listing_state ON ${s}.listing (tenant_name, state, at);
CREATE INDEX listing_agent ON ${s}.listing (tenant_name, agent_name, at);
CREATE INDEX listing_pause ON ${s}.listing (tenant_name, pause, at) WHERE pause IS NOT NULL;
CREATE TABLE ${s}.label (
  thread bigint NOT NULL REFERENCES ${s}.listing ON DELETE CASCADE, pair bytea NOT NULL, tenant_name bytea NOT NULL,
  at bigint NOT NULL, PRIMARY KEY (thread, pair));
CREATE INDEX label_pair ON ${s}.label (tenant_name, pair, at);
CREATE TABLE ${s}.word (
  tenant_name bytea NOT NULL, word text COLLATE "C" NOT NULL, thread bigint NOT NULL REFERENCES ${s}.listing ON DELETE CASCADE,
  PRIMARY KEY (tenant_name, word, thread));
CREATE INDEX word_thread ON ${s}.word (thread);
ALTER TABLE ${s}.request ADD COLUMN decided_at bigint;
CREATE INDEX request_decided ON ${s}.request (tenant_name, decided_at) WHERE decided_at IS NOT NULL;

CREATE FUNCTION ${s}.list_sum_1(l ${s}.listing) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN substr(sha256(convert_to(concat_ws(E'\\n', l.thread, l.at, l.state, coalesce('+' || l.pause, '-'),
    coalesce('+' || l.run, '-'), coalesce('+' || l.title, '-'), coalesce('+' || l.labels, '-')), 'UTF8')), 1, 8);
END $$;

CREATE FUNCTION ${s}.list_1() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE l ${s}.listing;
BEGIN
  SELECT * INTO l FROM ${s}.listing WHERE thread = NEW.num;
  l.thread := NEW.num;
  l.tenant_name := NEW.tenant_name;
  l.agent_name := ${s}.name_1('', NEW.agent);
  l.id := NEW.id;
  l.at := NEW.updated_at;
  l.state := NEW.state;
  l.pause := NEW.pause;
  l.run := NEW.run;
  l.sum := ${s}.list_sum_1(l);
  INSERT INTO ${s}.listing SELECT l.* ON CONFLICT (thread) DO UPDATE
    SET agent_name = l.agent_name, at = l.at, state = l.state, pause = l.pause, run = l.run, sum = l.sum;
  UPDATE ${s}.label SET at = NEW.updated_at WHERE thread = NEW.num;
  RETURN NULL;
END $$;
CREATE TRIGGER list AFTER UPDATE ON ${s}.thread FOR EACH ROW
  WHEN (OLD.append_id <> NEW.append_id AND (OLD.state <> 'running' OR NEW.state <> 'running'
    OR OLD.pause IS DISTINCT FROM NEW.pause OR OLD.run IS DISTINCT FROM NEW.run))
  EXECUTE FUNCTION ${s}.list_1();`;
}

/** Columns of the listing `l`, under names that those of a thread do not have. */
export function listingColumns(l: string): string {
  return `${l}.thread, ${l}.at, ${l}.id AS listed_id, ${l}.state AS listed_state, ${l}.pause, ${l}.run, ${l}.title, ${l}.labels,
    encode(${l}.sum, 'hex') AS listing_sum`;
}

/** A title and labels as the function that appends takes them. */
export function namedValue(named: Named) {
  const { title, labels } = named;
  return {
    title: title === undefined ? null : toText(title),
    labels: toText(JSON.stringify(labels)),
    pairs: Object.entries(labels).map(([key, value]) => pairName(key, value)),
    words: wordsOf(named),
  };
}

function pairName(key: string, value: string): string {
  return nameOf(toText(key), toText(value));
}

/** Returns the title and labels; undefined if no append has set them, or they are damaged. */
export function namedOf(row: ListingRow): Named | undefined {
  const { title, labels } = row;
  if (row.thread === null || labels === null || !fits(row)) return undefined;
  return { labels: JSON.parse(fromText(labels)), ...(title !== null && { title: fromText(title) }) };
}

function fits(row: ListingRow): boolean {
  return row.listing_sum === null ? row.pause === UNLISTED : row.listing_sum === listingSum(row);
}

export interface PageRow extends Row, ListingRow {
  /** The time by which it is listed. */
  readonly place: string;
  readonly open_requests: string;
}

/** Returns the statement for a page, and its values. `row` is the columns of a thread `t`. */
export function pageStatement(
  s: string,
  row: string,
  tenant: string,
  query: ThreadQuery,
): { readonly text: string; readonly values: unknown[] } {
  const { state, pauseType, agent, label = {}, words = [], threadIds, after, limit } = query;
  const values: unknown[] = [];
  const value = (given: unknown) => `$${values.push(given)}`;
  const of = value(bytes(tenantName(tenant)));
  const shared: string[] = [];
  if (agent !== undefined) shared.push(`l.agent_name = ${value(bytes(nameOf("", toText(agent))))}`);
  if (threadIds !== undefined) {
    const names = threadIds.map((threadId) => bytes(threadName({ tenant, threadId })));
    shared.push(`l.thread IN (SELECT num FROM ${s}.thread WHERE name = ANY (${value(names)}::bytea[]))`);
  }
  for (const word of words)
    shared.push(`l.thread IN (SELECT w.thread FROM ${s}.word w WHERE w.tenant_name = ${of}
      AND w.word >= ${value(word)}::text COLLATE "C" AND w.word < ${value(beyond(word))}::text COLLATE "C")`);
  const pairs = Object.entries(label).map(([key, text]) => value(bytes(pairName(key, text))));
  const has = (pair: string) => `EXISTS (SELECT FROM ${s}.label o WHERE o.thread = l.thread AND o.pair = ${pair})`;
  const count = value(limit);
  const [at, id] = after === undefined ? [] : [value(after.at), value(toText(after.id))];
  const beforePlace = (time: string) =>
    at === undefined ? [] : [`${time} <= ${at}::bigint AND (${time}, l.id) < (${at}::bigint, ${id}::text COLLATE "C")`];
  const parts: string[] = [];
  if (state !== "running") {
    const [first, ...others] = pairs;
    const from = first === undefined ? `${s}.listing l` : `${s}.label b JOIN ${s}.listing l ON l.thread = b.thread`;
    const time = first === undefined ? "l.at" : "b.at";
    const where = [
      first === undefined ? `l.tenant_name = ${of}` : `b.tenant_name = ${of} AND b.pair = ${first}`,
      state === undefined ? "l.state <> 'running'" : `l.state = ${value(state)}`,
      ...(pauseType === undefined ? [] : [`l.pause = ${value(pauseType === "unlisted" ? UNLISTED : pauseType)}`]),
      ...(pauseType === "unlisted" ? ["l.state = 'paused'"] : []),
      ...shared,
      ...others.map(has),
      ...beforePlace(time),
    ];
    parts.push(
      `(SELECT l.*, ${time} AS place FROM ${from} WHERE ${where.join(" AND ")} ORDER BY ${time} DESC, l.id DESC LIMIT ${count})`,
    );
  }
  if ((state === undefined || state === "running") && pauseType === undefined) {
    const where = [
      `l.tenant_name = ${of} AND l.state = 'running'`,
      ...shared,
      ...pairs.map(has),
      ...beforePlace("t.updated_at"),
    ];
    parts.push(`(SELECT l.*, t.updated_at AS place FROM ${s}.listing l JOIN ${s}.thread t ON t.num = l.thread
      WHERE ${where.join(" AND ")} ORDER BY t.updated_at DESC, l.id DESC LIMIT ${count})`);
  }
  const open = `(SELECT count(*) FROM ${s}.request r WHERE r.thread = l.thread AND r.closed IS NULL) AS open_requests`;
  const text = `SELECT ${row}, ${listingColumns("l")}, l.place, ${open} FROM (${parts.join(" UNION ALL ")}) AS l
    LEFT JOIN ${s}.thread t ON t.num = l.thread ORDER BY l.place DESC, l.id DESC LIMIT ${count}`;
  return { text, values };
}

/** Shows a row of a page; `show` shows its thread, or nothing if that is damaged. */
export function shownListed(row: PageRow, show: (row: Row) => ThreadRow | undefined): ListedRow {
  const { pause, run } = row;
  const isSound = fits(row) && row.listed_id === row.id && row.listed_state === row.state;
  const shown = isSound ? show(row) : undefined;
  if (shown === undefined) {
    const none = { agent: "", state: "error", head: 0, createdAt: 0, queued: false, answered: false, open: 0 } as const;
    return { threadId: fromText(row.listed_id), ...none, updatedAt: Number(row.place), damaged: true };
  }
  const named = namedOf(row);
  return {
    ...shown,
    open: Number(row.open_requests),
    ...(named && { named }),
    ...(run !== null && { runId: fromText(run) }),
    ...(pause === UNLISTED ? { unlisted: true as const } : pause !== null && { pauseType: pause as PauseType }),
  };
}
