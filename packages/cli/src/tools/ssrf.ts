// Getting a page without being led anywhere else. Invariants:
// 1. A name is resolved once; all of its addresses must be public; the connection goes to one of those, and to no other.
// 2. Each redirect is judged like the first address. One that leads to another host is reported, not followed: a person or a
//    rule allowed this host.
// 3. No more is read than the cap. All of it, names and bodies included, has until the time, or until the stop.

import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { problem } from "../problem.ts";
import { isPublic } from "./addresses.ts";
import { within } from "./within.ts";

export interface PageOptions {
  readonly signal: AbortSignal;
  /** host:port of places that may be fetched although they are not public. */
  readonly allow?: readonly string[];
  readonly resolve?: (host: string) => Promise<readonly LookupAddress[]>;
  readonly mostBytes?: number;
  readonly timeoutMs?: number;
}

export interface Page {
  readonly url: string;
  readonly status: number;
  readonly type: string;
  readonly body: Buffer;
  /** There was more than the cap. */
  readonly cut: boolean;
  /** The address of a redirect to another host. */
  readonly elsewhere?: string;
}

const MOST_REDIRECTS = 5;

export async function getPage(address: string, options: PageOptions): Promise<Page> {
  const tooLate = () => problem("FETCH_FAILED", { url: address, reason: "it took too long" });
  return within(options.timeoutMs ?? 20_000, options.signal, tooLate, (signal) => follow(address, options, signal));
}

async function follow(address: string, options: PageOptions, signal: AbortSignal): Promise<Page> {
  let url = readUrl(address);
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
    const pinned = await addressesOf(url, options);
    const response = await request(url, pinned, signal);
    const { statusCode: status = 0, headers } = response;
    if (status < 300 || status > 399 || headers.location === undefined) {
      const { body, cut } = await readBody(response, options.mostBytes ?? 2 * 1024 * 1024, url);
      return { url: url.href, status, type: headers["content-type"] ?? "", body, cut };
    }
    response.destroy();
    const next = readUrl(headers.location, url);
    await addressesOf(next, options);
    if (next.hostname !== url.hostname || portOf(next) !== portOf(url, next)) {
      return { url: url.href, status, type: "", body: Buffer.alloc(0), cut: false, elsewhere: next.href };
    }
    url = next;
  }
  throw problem("FETCH_FAILED", { url: address, reason: `it redirects more than ${MOST_REDIRECTS} times` });
}

function readUrl(address: string, base?: URL): URL {
  const url = parse(address, base);
  if (url === null) throw problem("FETCH_FORBIDDEN", { url: address, reason: "that is no address" });
  const forbid = (reason: string) => problem("FETCH_FORBIDDEN", { url: url.href, reason });
  if (url.protocol !== "http:" && url.protocol !== "https:") throw forbid(`its protocol is ${url.protocol}`);
  if (url.username !== "" || url.password !== "") throw forbid("it has a name or a password in it");
  return url;
}

function parse(address: string, base?: URL): URL | null {
  try {
    return new URL(address, base);
  } catch {
    return null;
  }
}

/** From http to https of the same host is the same place. */
function portOf(url: URL, upgraded?: URL): string {
  const upgrade = upgraded?.protocol === "https:" && url.protocol === "http:" && url.port === "";
  return url.port || (url.protocol === "https:" || upgrade ? "443" : "80");
}

/** All of the host's addresses, each of them allowed. */
async function addressesOf(
  url: URL,
  { allow = [], resolve = resolveAll }: PageOptions,
): Promise<readonly LookupAddress[]> {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const family = isIP(host);
  const found = family === 0 ? await resolve(host).catch((error) => failed(url, error)) : [{ address: host, family }];
  if (found.length === 0) throw problem("FETCH_FAILED", { url: url.href, reason: "its name has no address" });
  if (allow.includes(`${host}:${portOf(url)}`)) return found;
  const wrong = found.find(({ address }) => !isPublic(address));
  if (wrong === undefined) return found;
  throw problem("FETCH_FORBIDDEN", { url: url.href, reason: `${host} is ${wrong.address}, which is not public` });
}

function resolveAll(host: string): Promise<LookupAddress[]> {
  return lookup(host, { all: true });
}

function failed(url: URL, error: unknown): never {
  const { code, message } = error as NodeJS.ErrnoException;
  throw problem("FETCH_FAILED", { url: url.href, reason: code ?? message }, error);
}

async function request(url: URL, pinned: readonly LookupAddress[], signal: AbortSignal): Promise<IncomingMessage> {
  const { request: open } = await (url.protocol === "https:" ? import("node:https") : import("node:http"));
  const headers = {
    "user-agent": "belay",
    accept: "text/html, text/plain, application/json, text/*;q=0.9, */*;q=0.1",
    "accept-encoding": "identity",
  };
  return new Promise((resolve, reject) => {
    const sent = open(url, {
      headers,
      signal,
      agent: false,
      // A second lookup while connecting gets the judged address.
      lookup: (_host, options, callback) => {
        const done = callback as (error: null, found: unknown, family?: number) => void;
        if (options.all) done(null, pinned);
        else done(null, pinned[0]!.address, pinned[0]!.family);
      },
    });
    sent.once("response", resolve);
    sent.once("error", (error) => reject(asFailure(url, error)));
    sent.end();
  });
}

async function readBody(response: IncomingMessage, most: number, url: URL): Promise<{ body: Buffer; cut: boolean }> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk.subarray(0, most - bytes));
      bytes += chunk.length;
      if (bytes > most) break;
    }
  } catch (error) {
    throw asFailure(url, error);
  } finally {
    response.destroy();
  }
  return { body: Buffer.concat(chunks), cut: bytes > most };
}

function asFailure(url: URL, error: unknown): Error {
  const { code, message } = error as NodeJS.ErrnoException;
  return problem("FETCH_FAILED", { url: url.href, reason: code ?? message }, error);
}
