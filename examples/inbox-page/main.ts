// People answer from a page: the server names the person, and the request decides whether that person may answer.
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { approve, connect, type RequestError } from "@belay/client";
import { agent, createRunner, humanApproval, jsonSchema, tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { belayServer, type Login } from "@belay/server";
import { serve } from "@hono/node-server";

const deploy = tool({
  name: "deploy",
  description: "Puts a version into production.",
  input: jsonSchema<{ version: string }>({ type: "object", properties: { version: { type: "string" } } }),
  needsApproval: ({ version }) => humanApproval(`Deploy ${version}?`, { approvers: ["group:leads"], quorum: 2 }),
  execute: ({ version }) => `${version} is live`,
});
const model = scriptedModel([[{ call: "deploy", args: { version: "1.4" } }], "Done."]);

// region server
const runner = createRunner({
  agent: agent({ name: "ops", model, tools: [deploy] }),
  groups: { leads: ["anna", "ben"] },
});
// Your own login: a session cookie in earnest. `user` becomes `by`; a page that sends `by` is refused.
const people = new Map<string, Login>([
  ["token-a", { user: "anna", role: ["operator", "approver"] }],
  ["token-b", { user: "ben", role: "approver" }],
  ["token-c", { user: "carl", role: "approver" }],
  ["token-d", { user: "dora", role: "viewer" }],
]);
const server = belayServer({
  runner,
  auth: (request) => people.get(request.headers.get("authorization")?.replace("Bearer ", "") ?? ""),
});
// endregion
const http = serve({ fetch: server.fetch, hostname: "127.0.0.1", port: 0 });
await once(http, "listening");
const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
const page = (token: string) => connect({ url, token });

const run = await page("token-a").run("Deploy 1.4.", { threadId: "release" });
await run.result;
const { items } = await page("token-a").inbox({ mine: true });
const [item] = items;
console.log(
  `anna sees: ${item!.reason}; carl sees ${(await page("token-c").inbox({ mine: true })).items.length} requests`,
);

for (const token of ["token-x", "token-d", "token-c", "token-a", "token-a", "token-b"]) {
  const said = await page(token)
    .answer(item!.id, approve())
    .then(({ open }) => `open: ${open}`)
    .catch(({ status, code }: RequestError) => `${status}, ${code}`);
  console.log(`${people.get(token)?.user ?? "unknown"}: ${said}`);
}

const thread = page("token-a").open("release");
while ((await thread.look()).state !== "completed") await new Promise((resolve) => setTimeout(resolve, 20));
const [last] = (await thread.messages({ limit: 1 })).items;
console.log(last?.parts.map((part) => (part.type === "text" ? part.text : "")).join(""));
await server.close();
http.close();
