// People answer from a web page: the page sends what they decided, the server says who they are.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { agent, createRunner, humanApproval, jsonSchema, tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";

const deploy = tool({
  name: "deploy",
  description: "Puts a version into production.",
  input: jsonSchema<{ version: string }>({ type: "object", properties: { version: { type: "string" } } }),
  needsApproval: ({ version }) => humanApproval(`Deploy ${version}?`, { approvers: ["group:leads"], quorum: 2 }),
  execute: ({ version }) => `${version} is live`,
});
const model = scriptedModel([[{ call: "deploy", args: { version: "1.4" } }], "Done."]);
const runner = createRunner({
  agent: agent({ name: "ops", model, tools: [deploy] }),
  groups: { leads: ["anna", "ben"] },
});

// Your own login: a session cookie in earnest.
const people = new Map([
  ["cookie-a", "anna"],
  ["cookie-b", "ben"],
  ["cookie-c", "carl"],
]);

// region server
const server = createServer(async (request, response) => {
  const by = people.get(request.headers.cookie ?? "");
  if (by === undefined) return response.writeHead(401).end();
  try {
    if (request.method === "GET") {
      // Items, what cannot be read, and the cursor of the next page.
      return response.end(JSON.stringify(await runner.inbox({ by })));
    }
    const { id, answer } = JSON.parse(await text(request));
    // Who answers is what the login says, never what the page says; and a page does not make rules for next time.
    const { remember: _, ...said } = answer;
    response.end(JSON.stringify(await runner.answer(id, { ...said, by })));
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    response.writeHead(code?.startsWith("ANSWER_") ? 409 : 500).end(JSON.stringify({ code, message }));
  }
});
// endregion

server.listen(0, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const run = await runner.run("Deploy 1.4.", { id: "release" });
await run.result;

// What the pages do.
const page = (cookie: string, body?: object) =>
  fetch(url, { headers: { cookie }, ...(body && { method: "POST", body: JSON.stringify(body) }) });
const inboxOf = async (cookie: string) =>
  (await (await page(cookie)).json()) as { items: { id: string; reason: string }[]; damaged: { id: string }[] };
const [item] = (await inboxOf("cookie-a")).items;
console.log(`anna sees: ${item!.reason}; carl sees ${(await inboxOf("cookie-c")).items.length} requests`);

for (const cookie of ["cookie-x", "cookie-c", "cookie-a", "cookie-a", "cookie-b"]) {
  const answered = await page(cookie, { id: item!.id, answer: { type: "approve", by: "ben" } });
  const { code, open } = (await answered.json().catch(() => ({}))) as { code?: string; open?: number };
  console.log(
    `${people.get(cookie) ?? "somebody"}: ${answered.status}, ${code ?? (open === undefined ? "who is that?" : `open: ${open}`)}`,
  );
}

const session = await runner.open("release");
const result = await session.resume().result;
console.log(result.status === "completed" ? result.text : result.status);
server.close();
