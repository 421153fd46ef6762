// Requests drawn from the table of routes, valid and not: the server never fails, and each answer is one that the table names.

import { agent, createRunner, humanApproval, jsonSchema, tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import fc from "fast-check";
import { expect, inject, test } from "vitest";
import { checker } from "./http/check-request.ts";
import type { AnyRoute, Schema } from "./http/route.ts";
import { serverErrors, statuses } from "./problem.ts";
import { problem } from "./routes/schemas.ts";
import { routes } from "./server.ts";
import { startServer, type TestServer } from "./testing.ts";

const { fuzzedRequests, seed } = inject("effort");

/** Draws values that fit a schema, and now and then anything. */
function drawn(schema: Schema): fc.Arbitrary<unknown> {
  return fc.oneof({ arbitrary: fitting(schema), weight: 12 }, { arbitrary: fc.jsonValue({ maxDepth: 2 }), weight: 1 });
}

function fitting(schema: Schema): fc.Arbitrary<unknown> {
  const { type, properties, required, items, anyOf, minimum, maximum, minItems, maxItems } = schema as {
    type?: string | string[];
    properties?: Record<string, Schema>;
    required?: string[];
    items?: Schema;
    anyOf?: Schema[];
    minimum?: number;
    maximum?: number;
    minItems?: number;
    maxItems?: number;
  };
  if ("const" in schema) return fc.constant(schema.const);
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum);
  if (anyOf !== undefined) return fc.oneof(...anyOf.map(drawn));
  if (Array.isArray(type)) return fc.oneof(...type.map((each) => fitting({ ...schema, type: each })));
  switch (type) {
    case "object": {
      const values = Object.fromEntries(Object.entries(properties ?? {}).map(([name, each]) => [name, drawn(each)]));
      const requiredKeys = Array.isArray(required) ? required : [];
      return fc.record(values, { requiredKeys });
    }
    case "array":
      return fc.array(drawn(items ?? {}), { minLength: minItems ?? 0, maxLength: Math.min(maxItems ?? 3, 3) });
    case "integer":
      return fc.oneof(fc.integer({ min: minimum ?? 0, max: maximum ?? 40 }), fc.integer());
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    case "string":
      return fc.oneof(
        fc.constantFrom("t", "u", "guide", "pay", "hello", ""),
        fc.string({ unit: "binary", maxLength: 12 }),
      );
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

interface Drawn {
  readonly route: AnyRoute;
  readonly names: readonly string[];
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
  readonly key: string | undefined;
}

const request: fc.Arbitrary<Drawn> = fc.constantFrom(...routes).chain((route) =>
  fc.record({
    route: fc.constant(route),
    names: fc.array(fc.oneof(fc.constantFrom("t", "u", "$request"), fc.string({ minLength: 1, maxLength: 9 })), {
      minLength: 3,
      maxLength: 3,
    }),
    query: fc.record(
      Object.fromEntries(Object.entries(route.query ?? {}).map(([name, schema]) => [name, drawn(schema)])),
      { requiredKeys: [] },
    ),
    body: route.body === undefined ? fc.constant(undefined) : drawn(route.body),
    key: fc.option(fc.constantFrom("a", "b", "c"), { nil: undefined }),
  }),
);

const known = new Set([...Object.keys(statuses), ...Object.keys(serverErrors)]);

async function send(server: TestServer, { route, names, query, body, key }: Drawn) {
  const open = (await server.get("/inbox?limit=1")).body.items as { id: string }[];
  let next = 0;
  const path = route.path.replace(/:\w+/g, () => {
    const name = names[next++]!;
    return encodeURIComponent((name === "$request" ? (open[0]?.id ?? "none") : name).toWellFormed());
  });
  const text = Object.entries(query).map(([name, value]): [string, string] => [
    name,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  const headers: Record<string, string> = { ...server.headers, prefer: "wait=1" };
  if (body !== undefined) headers["content-type"] = "application/json";
  if (key !== undefined) headers["idempotency-key"] = key;
  const response = await fetch(`${server.url}/v1${path}?${new URLSearchParams(text)}`, {
    method: route.method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
    await response.body!.cancel();
    return { status: response.status, type: "stream", body: undefined };
  }
  const words = await response.text();
  const type = response.headers.get("content-type") ?? "";
  return {
    status: response.status,
    type,
    body: words === "" || !type.includes("json") ? undefined : JSON.parse(words),
  };
}

test("no request makes the server fail, and every answer fits its schema", async () => {
  const pay = tool({
    name: "pay",
    description: "Pays.",
    input: jsonSchema<{ euros: number }>({ type: "object", properties: { euros: { type: "number" } } }),
    needsApproval: () => humanApproval("Pay?"),
    execute: () => "paid",
  });
  let turn = 0;
  const model = scriptedModel(() => (turn++ % 2 === 0 ? [{ call: "pay", args: { euros: 1 } }] : "Done."));
  const runner = createRunner({ agent: agent({ name: "guide", model, tools: [pay] }) });
  const failures: unknown[] = [];
  await using server = await startServer({ runner, rate: false, log: ({ error }) => void failures.push(error) });
  await server.post("/threads/t/runs", { input: "Go." }, { prefer: "wait=10" });
  await server.post("/threads/u/runs", { input: "Go." }, { prefer: "wait=10" });
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(request, async (each) => {
      const { status, type, body } = await send(server, each);
      const { route, ...rest } = each;
      const where = `${route.method} ${route.path} ${JSON.stringify(rest)} → ${status} ${JSON.stringify(body)}`;
      expect(failures, where).toEqual([]);
      expect(status, where).toBeLessThan(500);
      seen.add(`${each.route.name} ${status}`);
      if (status >= 400) {
        expect(checker(problem)(body), where).toBeUndefined();
        expect(known.has(body.code), where).toBe(true);
        expect(body.status).toBe(status);
        return;
      }
      expect(Object.keys(each.route.answers).map(Number), where).toContain(status);
      const schema = each.route.answers[status];
      if (type !== "stream" && schema) expect(checker(schema)(body), where).toBeUndefined();
    }),
    { numRuns: fuzzedRequests, seed, endOnFailure: true },
  );
  // Not only refusals: most routes were met with a request that they take.
  expect([...seen].filter((each) => / 20\d$/.test(each)).length).toBeGreaterThan(12);
});
