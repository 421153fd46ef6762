// Two tenants on one store, and requests drawn from the table of routes: neither meets the other, in answers or in streams.

import { agent, createRunner, humanApproval, jsonSchema, memoryStore, tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import fc from "fast-check";
import { expect, inject, test } from "vitest";
import type { Login } from "./index.ts";
import { readStream, routes, type StreamEvent, startServer } from "./testing.ts";

const { fuzzedRequests, seed } = inject("effort");

const pay = tool({
  name: "pay",
  description: "Pays.",
  input: jsonSchema<{ euros: number; note: string }>({ type: "object", properties: { euros: { type: "number" } } }),
  needsApproval: () => humanApproval("Pay?"),
  execute: ({ note }) => `paid ${note}`,
});

const tenants = ["alpha", "omega"] as const;
type Tenant = (typeof tenants)[number];
/** A word that stands in everything that the tenant has: inputs, answers, arguments, titles, labels, files. */
const mark = (tenant: Tenant) => `secret-of-${tenant}`;
const as = (tenant: Tenant) => ({ "x-tenant": tenant });

test("no request of one tenant shows or changes anything of the other, and no stream carries it", async () => {
  const store = memoryStore();
  const runner = (tenant: string) => {
    let turn = 0;
    const note = mark(tenant as Tenant);
    const model = scriptedModel(() =>
      turn++ % 2 === 0 ? [{ text: note }, { call: "pay", args: { euros: 1, note } }] : note,
    );
    return createRunner({ agent: agent({ name: "guide", model, tools: [pay] }), store, tenant });
  };
  const auth = (request: Request): Login | undefined => {
    const tenant = request.headers.get("x-tenant");
    return tenant === null ? undefined : { tenant, user: "anna", role: "admin" };
  };
  await using server = await startServer({ runner, auth, rate: false, work: false });
  const begin = (tenant: Tenant, threadId: string) =>
    server.post(
      `/threads/${threadId}/runs`,
      { input: [{ parts: [{ type: "text", text: mark(tenant) }] }] },
      { ...as(tenant), prefer: "wait=30" },
    );
  // The same name on both sides, and a name of their own.
  for (const tenant of tenants) {
    await begin(tenant, "same");
    await begin(tenant, `own-${tenant}`);
  }
  const requestOf = async (tenant: Tenant): Promise<string> =>
    (await server.get("/inbox?limit=1", as(tenant))).body.items[0]?.id ?? "none";
  const messageOf = async (tenant: Tenant): Promise<string> =>
    (await server.get(`/threads/own-${tenant}/messages`, as(tenant))).body.items?.[0]?.id ?? "none";
  /** Everything that a tenant has on record. */
  const record = async (tenant: Tenant): Promise<string> => {
    const { items } = (await server.get("/threads?limit=200", as(tenant))).body;
    const pages = items.map(({ threadId }: { threadId: string }) =>
      server.get(`/threads/${encodeURIComponent(threadId)}/facts?limit=1000`, as(tenant)),
    );
    return JSON.stringify([items, (await Promise.all(pages)).map(({ body }) => body)]);
  };

  // Streams of both sides stay open all the while.
  const following = tenants.map((tenant) =>
    Promise.all(
      ["/changes", "/threads/same/events?changes=1", `/threads/own-${tenant}/events`].map((path) =>
        readStream(server, path, () => false, as(tenant)),
      ),
    ),
  );

  const drawn = fc.record({
    route: fc.constantFrom(...routes.filter(({ role }) => role !== "none")),
    attacker: fc.constantFrom(...tenants),
    thread: fc.constantFrom("own", "same"),
    key: fc.option(fc.constantFrom("a", "b"), { nil: undefined }),
  });
  await fc.assert(
    fc.asyncProperty(drawn, async ({ route, attacker, thread, key }) => {
      const victim = attacker === "alpha" ? "omega" : "alpha";
      // An answer that the other side gave may still move its own thread.
      await expect.poll(async () => (await server.get("/threads?state=running", as(victim))).body.items).toEqual([]);
      const before = await record(victim);
      const own = mark(attacker);
      const names: Record<string, string> = {
        // The thread of the other side by its name, or the name that both have.
        t: thread === "own" ? `own-${victim}` : "same",
        id: await requestOf(victim),
        message: await messageOf(victim),
        part: "0",
        name: "guide",
      };
      const path = route.path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(names[name]!));
      const bodies: Record<string, object> = {
        createThread: { threadId: `own-${victim}`, input: own },
        answer: { type: "approve" },
        answerMany: { answers: [{ id: names.id, type: "approve" }] },
        askPermission: { tool: "pay", args: { euros: 1 } },
        fork: { at: 1 },
        labelThread: { title: own },
        setBreakpoint: { node: "a" },
      };
      const takesInput = ["run", "send", "steer", "enqueue", "observe"].includes(route.name);
      const body = bodies[route.name] ?? (takesInput ? { input: own } : {});
      const query = route.name === "listEffects" ? "?after=0" : "";
      if (route.streams === "text/event-stream") {
        const begun = (all: readonly StreamEvent[]) => all.some(({ event }) => event === "live" || event === "sync");
        const text = JSON.stringify(await readStream(server, path, begun, as(attacker)).catch(String));
        expect(text, path).not.toContain(mark(victim));
      } else {
        const answered = await server.send(route.method, `${path}${query}`, {
          headers: {
            ...as(attacker),
            prefer: "wait=1",
            ...(route.method !== "GET" && { "content-type": "application/json" }),
            ...(key !== undefined && { "idempotency-key": key }),
          },
          ...(route.method !== "GET" && { body: JSON.stringify(body) }),
        });
        const where = `${attacker}: ${route.method} ${path} → ${answered.status}`;
        expect(answered.status, where).toBeLessThan(500);
        expect(JSON.stringify(answered.body), where).not.toContain(mark(victim));
      }
      expect(await record(victim), `${attacker}: ${route.method} ${path}`).toBe(before);
    }),
    { numRuns: Math.ceil(fuzzedRequests / 4), seed, endOnFailure: true },
  );
  await server.server.close({ timeoutMs: 1000 });
  const [alpha, omega] = (await Promise.all(following)).map((heard) => JSON.stringify(heard));
  expect(alpha).toContain(mark("alpha"));
  expect(alpha).not.toContain(mark("omega"));
  expect(omega).toContain(mark("omega"));
  expect(omega).not.toContain(mark("alpha"));
});
