// The lists of a database. A thread's row in `listing` has the columns that lists show and are ordered by; `label` and `word` have
// those that it is found by. An append that keeps the state of a thread that is held changes none of them, and one that begins a
// run only the index of states: each page that an append changes is written to the disk twice. So running threads are read by their
// state, and put in the order of their own rows; others have the time at which they were last let go. A running thread keeps that
// place, and readers by another index leave it out.
//
// A copy: a row that does not fit its checksum is shown as damaged, and the next append that changes it writes it anew.
// Callers are in a transaction.

import type { PauseType } from "../../lifecycle.ts";
import { inListOrder } from "../list-order.ts";
import type { Append, ListedRow, ListPlace, Named, ThreadQuery, ThreadRow } from "../store.ts";
import { beyond, doubtfulWords, haveWords, wordsOf } from "../words.ts";
import { type DatabaseSync, fromText, type SqlValue, type Statement, toText } from "./database.ts";
import { type ListingRow, listingCrc, type Row } from "./rows.ts";
import type { Statements } from "./statements.ts";

/** The pause of a thread that no append has listed: of an earlier release, or written by other means. */
const UNLISTED = "?";
/** The time of a thread that has run since it was made. */
const NOWHERE = -1;

/** Whether an append changes how its thread is listed. `before` is its row before that. */
export function isMove(before: Row | undefined, { state, listed, named, release }: Append): boolean {
  const isHeld = before !== undefined && before.owner !== null && !release;
  return !isHeld || before.state !== state || listed !== undefined || named !== undefined;
}

/**
 * Lists a thread as `append` leaves it. `row` is its row after that, and gets the listing; `before` is the listing before that.
 * A thread that runs keeps its place.
 */
export function writeListing(
  sql: Statements,
  row: Row,
  append: Pick<Append, "state" | "listed" | "named">,
  before: ListingRow | undefined,
): void {
  const { num: thread, tenant, id, state, agent } = row;
  const { named } = append;
  const at = state === "running" ? (before?.at ?? NOWHERE) : row.updated_at;
  const listing = {
    thread,
    tenant,
    id,
    at,
    state,
    agent,
    ...standingOf(before, append),
    title: named === undefined ? (before?.title ?? null) : textOrNull(named.title),
    labels: named === undefined ? (before?.labels ?? null) : toText(JSON.stringify(named.labels)),
    crc: 0,
  };
  const isSame = before !== undefined && before.crc === listingCrc({ ...listing, at: before.at });
  row.listing = before;
  // Its time alone is written when the thread is let go.
  if (isSame && (row.owner !== null || before.at === at)) return;
  const { pause, run, title, labels } = listing;
  const crc = listingCrc(listing);
  listing.crc = crc;
  row.listing = listing;
  if (before?.at === at && before.agent === agent) sql.changeListing.run(state, pause, run, title, labels, crc, thread);
  else sql.setListing.run(thread, tenant, id, at, state, agent, pause, run, title, labels, crc);
  if (before?.at !== at || named !== undefined) {
    if (before !== undefined) dropLabels(sql, before);
    for (const [key, value] of Object.entries(namedOf(listing)?.labels ?? {}))
      sql.addLabel.run(tenant, toText(key), toText(value), at, id, thread);
  }
  if (named === undefined) return;
  if (before !== undefined) dropWords(sql, before);
  for (const word of wordsOf(named)) sql.addWord.run(tenant, word, thread);
}

function standingOf(
  before: ListingRow | undefined,
  { listed, state }: Pick<Append, "listed" | "state">,
): Pick<ListingRow, "pause" | "run"> {
  if (listed !== undefined) return { pause: listed.pauseType ?? null, run: textOrNull(listed.runId) };
  const { pause = UNLISTED, run = null } = before ?? {};
  if (pause === UNLISTED) return { pause, run };
  return { pause: state === "paused" ? (pause ?? UNLISTED) : null, run };
}

function textOrNull(text: string | undefined): string | null {
  return text === undefined ? null : toText(text);
}

export function dropListing(sql: Statements, thread: number): void {
  const found = sql.listing.get(thread) as ListingRow | undefined;
  if (found === undefined) return;
  if (fits(found)) {
    dropLabels(sql, found);
    dropWords(sql, found);
  }
  sql.dropListing.run(thread);
}

function dropLabels(sql: Statements, listing: ListingRow): void {
  const { tenant, at, id } = listing;
  for (const [key, value] of Object.entries(namedOf(listing)?.labels ?? {}))
    sql.dropLabel.run(tenant, toText(key), toText(value), at, id);
}

function dropWords(sql: Statements, listing: ListingRow): void {
  const named = namedOf(listing);
  if (named !== undefined) for (const word of wordsOf(named)) sql.dropWord.run(listing.tenant, word, listing.thread);
}

/** Returns the listing of a thread; undefined if it has none, or that is damaged. */
export function readListing(sql: Statements, thread: number): ListingRow | undefined {
  const found = sql.listing.get(thread) as ListingRow | undefined;
  return found !== undefined && fits(found) ? found : undefined;
}

/** Returns the title and labels of a thread; undefined if no append has set them. */
export function namedOf({ title, labels }: Pick<ListingRow, "title" | "labels">): Named | undefined {
  if (labels === null) return undefined;
  return { labels: JSON.parse(fromText(labels)), ...(title !== null && { title: fromText(title) }) };
}

function fits(listing: ListingRow): boolean {
  return listing.crc === null ? listing.pause === UNLISTED : listing.crc === listingCrc(listing);
}

/** A thread and its listing, and how many of its requests are open. */
interface PageRow {
  readonly row: Row;
  readonly listing: ListingRow;
  readonly open: number;
}

/** Shows a row of `thread`, anew each time; undefined if that is damaged. */
type Show = (row: Row) => ThreadRow | undefined;

/** Reads the pages of lists, each statement prepared once. */
export class Pages {
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, Statement>();

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  read(tenant: string, query: ThreadQuery, show: Show): readonly ListedRow[] {
    const { state, pauseType } = query;
    const parts: ListedRow[][] = [];
    if (state !== "running") parts.push(this.#part(tenant, query, show, false));
    if ((state === undefined || state === "running") && pauseType === undefined)
      parts.push(this.#part(tenant, query, show, true));
    const found = parts.filter(({ length }) => length > 0);
    const rows = found.length < 2 ? (found[0] ?? []) : found.flat().sort((a, b) => inListOrder(placeOf(a), placeOf(b)));
    return rows.slice(0, query.limit);
  }

  /** Reads on until the page is full: rows that have not all words, or that only a damaged index has, are left out. */
  #part(tenant: string, query: ThreadQuery, show: Show, running: boolean): ListedRow[] {
    const rows: ListedRow[] = [];
    const words = this.#leadingWords(tenant, query.words ?? []);
    for (let { after } = query; ; ) {
      const [text, values] = statementFor(tenant, { ...query, words, after }, running);
      const found = this.#prepared(text)
        .all(...values)
        .map((each) => pageRow((each as { readonly packed: string }).packed));
      for (const row of found) if (isMeant(row, query, words)) rows.push(shownRow(row, show, running));
      if (found.length < query.limit || rows.length >= query.limit) return rows;
      after = placeIn(found.at(-1)!, running);
    }
  }

  /**
   * Returns the word that leads to the fewest threads; none if each leads to many: then so many threads have them that the list
   * is read from its beginning.
   */
  #leadingWords(tenant: string, words: readonly string[]): readonly string[] {
    const counts = words.map((word) => {
      const { n } = this.#prepared(COUNT).get(toText(tenant), word, beyond(word), MANY) as { readonly n: number };
      return n;
    });
    const least = Math.min(...counts);
    return least < MANY ? [words[counts.indexOf(least)]!] : [];
  }

  #prepared(text: string): Statement {
    const known = this.#statements.get(text);
    if (known !== undefined) return known;
    const statement = this.#db.prepare(text);
    this.#statements.set(text, statement);
    return statement;
  }
}

/** Threads of one word that are sorted for a page. */
const MANY = 1_000;
const COUNT = "SELECT COUNT(*) AS n FROM (SELECT 1 FROM word WHERE tenant = ? AND word >= ? AND word < ? LIMIT ?)";

/** Text that a damaged byte has made a blob reads as it is; a number that is none any more becomes another one. */
const text = (column: string) => `CAST(${column} AS TEXT)`;
const number = (column: string) => `${column} + 0`;

// Each row as one JSON text: every column alone takes more than twice as long. pageRow() reads them in this order.
const PACKED = `json_array(${[
  ...[
    "num",
    "name",
    "head",
    "fence",
    "until",
    "crc",
    "open",
    "queued",
    "answers",
    "rest_from",
    "rest_due",
    "base",
    "base_seq",
  ],
  ...["base_crc", "created_at", "updated_at", "row_crc"],
]
  .map((column) => number(`thread.${column}`))
  .concat(["tenant", "id", "agent", "state", "owner", "append_id", "parent"].map((column) => text(`thread.${column}`)))
  .concat("hex(thread.hash)")
  .concat(["thread", "at", "crc"].map((column) => number(`l.${column}`)))
  .concat(["tenant", "id", "state", "agent", "pause", "run", "title", "labels"].map((column) => text(`l.${column}`)))
  .join(", ")},
  (SELECT COUNT(*) FROM request WHERE request.thread = l.thread AND request.closed IS NULL)) AS packed`;

type Num = number;
type Text = string;
type Packed = readonly [
  ...[num: Num, name: Num, head: Num, fence: Num, until: Num, crc: Num, open: Num, queued: Num, answers: Num | null],
  ...[rest_from: Num | null, rest_due: Num | null, base: Num | null, base_seq: Num | null, base_crc: Num | null],
  ...[created_at: Num, updated_at: Num, row_crc: Num],
  ...[tenant: Text, id: Text, agent: Text, state: Text, owner: Text | null, append_id: Text, parent: Text | null],
  hash: Text,
  ...[thread: Num, at: Num, l_crc: Num | null],
  ...[l_tenant: Text, l_id: Text, l_state: Text, l_agent: Text],
  ...[pause: Text | null, run: Text | null, title: Text | null, labels: Text | null],
  requests: Num,
];

function pageRow(packed: string): PageRow {
  // biome-ignore format: one name for each column, as PACKED has them
  const [
    num, name, head, fence, until, crc, open, queued, answers, rest_from, rest_due, base, base_seq, base_crc, created_at,
    updated_at, row_crc, tenant, id, agent, state, owner, append_id, parent, hex, thread, at, l_crc, l_tenant, l_id, l_state,
    l_agent, pause, run, title, labels, requests,
  ] = JSON.parse(packed) as Packed;
  return {
    row: {
      num,
      tenant,
      id,
      name,
      agent,
      state,
      head,
      fence,
      owner,
      until,
      append_id,
      crc,
      hash: Buffer.from(hex, "hex"),
      open,
      queued,
      answers,
      rest_from,
      rest_due,
      parent,
      base,
      base_seq,
      base_crc,
      created_at,
      updated_at,
      row_crc,
    },
    listing: {
      thread,
      tenant: l_tenant,
      id: l_id,
      at,
      state: l_state,
      agent: l_agent,
      pause,
      run,
      title,
      labels,
      crc: l_crc,
    },
    open: requests,
  };
}

const ROW = "LEFT JOIN thread ON thread.num = l.thread";

/** Returns the statement for a part of a page, and its values. One index finds the rows, in their order if it can be. */
export function statementFor(tenant: string, query: ThreadQuery, running: boolean): readonly [string, SqlValue[]] {
  const { state, pauseType, agent, label = {}, words = [], threadIds, after, limit } = query;
  const labels = Object.entries(label);
  const isFound = words.length > 0 || threadIds !== undefined;
  const isLabel = !running && !isFound && labels.length > 0;
  const at = running ? "thread.updated_at" : isLabel ? "label.at" : "l.at";
  const id = isLabel ? "label.id" : "l.id";
  const where: string[] = [];
  const values: SqlValue[] = [];
  const add = (condition: string, ...more: SqlValue[]) => {
    where.push(condition);
    values.push(...more);
  };
  let from = "listing AS l INDEXED BY listing_at";
  if (isLabel) {
    from = "label CROSS JOIN listing AS l ON l.thread = label.thread";
    const [key, value] = labels.shift()!;
    add("label.tenant = ? AND label.key = ? AND label.value = ?", toText(tenant), toText(key), toText(value));
  } else if (isFound && !running) from = "listing AS l NOT INDEXED";
  else if (running) from = "listing AS l INDEXED BY listing_state";
  else if (pauseType !== undefined) from = "listing AS l INDEXED BY listing_pause";
  else if (agent !== undefined) from = "listing AS l INDEXED BY listing_agent";
  else if (state !== undefined) from = "listing AS l INDEXED BY listing_state";
  add("l.tenant = ?", toText(tenant));
  if (threadIds !== undefined)
    add(
      "l.thread IN (SELECT num FROM thread WHERE tenant = ? AND id IN (SELECT value FROM json_each(?)))",
      toText(tenant),
      JSON.stringify(threadIds.map(toText)),
    );
  for (const word of words)
    add(
      "l.thread IN (SELECT thread FROM word WHERE tenant = ? AND word >= ? AND word < ?)",
      toText(tenant),
      word,
      beyond(word),
    );
  for (const [key, value] of labels)
    add(
      `EXISTS (SELECT 1 FROM label AS other WHERE other.tenant = l.tenant AND other.key = ? AND other.value = ?
        AND other.at = l.at AND other.id = l.id)`,
      toText(key),
      toText(value),
    );
  if (pauseType !== undefined) add("l.pause = ?", pauseType === "unlisted" ? UNLISTED : pauseType);
  if (pauseType === "unlisted") add("l.state = 'paused'");
  if (agent !== undefined) add("l.agent = ?", toText(agent));
  add(running ? "l.state = 'running'" : "l.state <> 'running' AND l.at >= 0");
  if (!running && state !== undefined) add("l.state = ?", state);
  if (after !== undefined) add(`(${at}, ${id}) < (?, ?)`, after.at, toText(after.id));
  values.push(limit);
  return [
    `SELECT ${PACKED} FROM ${from} ${ROW} WHERE ${where.join(" AND ")} ORDER BY ${at} DESC, ${id} DESC LIMIT ?`,
    values,
  ];
}

/** Returns whether the row agrees with an index, and has all words; `led` is the words by which an index has found it. */
function isMeant({ listing }: PageRow, { label = {}, words = [] }: ThreadQuery, led: readonly string[]): boolean {
  const pairs = Object.entries(label);
  // Most pages ask for neither, and finding words takes longer than reading a row.
  if (pairs.length === 0 && words.length === 0) return true;
  if (!fits(listing)) return true;
  const named = namedOf(listing) ?? { labels: {} };
  if (!pairs.every(([key, value]) => named.labels[key] === value)) return false;
  const doubtful = doubtfulWords(named, words);
  if (doubtful === undefined) return false;
  return led.length === words.length || doubtful.length === 0 || haveWords(wordsOf(named), doubtful);
}

function placeIn({ row, listing }: PageRow, running: boolean): ListPlace {
  return { at: running ? row.updated_at : listing.at, id: fromText(listing.id) };
}

function placeOf({ updatedAt, threadId }: ListedRow): ListPlace {
  return { at: updatedAt, id: threadId };
}

function shownRow(found: PageRow, show: Show, running: boolean): ListedRow {
  const { row, listing, open } = found;
  const shown = fits(listing) && row.id === listing.id && row.state === listing.state ? show(row) : undefined;
  if (shown === undefined) {
    const { at, id: threadId } = placeIn(found, running);
    const none = { agent: "", state: "error", head: 0, createdAt: 0, queued: false, answered: false, open: 0 } as const;
    return { threadId, ...none, updatedAt: at, damaged: true };
  }
  // Set one by one: to spread them takes as long as to read the row.
  const { at: updatedAt } = placeIn(found, running);
  const listed: { -readonly [K in keyof ListedRow]: ListedRow[K] } = Object.assign(shown, { updatedAt, open });
  const named = namedOf(listing);
  if (named !== undefined) listed.named = named;
  const { pause, run } = listing;
  if (run !== null) listed.runId = fromText(run);
  if (pause === UNLISTED) listed.unlisted = true;
  else if (pause !== null) listed.pauseType = pause as PauseType;
  return listed;
}
