// The contents of Redis, as text, and their checksums: a mismatch is refused, never read (P7). A row is its values, with line
// ends between them, behind their sha1, which the scripts compute: they write rows. Everything else carries a crc by its
// sender.

import { hash as sha } from "node:crypto";
import { crc32 } from "node:zlib";
import type { PauseType, SessionState } from "../../lifecycle.ts";
import { anyText, damagedRequest } from "../damaged-request.ts";
import type { Command, DecidedRow, ListedRow, Named, RaisedRequest, RequestRow, RuleRow, ThreadRow } from "../store.ts";
import { wordsOf } from "../words.ts";
import { fromText, toText } from "./keys.ts";

/** A thread's row. Its values in this order are known to the scripts, too. */
export interface Row {
  readonly id: string;
  /** Names its lines: another one for a thread made again under its id. */
  readonly journal: string;
  readonly agent: string;
  readonly state: string;
  readonly head: number;
  readonly fence: number;
  readonly owner: string | undefined;
  readonly until: number;
  readonly crc: number;
  readonly hash: string;
  /** How many commands wait, and how many of them are inputs, and answers. */
  readonly open: number;
  readonly queued: number;
  readonly answers: number;
  readonly rest: ThreadRow["rest"];
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly parent: ThreadRow["parent"];
  /** The type of its pause; empty if it is not paused, UNLISTED if no append has listed it. */
  readonly pause: string;
  readonly runId: string | undefined;
}

const VALUES = 24;

/** The pause of a thread that no append has listed: of an earlier release, or written by other means. */
export const UNLISTED = "?";
const SUM = 40;

/** Returns undefined if it does not fit its checksum. */
export function readRow(raw: string): Row | undefined {
  const text = raw.slice(SUM + 1);
  if (raw.slice(0, SUM) !== sha("sha1", text, "hex")) return undefined;
  const values = text.split("\n");
  if (values.length !== VALUES) return undefined;
  const [id, journal, agent, state, head, fence, owner, until, , crc, hash, open, queued, answers] = values as string[];
  const [from, due, createdAt, updatedAt, parent = "", seq, , , pause = "", run = ""] = values.slice(14);
  return {
    id: fromText(id!),
    journal: journal!,
    agent: fromText(agent!),
    state: state!,
    head: Number(head),
    fence: Number(fence),
    owner: owner === "" ? undefined : fromText(owner!.slice(1)),
    until: Number(until),
    crc: Number(crc),
    hash: hash!,
    open: Number(open),
    queued: Number(queued),
    answers: Number(answers),
    rest: from === "" ? undefined : { from: Number(from), ...(due !== "" && { dueAt: Number(due) }) },
    createdAt: Number(createdAt),
    updatedAt: Number(updatedAt),
    parent: parent === "" ? undefined : { threadId: fromText(parent.slice(1)), seq: Number(seq) },
    pause,
    runId: run === "" ? undefined : fromText(run.slice(1)),
  };
}

/** `now` by the server's clock. */
export function shown(row: Row, now: number): ThreadRow {
  const { id, agent, state, head, createdAt, updatedAt, owner, fence, until, rest, parent } = row;
  return {
    threadId: id,
    agent,
    state: state as SessionState,
    head,
    createdAt,
    updatedAt,
    queued: row.queued > 0,
    answered: row.answers > 0,
    ...(rest && { rest }),
    ...(parent && { parent }),
    ...(owner !== undefined && until > now && { lease: { owner, fence, until } }),
  };
}

/** A row that does not fit its checksum is reported only by its name, for a search. */
export function shownDamaged(id: string): ThreadRow {
  const none = { agent: "", state: "error", head: 0, createdAt: 0, updatedAt: 0 } as const;
  return { threadId: anyText(id), ...none, queued: false, answered: false, damaged: true };
}

/** A title and labels, then the pairs and the words that they are found by, which the scripts read. */
export function packNames(thread: string, named: Named): string {
  const { title, labels } = named;
  const pairs = Object.entries(labels).map(([key, value]) => pairName(key, value));
  const shown = title === undefined ? "" : `+${toText(title)}`;
  return pack(thread, shown, toText(JSON.stringify(labels)), pairs.join(" "), wordsOf(named).join(" "));
}

/** Returns undefined if there are none, or they do not fit their crc. */
export function unpackNames(thread: string, packed: string): Named | undefined {
  const values = packed === "" ? undefined : unpack(thread, packed, 4);
  if (values === undefined) return undefined;
  const [title, labels] = values as [string, string];
  return { labels: JSON.parse(fromText(labels)), ...(title !== "" && { title: fromText(title.slice(1)) }) };
}

export function pairName(key: string, value: string): string {
  return sha("sha1", `${toText(key)}\n${toText(value)}`, "hex") as string;
}

/** How a request was decided. */
export function packVerdict(thread: string, id: string, body: string): string {
  return pack(`verdict\n${thread}\n${toText(id)}`, toText(body));
}

/** Reads a decided request. One that does not fit its crc is shown as damaged. */
export function unpackVerdict(id: string, at: string, packed: string): DecidedRow {
  const [thread, rest] = partHead(packed, 1) as [string, string];
  const values = unpack(`verdict\n${thread}\n${id}`, rest, 1);
  const decidedAt = Number(at);
  if (values === undefined) return { ...damagedRequest(id, thread), decidedAt };
  return { id: fromText(id), threadId: fromText(thread), body: fromText(values[0]!), decidedAt };
}

/** Shows a thread of a page. `at` is the time that it is listed by. */
export function shownListed(id: string, at: number, raw: string, names: string, open: number, now: number): ListedRow {
  const row = readRow(raw);
  const named = unpackNames(id, names);
  if (row === undefined || toText(row.id) !== id || (names !== "" && named === undefined))
    return { ...shownDamaged(id), updatedAt: at, open: 0 };
  const { pause, runId } = row;
  return {
    ...shown(row, now),
    open,
    ...(named && { named }),
    ...(runId !== undefined && { runId }),
    ...(pause === UNLISTED ? { unlisted: true as const } : pause !== "" && { pauseType: pause as PauseType }),
  };
}

/** The last line of a journal, or its beginning: the next line continues it. */
export interface Mark {
  readonly journal: string;
  readonly crc: number;
  readonly hash: string;
}

export interface LineText {
  readonly seq: number;
  readonly count: number;
  readonly at: number;
  readonly crc: number;
  readonly hash: string;
  /** As it is kept. */
  readonly text: string;
}

export function packLine({ seq, count, at, crc, hash, text }: LineText): string {
  return `${seq}\n${count}\n${at}\n${crc}\n${hash}\n${text}`;
}

/** A line as it is kept: these values, the first the fence that it was written under. */
export const LINE_VALUES = 7;

/** Any value: its crc proves it. */
export function lineOf(values: readonly string[], first: number): LineText {
  return {
    seq: Number(values[first + 1]),
    count: Number(values[first + 2]),
    at: Number(values[first + 3]),
    crc: Number(values[first + 4]),
    hash: values[first + 5] ?? "",
    text: values[first + 6] ?? "",
  };
}

export function lineCrc(
  tenant: string,
  { journal, crc }: Pick<Mark, "journal" | "crc">,
  line: Omit<LineText, "crc" | "hash">,
): number {
  const { seq, count, at, text } = line;
  return crc32(`${toText(tenant)}\n${journal}\n${seq}\n${count}\n${at}\n${text}`, crc);
}

export function lineHash(before: string, text: string): string {
  return (sha("sha256", `${before}\n${text}`, "buffer") as Buffer).subarray(0, 16).toString("base64");
}

/** Writes values in their order behind a crc of them and of their place. The last may have line ends of its own. */
export function pack(place: string, ...values: readonly (string | number)[]): string {
  const text = values.join("\n");
  return `${crc32(`${place}\n${text}`)}\n${text}`;
}

/** Reads `count` values; returns undefined if they do not fit their crc. */
export function unpack(place: string, packed: string, count: number): string[] | undefined {
  const end = packed.indexOf("\n");
  const text = packed.slice(end + 1);
  if (end === -1 || String(crc32(`${place}\n${text}`)) !== packed.slice(0, end)) return undefined;
  const values = text.split("\n");
  return values.length === count ? values : undefined;
}

/** Splits off the fields that scripts put before a packed value: numbers, kinds and ids, which have no line ends. */
export function partHead(text: string, count: number): string[] {
  const values: string[] = [];
  for (let i = 0; i < count; i++) {
    const end = text.indexOf("\n");
    values.push(text.slice(0, end));
    text = text.slice(end + 1);
  }
  return [...values, text];
}

/** Pairs of a hash, flat, in the order of the number that each value begins with. */
export function inOrder(flat: readonly string[]): (readonly [id: string, packed: string, number: number])[] {
  const numbered: [number, string, string][] = [];
  for (let i = 0; i < flat.length; i += 2) {
    const [n, rest] = partHead(flat[i + 1]!, 1) as [string, string];
    numbered.push([Number(n), flat[i]!, rest]);
  }
  return numbered.sort(([a], [b]) => a - b).map(([n, id, packed]) => [id, packed, n]);
}

/** The server keeps its kind before it, to count by. */
export function packCommand(journalOrThread: string, { key, kind, at, body }: Command): string {
  return pack(`${journalOrThread}\n${toText(key)}\n${kind}`, at, toText(body));
}

export function unpackCommand(thread: string, id: string, packed: string): Command | undefined {
  const [kind, rest] = partHead(packed, 1) as [Command["kind"], string];
  const values = unpack(`${thread}\n${id}\n${kind}`, rest, 2);
  return values && { key: fromText(id), kind, body: fromText(values[1]!), at: Number(values[0]) };
}

export function packRequest(thread: string, { id, expiresAt, body }: RaisedRequest): string {
  return pack(`${thread}\n${toText(id)}`, expiresAt ?? "", toText(body));
}

/** Reads an open request. One that does not fit its crc is returned as damaged. */
export function unpackRequest(id: string, packed: string): RequestRow {
  const [thread, rest] = partHead(packed, 1) as [string, string];
  const values = unpack(`${thread}\n${id}`, rest, 2);
  if (values === undefined) return damagedRequest(id, thread);
  const [expires, body] = values as [string, string];
  const request = { id: fromText(id), threadId: fromText(thread), body: fromText(body) };
  return expires === "" ? request : { ...request, expiresAt: Number(expires) };
}

export function packRule({ id, at, body }: RuleRow): string {
  return pack(toText(id), at, toText(body));
}

export function unpackRule(id: string, packed: string): RuleRow | undefined {
  const values = unpack(id, packed, 2);
  return values && { id: fromText(id), at: Number(values[0]), body: fromText(values[1]!) };
}
