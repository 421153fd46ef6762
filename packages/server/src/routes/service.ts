// The server itself: logins, agents, rules for all threads, health.

import { describe } from "@belay/core";
import { type AnyRoute, type Call, route } from "../http/route.ts";
import { rolesOf } from "../login/login.ts";
import { ServerError } from "../problem.ts";
import { agentDescription, closed, flag, list, page, rule, text } from "./schemas.ts";

const STORE_ANSWERS_MS = 1000;

/** Describes an agent of the runner. The session is on no thread of the store, and nothing is written. */
async function described({ runner }: Call, name: string) {
  const session = await runner.open(undefined, { agent: name });
  const description = describe(session.agent);
  await session.close();
  return description;
}

export const service: readonly AnyRoute[] = [
  route({
    method: "GET",
    path: "/agents",
    name: "listAgents",
    summary: "Lists the agents: model, tools, flags, the shape of graphs.",
    role: "viewer",
    answers: { 200: page(agentDescription) },
    async handle(call) {
      const items = await Promise.all(call.runner.agents().map((name) => described(call, name)));
      return { status: 200, body: { items } };
    },
  }),
  route({
    method: "GET",
    path: "/agents/:name",
    name: "getAgent",
    summary: "Describes one agent.",
    role: "viewer",
    answers: { 200: agentDescription },
    async handle(call) {
      return { status: 200, body: await described(call, call.params.name!) };
    },
  }),
  route({
    method: "GET",
    path: "/rules",
    name: "listRules",
    summary: "Returns the rules that people's answers left for all threads.",
    role: "viewer",
    answers: { 200: page(rule) },
    async handle({ runner }) {
      return { status: 200, body: { items: await runner.rules() } };
    },
  }),
  removal("/rules/:id", "removeRule"),
  removal("/threads/:t/rules/:id", "removeThreadRule"),
  route({
    method: "GET",
    path: "/me",
    name: "me",
    summary: "Returns the login: user, roles, groups.",
    role: "any",
    answers: {
      200: closed({ user: text, tenant: text, groups: list(text), role: list(text) }, ["user", "role", "groups"]),
    },
    async handle({ login }) {
      const { user, tenant, groups = [] } = login;
      return { status: 200, body: { user, ...(tenant !== undefined && { tenant }), groups, role: rolesOf(login) } };
    },
  }),
  route<{ token: string }>({
    method: "POST",
    path: "/session",
    name: "openSession",
    summary: "Exchanges the token for a cookie.",
    role: "none",
    body: closed({ token: text }, ["token"]),
    answers: { 204: null },
    async handle({ site, request, body }) {
      if (site.session === undefined) throw new ServerError("ROUTE_UNKNOWN", "This server has a login of its own.");
      const cookie = await site.session.open(request, body.token);
      if (cookie === undefined) throw new ServerError("UNAUTHENTICATED", "That token is not the one of this server.");
      return { status: 204, headers: { "set-cookie": cookie } };
    },
  }),
  route({
    method: "DELETE",
    path: "/session",
    name: "closeSession",
    summary: "Removes the cookie.",
    role: "none",
    answers: { 204: null },
    async handle({ site, request }) {
      const cookie = site.logOut(request);
      return { status: 204, ...(cookie !== undefined && { headers: { "set-cookie": cookie } }) };
    },
  }),
  route({
    method: "GET",
    path: "/openapi.json",
    name: "openapi",
    summary: "Returns this document.",
    role: "none",
    answers: { 200: { type: "object" } },
    async handle({ site }) {
      return { status: 200, body: site.openapi() };
    },
  }),
  route({
    method: "GET",
    path: "/healthz",
    name: "health",
    summary: "Says that the process runs.",
    role: "none",
    answers: { 200: closed({ ok: flag }, ["ok"]) },
    async handle() {
      return { status: 200, body: { ok: true } };
    },
  }),
  route({
    method: "GET",
    path: "/readyz",
    name: "ready",
    summary: "Says whether the store answers within a second and the server is not draining.",
    role: "none",
    answers: { 200: closed({ ok: flag }, ["ok"]), 503: closed({ ok: flag }, ["ok"]) },
    async handle({ site }) {
      const ok = !site.isDraining() && (await site.storeAnswers(STORE_ANSWERS_MS));
      return { status: ok ? 200 : 503, body: { ok } };
    },
  }),
];

function removal(path: string, name: string): AnyRoute {
  return route({
    method: "DELETE",
    path,
    name,
    summary: "Removes a remembered rule.",
    role: "admin",
    answers: { 204: null },
    async handle({ runner, params, login }) {
      const of = params.t === undefined ? {} : { threadId: params.t, by: login.user };
      if (await runner.removeRule(params.id!, of)) return { status: 204 };
      throw new ServerError("RULE_UNKNOWN", `There is no remembered rule ${params.id}.`);
    },
  });
}
