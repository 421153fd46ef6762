// Request bodies: bounded, valid UTF-8, JSON of bounded depth without doubled keys and without `__proto__`. The check reads the
// text, because JSON.parse keeps the last of two equal keys and hides the first: a person could be shown one value, and the
// other could run.

import { BelayError } from "@belay/core";
import { ServerError } from "../problem.ts";

const MOST_DEPTH = 64;

export interface BodyLimits {
  readonly maxBodyBytes: number;
  /** The limit for bodies that carry files. */
  readonly maxFileBytes: number;
}

/** Returns the parsed body; undefined if it is empty. */
export async function readBody(request: Request, limits: BodyLimits): Promise<unknown> {
  const bytes = await readBytes(request, Math.max(limits.maxBodyBytes, limits.maxFileBytes));
  if (bytes.length === 0) return undefined;
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type)) {
    throw invalid(`its content-type is ${JSON.stringify(type)}, not application/json`);
  }
  const text = decode(bytes);
  checkJson(text);
  const body: unknown = JSON.parse(text);
  if (bytes.length > limits.maxBodyBytes && !hasFile(body)) throw tooLarge(bytes.length, limits.maxBodyBytes);
  return body;
}

async function readBytes(request: Request, most: number): Promise<Uint8Array> {
  const declared = Number(request.headers.get("content-length") ?? 0);
  if (declared > most) throw tooLarge(declared, most);
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > most) throw tooLarge(length, most);
    chunks.push(chunk);
  }
  const all = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw invalid("it is not valid UTF-8");
  }
}

/**
 * Refuses text that is not JSON, is nested too deeply, or has a key twice or named `__proto__`. Reads each character once: this
 * runs before the login is known for `POST /session`, and strings of files are megabytes long.
 */
export function checkJson(text: string): void {
  // One entry for each open bracket: the keys of an object, or undefined for a list.
  const open: (Set<string> | undefined)[] = [];
  // The string before a colon is a key.
  let quoted = "";
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (char === '"') {
      const end = endOfString(text, i);
      quoted = text.slice(i, end);
      i = end - 1;
    } else if (char === "{") open.push(new Set());
    else if (char === "[") open.push(undefined);
    else if (char === "}" || char === "]") open.pop();
    else if (char === ":") {
      addKey(open.at(-1), quoted);
      quoted = "";
    }
    if (open.length > MOST_DEPTH) throw invalid(`it is nested more than ${MOST_DEPTH} levels deep`);
  }
  try {
    JSON.parse(text);
  } catch (error) {
    throw invalid(`it is not JSON: ${(error as Error).message}`);
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Returns the place after the string that begins at `from`; the end of the text if it is not closed. */
function endOfString(text: string, from: number): number {
  for (let i = from + 1; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) return i + 1;
    if (code === BACKSLASH) i++;
  }
  return text.length;
}

function addKey(keys: Set<string> | undefined, quoted: string): void {
  if (keys === undefined || quoted === "") return;
  let key: string;
  try {
    key = JSON.parse(quoted);
  } catch {
    return;
  }
  if (key === "__proto__") throw invalid('it has the key "__proto__"');
  if (keys.has(key)) throw invalid(`it has the key ${JSON.stringify(key)} twice in one object`);
  keys.add(key);
}

function hasFile(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (!Array.isArray(value) && (value as { readonly type?: unknown }).type === "file") return true;
  return Object.values(value).some(hasFile);
}

function invalid(problem: string): ServerError {
  return new ServerError("BODY_INVALID", `The body cannot be used: ${problem}.`);
}

function tooLarge(bytes: number, most: number): BelayError {
  const words = `The body takes ${bytes} bytes; at most ${most} are taken.`;
  return new BelayError("TOO_LARGE", words, "Send less, or raise `maxBodyBytes` of the server.", { bytes, most });
}
