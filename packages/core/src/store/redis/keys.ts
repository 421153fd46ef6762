// The names of everything in Redis, made here and nowhere else. Invariants:
// 1. All keys of a tenant begin with its key, and hold its name in a hash tag: they lie on one node of a cluster, and
//    one script may touch all of them. The parts after it are made by the scripts (scripts.ts).
// 2. A name is written so that its end is certain: no tenant and no thread has a key of another.
//
//   belay:tenants                  the tenants that have threads: a tenant is added before its first append
//   belay:{t:acme}                 counters: the last fence, the last number, the version of all this
//   belay:{t:acme}:threads         the row of each thread, by its id; :movable, those that can move, by time
//   belay:{t:acme}:requests        open requests; :asked, their ids in order; :raised, the thread of every request; :rules
//   belay:{t:acme}:j:‹id›:lines    the lines of a journal; :mail, :known, :snapshot, :raised, :forks of it
//   belay:{t:acme}:at              threads that rest, by the time of their last append; :running, those that run
//   belay:{t:acme}:state:‹state›   the same threads by state, :agent:‹name›, :pause:‹type›, :label:‹hash of key and value›
//   belay:{t:acme}:words           the words of titles and labels, each with its thread; :names, titles and labels
//   belay:{t:acme}:decided         decided requests, by time; :verdicts, how they were decided
//   belay:{t:acme}:w:‹thread›      the channel for changes of a thread; :w, that of all threads

import { belayError } from "../../error.ts";

/** Redis would bend half characters; the rows end a value at a line's end. Such text is kept as its JSON. */
export function toText(text: string): string {
  const plain = text.isWellFormed() && !text.includes("\n") && !text.includes("\0") && !text.startsWith('"');
  return plain ? text : JSON.stringify(text);
}

export function fromText(text: string): string {
  return text.startsWith('"') ? (JSON.parse(text) as string) : text;
}

/** Returns the key of a tenant. It is a hash with the tenant's counters. */
export function tenantKey(prefix: string, tenant: string): string {
  return `${prefix}:{t:${encodeURIComponent(toText(tenant))}}`;
}

export function tenantsKey(prefix: string): string {
  return `${prefix}:tenants`;
}

export function channelOf(tenantKey: string, threadId: string): string {
  return `${tenantKey}:w:${toText(threadId)}`;
}

export function tenantChannel(tenantKey: string): string {
  return `${tenantKey}:w`;
}

/** A hash tag of its own in the prefix would put all tenants, or parts of one, elsewhere. */
export function readPrefix(prefix: unknown): string {
  if (typeof prefix === "string" && /^[^{}\s\0]+$/.test(prefix) && prefix.isWellFormed()) return prefix;
  const value = typeof prefix === "string" ? JSON.stringify(prefix) : String(prefix);
  throw belayError("OPTION_INVALID", { option: "prefix", value, needed: "a word without spaces, { or }" });
}
