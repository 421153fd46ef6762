// From a path to its route. Literal segments win over parameters, whatever their order in the table.

import { ServerError } from "../problem.ts";
import type { AnyRoute } from "./route.ts";

export interface Match {
  readonly route: AnyRoute;
  readonly params: Readonly<Record<string, string>>;
}

interface Compiled {
  readonly route: AnyRoute;
  readonly segments: readonly string[];
}

export class Router {
  readonly #routes: readonly Compiled[];

  constructor(routes: readonly AnyRoute[]) {
    const compiled = routes.map((route) => ({ route, segments: route.path.split("/").slice(1) }));
    const parameters = ({ segments }: Compiled) => segments.filter((each) => each.startsWith(":")).length;
    this.#routes = compiled.sort((a, b) => parameters(a) - parameters(b));
  }

  /** Returns the route of a method and a path. Throws ROUTE_UNKNOWN or METHOD_NOT_ALLOWED. */
  match(method: string, path: string): Match {
    const segments = path.split("/").slice(1);
    const found = this.#routes.filter((each) => fits(each.segments, segments));
    if (found.length === 0) throw new ServerError("ROUTE_UNKNOWN", `There is no route ${path}.`);
    const wanted = method === "HEAD" ? "GET" : method;
    const match = found.find(({ route }) => route.method === wanted);
    if (match === undefined) {
      const allowed = [...new Set(found.map(({ route }) => route.method))];
      const words = `${path} takes ${allowed.join(", ")}, not ${method}.`;
      throw new ServerError("METHOD_NOT_ALLOWED", words, { allowed });
    }
    return { route: match.route, params: paramsOf(match.segments, segments) };
  }
}

function fits(pattern: readonly string[], segments: readonly string[]): boolean {
  return (
    pattern.length === segments.length &&
    pattern.every((each, i) => (each.startsWith(":") ? segments[i] !== "" : each === segments[i]))
  );
}

const MOST_CHARACTERS = 200;
const CONTROL = /\p{Cc}/u;

function paramsOf(pattern: readonly string[], segments: readonly string[]): Record<string, string> {
  const params: Record<string, string> = {};
  for (const [i, name] of pattern.entries()) {
    if (!name.startsWith(":")) continue;
    const value = decoded(segments[i]!);
    if (value.length === 0 || value.length > MOST_CHARACTERS || CONTROL.test(value)) {
      const words = `A name in a path has 1 to ${MOST_CHARACTERS} characters, and no control characters.`;
      throw new ServerError("ROUTE_UNKNOWN", words);
    }
    params[name.slice(1)] = value;
  }
  return params;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new ServerError("ROUTE_UNKNOWN", `${segment} is not percent-encoded UTF-8.`);
  }
}
