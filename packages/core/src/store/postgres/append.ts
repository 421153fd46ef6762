// An append as the values of one call, and the answer of the call.

import type { Append, Appended, ThreadKey } from "../store.ts";
import { fromText, toText } from "../text.ts";
import { namedValue } from "./listing.ts";
import {
  bodyDigest,
  bytes,
  closedSum,
  decidedSum,
  lineHash,
  requestSum,
  ruleSum,
  snapshotSum,
  tenantName,
} from "./rows.ts";

/** Bodies longer than this are kept apart, by their hash, once for each tenant. */
const BLOB_BYTES = 64 * 1024;

/** `name` is that of the thread. In the order of the function's parameters. */
export function appendValues(key: ThreadKey, name: string, append: Append): unknown[] {
  const { writer, expect, count, at, rest, consume } = append;
  const [body, snapshot] = [toText(append.body), append.snapshot === undefined ? null : toText(append.snapshot)];
  const taking = "take" in writer;
  return [
    bytes(name),
    bytes(tenantName(key.tenant)),
    toText(key.tenant),
    toText(key.threadId),
    toText(append.appendId),
    expect,
    count,
    at,
    body,
    bytes(bodyDigest(body)),
    body.length > BLOB_BYTES,
    taking ? toText(writer.take) : null,
    taking ? null : writer.fence,
    writer.ttlMs,
    append.release,
    toText(append.agent),
    append.state,
    rest?.from ?? null,
    rest?.dueAt ?? null,
    snapshot,
    snapshot === null ? null : bytes(snapshotSum(name, expect, snapshot)),
    consume === undefined || consume.length === 0 ? null : consume.map(toText),
    more(key, append),
  ];
}

/** Returns the hash of the line that it writes, and its values, if it is only a line after the one with the hash `before`. */
export function goOnValues(
  key: ThreadKey,
  name: string,
  append: Append,
  before: string,
): { readonly hash: string; readonly values: unknown[] } | undefined {
  const { writer, expect, count, at, rest, consume, snapshot, raise, close, amend, remember, parent, named, listed } =
    append;
  if (snapshot !== undefined || (consume !== undefined && consume.length > 0)) return undefined;
  if ((raise ?? close ?? amend ?? remember ?? parent ?? named) !== undefined) return undefined;
  const body = toText(append.body);
  if (body.length > BLOB_BYTES) return undefined;
  const hash = lineHash(before, expect + 1, count, at, body);
  const values = [
    bytes(name),
    toText(key.tenant),
    toText(key.threadId),
    toText(append.appendId),
    expect,
    count,
    at,
    bytes(hash),
    toText(append.agent),
    append.state,
    rest?.from ?? null,
    rest?.dueAt ?? null,
    writer.ttlMs,
    append.release,
    "take" in writer ? toText(writer.take) : writer.fence,
    bytes(before),
    body,
    ...("take" in writer ? [append.since ?? null] : []),
    listed !== undefined,
    listed?.pauseType ?? null,
    listed?.runId === undefined ? null : toText(listed.runId),
  ];
  return { hash, values };
}

/** Returns the parts that most appends do not have, as JSON. */
function more(key: ThreadKey, append: Append): string | null {
  const { raise, close, amend, decided, remember, parent, listed, named, at } = append;
  if ((raise ?? close ?? amend ?? remember ?? parent ?? listed ?? named) === undefined) return null;
  const [tenant, thread] = [toText(key.tenant), toText(key.threadId)];
  const raised = raise?.map((given) => {
    const request = { ...given, id: toText(given.id), body: toText(given.body) };
    return [request.id, request.expiresAt ?? null, request.body, requestSum(tenant, thread, request)];
  });
  const amended = amend?.map((given) => {
    const request = { ...given, id: toText(given.id), body: toText(given.body) };
    return [request.id, request.body, requestSum(tenant, thread, request)];
  });
  const closed = close?.map((given) => {
    const id = toText(given);
    const body = decided?.find((each) => each.id === given)?.body;
    if (body === undefined) return [id, closedSum(tenant, thread, id)];
    return [id, decidedSum(tenant, thread, id, at, toText(body)), toText(body)];
  });
  const remembered = remember?.map((given) => {
    const rule = { id: toText(given.id), at: given.at, body: toText(given.body) };
    return [rule.id, rule.at, rule.body, ruleSum(tenant, rule)];
  });
  return JSON.stringify({
    ...(raised && { raise: raised }),
    ...(amended && { amend: amended }),
    ...(closed && { close: closed }),
    ...(listed && { listed: [listed.pauseType ?? null, listed.runId === undefined ? null : toText(listed.runId)] }),
    ...(named && { named: namedValue(named) }),
    ...(remembered && { remember: remembered }),
    ...(parent && { parent: [toText(parent.threadId), parent.seq] }),
  });
}

/** Has the hash of its last line on success. */
export function readAppended(outcome: string): { readonly appended: Appended; readonly hash?: string } {
  const { hash, ...appended } = JSON.parse(outcome);
  return appended.ok ? { appended, hash } : { appended: readRefusal(appended) };
}

// biome-ignore lint/suspicious/noExplicitAny: as append_2 writes it.
function readRefusal(appended: any): Appended {
  switch (appended.why as Exclude<Appended, { ok: true }>["why"]) {
    case "busy":
      return { ...appended, owner: fromText(appended.owner) };
    case "fenced":
      return { ok: false, why: "fenced", owner: appended.owner == null ? undefined : fromText(appended.owner) };
    case "gone":
      return { ...appended, keys: appended.keys.map(fromText) };
    default:
      return appended;
  }
}
