// A small JSON Schema validator. Invariants:
// 1. A schema that cannot be checked (malformed, a bad pattern, a reference that leads nowhere or only back to itself)
//    is refused when it is compiled, so checking a value cannot fail because of the schema.
// 2. The work is bounded by schema × value: a reference is checked once per place, through any number of forms.
//    (Not covered: the cost of a `pattern`; JavaScript's regular expressions may backtrack.)
// Known: type enum const, the bounds of strings, numbers, arrays and objects, anyOf oneOf allOf not, if then else, $ref
// inside the document, nullable. Other keywords, `format` among them, do not count for validity here.

import type { Json } from "../json.ts";
import {
  describe,
  got,
  type Issue,
  type Issues,
  issue,
  join,
  NONE,
  otherKind,
  type Place,
} from "./json-schema-issue.ts";
import {
  arrayCheck,
  type Check,
  canonical,
  isList,
  isObject,
  numberCheck,
  objectCheck,
  type Run,
  read,
  refuse,
  type SchemaObject,
  stringCheck,
} from "./json-schema-keywords.ts";

export type { Issue } from "./json-schema-issue.ts";

/** Deeper values are refused, before the stack would be at its end. */
const MAX_DEPTH = 500;

/** Compiles a schema; the check returns the faults of a value. Throws `OPTION_INVALID` for a malformed schema. */
export function compileJsonSchema(schema: Json): (value: unknown) => readonly Issue[] {
  const check = new Compilation(schema).root();
  return (value) => check(value, { key: "", above: undefined, depth: 0 }, {});
}

interface Target {
  check: Check;
}

class Compilation {
  readonly #document: Json;
  readonly #targets = new Map<string, Target>();
  #references = 0;
  /** Which references lead to which others at the same place of the value. */
  readonly #sameplace = new Map<string, Set<string>>();

  constructor(document: Json) {
    this.#document = document;
  }

  root(): Check {
    const check = this.#reference("#", "#", undefined);
    for (const start of this.#sameplace.keys()) this.#refuseLoop(start);
    // Nothing else leads to anything: no place is met twice.
    return this.#references === 1 ? this.#targets.get("#")!.check : check;
  }

  /** `owner`: the reference to this schema at the same place of the value, if there is one. */
  #compile(schema: Json, pointer: string, owner: string | undefined): Check {
    if (schema === true) return () => NONE;
    if (schema === false) return (value, at) => otherKind(at, "nothing here", value);
    if (!isObject(schema)) return refuse(pointer, schema, "a JSON Schema: an object, true or false");
    const below = (child: Json, at: string) => this.#compile(child, at, undefined);
    const checks = [
      valueCheck(schema, pointer),
      stringCheck(schema, pointer),
      numberCheck(schema, pointer),
      arrayCheck(schema, pointer, below),
      objectCheck(schema, pointer, below),
      ...this.#combinations(schema, pointer, owner),
    ].filter((check) => check !== undefined);
    const kind = typeCheck(schema, pointer);
    return (value, at, run) => {
      if (at.depth > MAX_DEPTH) return issue(at, `is nested more than ${MAX_DEPTH} levels deep`);
      let found = kind?.(value, at, run) ?? NONE;
      if (found !== NONE) return found;
      for (const check of checks) found = join(found, check(value, at, run));
      return found;
    };
  }

  #combinations(schema: SchemaObject, pointer: string, owner: string | undefined): Check[] {
    const checks: Check[] = [];
    const one = (key: string) =>
      Object.hasOwn(schema, key) ? this.#compile(schema[key]!, `${pointer}/${key}`, owner) : undefined;
    const many = (key: string) =>
      read(
        schema,
        key,
        pointer,
        (v): v is readonly Json[] => isList(v) && v.length > 0,
        "a list of schemas, not empty",
      )?.map((s, i) => this.#compile(s, `${pointer}/${key}/${i}`, owner));
    const ref = read(schema, "$ref", pointer, (v) => typeof v === "string", "text");
    if (ref !== undefined) checks.push(this.#reference(ref, `${pointer}/$ref`, owner));
    checks.push(...(many("allOf") ?? []));
    const any = many("anyOf");
    if (any !== undefined) checks.push(anyOf(any, schema));
    const exclusive = many("oneOf");
    if (exclusive !== undefined) checks.push(oneOf(exclusive, schema));
    const not = one("not");
    if (not !== undefined) {
      checks.push((value, at, run) =>
        not(value, at, run) === NONE ? issue(at, `must not be ${describe(schema.not)}, got ${got(value)}`) : NONE,
      );
    }
    const [condition, then, otherwise] = [one("if"), one("then"), one("else")];
    if (condition !== undefined) {
      checks.push((value, at, run) => {
        const next = condition(value, at, run) === NONE ? then : otherwise;
        return next?.(value, at, run) ?? NONE;
      });
    }
    return checks;
  }

  #reference(ref: string, pointer: string, owner: string | undefined): Check {
    this.#references += 1;
    if (owner !== undefined) {
      const led = this.#sameplace.get(owner) ?? new Set();
      this.#sameplace.set(owner, led.add(ref));
    }
    let target = this.#targets.get(ref);
    if (target === undefined) {
      target = { check: () => NONE };
      this.#targets.set(ref, target);
      target.check = this.#compile(this.#find(ref, pointer), ref, ref);
    }
    return once(target);
  }

  #find(ref: string, pointer: string): Json {
    const nowhere = () => refuse(pointer, ref, "a reference into the same schema, such as #/$defs/name");
    if (ref !== "#" && !ref.startsWith("#/")) return nowhere();
    let found: Json = this.#document;
    for (const part of ref.split("/").slice(1)) {
      const key = decode(part);
      if (found === null || typeof found !== "object" || !Object.hasOwn(found, key)) return nowhere();
      found = (found as SchemaObject)[key]!;
    }
    return found;
  }

  #refuseLoop(start: string): void {
    const seen = new Set<string>();
    const open = [...this.#sameplace.get(start)!];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (next === start)
        refuse(start, start, "a schema that does not lead back to itself without a step into the value");
      if (seen.has(next)) continue;
      seen.add(next);
      open.push(...(this.#sameplace.get(next) ?? []));
    }
  }
}

function decode(part: string): string {
  let text = part;
  try {
    text = decodeURIComponent(part);
  } catch {}
  return text.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** Invariant 2. Without it, forms that each lead to the same definition double the work at every level. */
function once(target: Target): Check {
  return (value, at, run) => {
    const seen = seenAt(value, at, run);
    const known = seen.get(target);
    if (known !== undefined) return known;
    const found = target.check(value, at, run);
    seen.set(target, found);
    return found;
  };
}

function seenAt(value: unknown, at: Place, run: Run): Map<object, Issues> {
  if (typeof value !== "object" || value === null) {
    at.seen ??= new Map();
    return at.seen;
  }
  run.seen ??= new Map();
  const known = run.seen.get(value);
  if (known !== undefined) return known;
  const seen = new Map<object, Issues>();
  run.seen.set(value, seen);
  return seen;
}

const types = ["string", "number", "integer", "boolean", "object", "array", "null"];

function typeCheck(schema: SchemaObject, pointer: string): Check | undefined {
  if (!Object.hasOwn(schema, "type")) return undefined;
  const given = isList(schema.type) ? schema.type : [schema.type!];
  for (const type of given) {
    if (!types.includes(type as string)) refuse(`${pointer}/type`, type, `one of ${types.join(", ")}`);
  }
  const wanted = new Set(schema.nullable === true ? [...given, "null"] : given);
  const integers = wanted.has("integer") && !wanted.has("number");
  if (wanted.has("integer")) wanted.add("number");
  const expected = describe({ type: schema.type!, nullable: schema.nullable === true });
  return (value, at) => {
    const type = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
    const fits = wanted.has(type) && (type !== "number" || Number[integers ? "isInteger" : "isFinite"](value));
    return fits ? NONE : otherKind(at, expected, value);
  };
}

function valueCheck(schema: SchemaObject, pointer: string): Check | undefined {
  const choice = read(schema, "enum", pointer, isList, "a list of values");
  const constant = Object.hasOwn(schema, "const");
  if (choice === undefined && !constant) return undefined;
  const lists = [choice, constant ? [schema.const!] : undefined].filter((list) => list !== undefined);
  const allowed = lists.map((list) => ({ texts: new Set(list.map(canonical)), expected: describe({ enum: list }) }));
  return (value, at) => {
    if (value === null && schema.nullable === true) return NONE;
    const text = canonical(value);
    for (const { texts, expected } of allowed) if (!texts.has(text)) return otherKind(at, expected, value);
    return NONE;
  };
}

function anyOf(forms: readonly Check[], schema: SchemaObject): Check {
  return (value, at, run) => {
    const tries: Issues[] = [];
    for (const form of forms) {
      const found = form(value, at, run);
      if (found === NONE) return NONE;
      tries.push(found);
    }
    return nearest(tries, at, value, { anyOf: schema.anyOf! });
  };
}

function oneOf(forms: readonly Check[], schema: SchemaObject): Check {
  return (value, at, run) => {
    const tries = forms.map((form) => form(value, at, run));
    const fitting = tries.flatMap((found, i) => (found === NONE ? [i] : []));
    if (fitting.length === 1) return NONE;
    if (fitting.length === 0) return nearest(tries, at, value, { oneOf: schema.oneOf! });
    return issue(at, `fits forms ${fitting.map((i) => i + 1).join(" and ")} of oneOf, must fit exactly one`);
  };
}

/** The words for the form that was probably meant: the one the value is of the same kind as, with least wrong inside. */
function nearest(tries: readonly Issues[], at: Place, value: unknown, schema: Json): Issues {
  let best: Issues = NONE;
  let least = 1000;
  for (const found of tries) {
    let weight = 0;
    for (const { otherKind, path } of found) weight += !otherKind ? 1 : path.length > at.depth ? 30 : 1000;
    if (weight >= least) continue;
    best = found;
    least = weight;
  }
  return best === NONE ? otherKind(at, describe(schema), value) : best;
}
