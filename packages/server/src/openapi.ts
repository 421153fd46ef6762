// The OpenAPI 3.1 document, derived from the table of routes.

import { withoutRequired } from "./http/check-request.ts";
import type { AnyRoute, Schema } from "./http/route.ts";
import { problem } from "./routes/schemas.ts";

export function openapiOf(routes: readonly AnyRoute[], publicUrl: string): object {
  const components: Record<string, Schema> = {};
  const refer = (schema: Schema) => referred(schema, components);
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = `/v1${route.path.replace(/:(\w+)/g, "{$1}")}`;
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = operation(route, refer);
  }
  return {
    openapi: "3.1.0",
    info: { title: "Belay", version: "1", description: "Agents as a service: run, watch, stop, answer, resume, fork." },
    servers: [{ url: publicUrl }],
    security: [{ token: [] }],
    paths,
    components: { schemas: components, securitySchemes: { token: { type: "http", scheme: "bearer" } } },
  };
}

function operation(route: AnyRoute, refer: (schema: Schema) => unknown): object {
  const { name, summary, role, query = {}, body, bodyOptional, answers, streams, path, method } = route;
  const named = [...path.matchAll(/:(\w+)/g)].map(([, each]) => ({
    name: each,
    in: "path",
    required: true,
    schema: { type: "string", minLength: 1, maxLength: 200 },
  }));
  const asked = Object.entries(query).map(([each, schema]) => ({
    name: each,
    in: "query",
    required: schema.required === true,
    schema: refer(withoutRequired(schema)),
  }));
  const keyed =
    method === "POST"
      ? [{ name: "Idempotency-Key", in: "header", required: false, schema: { type: "string", maxLength: 255 } }]
      : [];
  const said = Object.entries(answers).map(([status, schema]) => [status, answerOf(schema, refer, streams)]);
  return {
    operationId: name,
    summary,
    ...(role === "none" ? { security: [] } : { description: `Needs the role ${role}.` }),
    parameters: [...named, ...asked, ...keyed],
    ...(body !== undefined && {
      requestBody: { required: !bodyOptional, content: { "application/json": { schema: refer(body) } } },
    }),
    responses: {
      ...Object.fromEntries(said),
      default: { description: "A problem.", content: { "application/problem+json": { schema: refer(problem) } } },
    },
  };
}

function answerOf(schema: Schema | null, refer: (schema: Schema) => unknown, streams: string | undefined): object {
  if (schema !== null) return { description: "Done.", content: { "application/json": { schema: refer(schema) } } };
  if (streams !== undefined)
    return { description: "A stream.", content: { [streams]: { schema: { type: "string" } } } };
  return { description: "Done." };
}

/** Moves every schema with a title to the components, and refers to it there. */
function referred(value: unknown, components: Record<string, Schema>): unknown {
  if (Array.isArray(value)) return value.map((each) => referred(each, components));
  if (typeof value !== "object" || value === null) return value;
  const inner = Object.fromEntries(Object.entries(value).map(([key, each]) => [key, referred(each, components)]));
  const { title } = value as { readonly title?: unknown };
  if (typeof title !== "string") return inner;
  components[title] ??= inner as Schema;
  return { $ref: `#/components/schemas/${title}` };
}
