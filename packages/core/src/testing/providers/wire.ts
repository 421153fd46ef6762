// A request body as the validators see it: unchecked.

export type Wire = { readonly [key: string]: unknown };

export interface RequestRules {
  /** The model continues a final message of its own, so the request may end with one. */
  readonly prefill?: boolean;
}

export function isObject(value: unknown): value is Wire {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** The keys of `object` that are not among `known`, as a problem; the providers refuse fields they do not know. */
export function unknownFields(object: Wire, known: readonly string[]): string[] {
  return Object.keys(object)
    .filter((key) => object[key] !== undefined && !known.includes(key))
    .map((key) => `unknown field ${JSON.stringify(key)}`);
}

export function holdsJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * Half a surrogate pair, somewhere in `value`: text cut in the middle of an emoji. JSON.stringify escapes it, and
 * strict parsers on the other side refuse the whole body.
 */
export function hasHalfCharacter(value: unknown): boolean {
  if (typeof value === "string") return /\p{Surrogate}/u.test(value);
  const json = JSON.stringify(value) ?? "";
  return /(?<!\\)(?:\\\\)*\\ud[89a-f][0-9a-f]{2}/.test(json);
}

/** A value inside a problem: short, and on one line. */
export function show(value: unknown): string {
  const json = JSON.stringify(value) ?? String(value);
  return json.length > 60 ? `${json.slice(0, 57)}…` : json;
}
