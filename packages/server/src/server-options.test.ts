import { agent, createRunner } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { expect, test } from "vitest";
import { belayServer, type Login } from "./index.ts";
import { startServer } from "./testing.ts";

const runner = () => createRunner({ agent: agent({ name: "guide", model: scriptedModel([]) }) });
const auth = (): Login => ({ user: "anna", role: "admin" });

test.each([
  ["selfAproval", { selfAproval: false }, "OPTION_UNKNOWN"],
  ["no runner", { runner: undefined }, "OPTION_INVALID"],
  ["an agent for a runner", { runner: agent({ name: "a", model: scriptedModel([]) }) }, "OPTION_INVALID"],
  ["an empty token", { token: "" }, "OPTION_INVALID"],
  ["a short token", { token: "secret" }, "OPTION_INVALID"],
  ["a token that auth would not look at", { token: "a-token-of-some-length", auth }, "OPTION_INVALID"],
  ["an address that is none", { publicUrl: "agents.example" }, "OPTION_INVALID"],
  ["an origin with a path", { allowedOrigins: ["https://app.example/"] }, "OPTION_INVALID"],
  ["every origin", { allowedOrigins: ["*"] }, "OPTION_INVALID"],
  ["a host with a scheme", { allowedHosts: ["https://agents.example"] }, "OPTION_INVALID"],
  ["no streams", { maxStreams: 0 }, "OPTION_INVALID"],
  ["a body of no size", { maxBodyBytes: Number.NaN }, "OPTION_INVALID"],
  ["a rate of nothing", { rate: { perSecond: 0, burst: 1 } }, "OPTION_INVALID"],
])("a server is refused with %s", (_, options, code) => {
  const made = () => belayServer({ runner: runner(), ...options } as never);
  expect(made).toThrow(expect.objectContaining({ code, hint: expect.any(String) }));
});

test("an undefined option counts as absent", () => {
  expect(belayServer({ runner: runner(), token: undefined, auth: undefined }).token).toHaveLength(43);
});

test.each([
  ["an unknown role", { user: "anna", role: "Admin" }],
  ["an unknown role beside a known one", { user: "anna", role: ["viewer", "reader"] }],
  ["no role", { user: "anna" }],
  ["no user", { role: "admin" }],
  ["an empty user", { user: "", role: "admin" }],
  ["a number for a tenant", { user: "anna", role: "admin", tenant: 7 }],
])("a login with %s opens nothing, and the log says why", async (_, login) => {
  const failures: unknown[] = [];
  const log = ({ error }: { error: unknown }) => void failures.push(error);
  await using server = await startServer({ runner: runner(), auth: () => login as Login, log });
  expect((await server.get("/threads")).body).toMatchObject({ status: 500, code: "INTERNAL" });
  expect(failures).toHaveLength(1);
});
