// An append as arguments of its script: values in their order, and then the lists, with their lengths among the values.

import type { Append, ThreadKey } from "../store.ts";
import { toText } from "./keys.ts";
import { lineCrc, lineHash, type Mark, pack, packLine, packNames, packRequest, packRule, packVerdict } from "./rows.ts";

/** The values after the thread's id, and the mark that the thread has after it. */
export function appendArgs(
  key: ThreadKey,
  append: Append,
  before: Mark,
): { readonly args: string[]; readonly mark: Mark } {
  const { expect, count, at, writer, rest, parent, snapshot, listed, named } = append;
  const { consume = [], raise = [], close = [], remember = [], amend = [] } = append;
  const decided = append.decided?.filter(({ id }) => close.includes(id)) ?? [];
  const thread = toText(key.threadId);
  const line = { seq: expect + 1, count, at, text: toText(append.body) };
  const crc = lineCrc(key.tenant, before, line);
  const hash = lineHash(before.hash, line.text);
  const args = [
    toText(append.appendId),
    String(expect),
    String(count),
    String(at),
    packLine({ ...line, crc, hash }),
    before.journal,
    String(before.crc),
    before.hash,
    String(crc),
    hash,
    "take" in writer ? `+${toText(writer.take)}` : "",
    "take" in writer ? "" : String(writer.fence),
    String(writer.ttlMs),
    append.release ? "1" : "0",
    toText(append.agent),
    append.state,
    snapshot === undefined ? "" : `${expect}\n${pack(`${thread}\n${expect}`, toText(snapshot))}`,
    rest === undefined ? "" : String(rest.from),
    rest?.dueAt === undefined ? "" : String(rest.dueAt),
    parent === undefined ? "" : `+${toText(parent.threadId)}`,
    parent === undefined ? "" : String(parent.seq),
    append.since === undefined ? "" : String(append.since),
    listed === undefined ? "" : "1",
    listed?.pauseType ?? "",
    listed?.runId === undefined ? "" : `+${toText(listed.runId)}`,
    named === undefined ? "" : packNames(thread, named),
    String(consume.length),
    String(raise.length),
    String(close.length),
    String(remember.length),
    String(amend.length),
    String(decided.length),
    ...consume.map(toText),
    ...raise.flatMap((request) => [toText(request.id), packRequest(thread, request)]),
    ...close.map(toText),
    ...remember.flatMap((rule) => [toText(rule.id), packRule(rule)]),
    ...amend.flatMap((request) => [toText(request.id), packRequest(thread, request)]),
    ...decided.flatMap(({ id, body }) => [toText(id), packVerdict(thread, id, body)]),
  ];
  return { args, mark: { journal: before.journal, crc, hash } };
}
