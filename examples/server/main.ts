// An agent as a service: one server, and a page that follows, stops, steers and approves. With --serve it waits for a browser.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { approve, connect, isThreadEvent } from "@belay/client";
import { agent, createRunner, humanApproval, jsonSchema, tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { belayServer } from "@belay/server";
import { serve } from "@hono/node-server";

const book = tool({
  name: "book",
  description: "Books a hut.",
  input: jsonSchema<{ hut: string }>({ type: "object", properties: { hut: { type: "string" } } }),
  needsApproval: ({ hut }) => humanApproval(`Book ${hut}?`),
  execute: ({ hut }) => `${hut} is booked`,
});
const model = scriptedModel([
  [{ text: ["A belay ", "has a rope,"] }, { stall: true }],
  "The device brakes the rope.",
  [{ call: "book", args: { hut: "Höllentalangerhütte" } }],
  "You sleep at the hut.",
]);

// region server
const runner = createRunner({ agent: agent({ name: "guide", model, tools: [book] }) });
const belay = belayServer({ runner, user: "anna" });

const file = (name: string) => readFileSync(fileURLToPath(new URL(name, import.meta.url)));
const pages: Record<string, () => Promise<Response>> = {
  "/": async () => new Response(file("page.html"), { headers: { "content-type": "text/html" } }),
  "/client.js": async () => new Response(await clientForBrowsers(), { headers: { "content-type": "text/javascript" } }),
};
const http = serve({
  fetch: (request, env) => (pages[new URL(request.url).pathname] ?? (() => belay.fetch(request, env)))(),
  hostname: "127.0.0.1",
  port: 0,
});
// endregion
await once(http, "listening");
const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;

/** Your bundler does this. */
async function clientForBrowsers(): Promise<string> {
  const { build } = await import("esbuild");
  const entryPoints = [fileURLToPath(import.meta.resolve("@belay/client"))];
  const { outputFiles } = await build({ entryPoints, bundle: true, format: "esm", write: false, target: "es2023" });
  return outputFiles[0]!.text;
}

if (process.argv.includes("--serve")) {
  console.log(`${url}/#t=${belay.token}`);
  await once(process, "SIGTERM");
} else {
  // region client
  const thread = connect({ url, token: belay.token }).open("climbing");
  const run = await thread.run("What is a belay?");
  for await (const event of run) {
    if (event.type !== "text-delta" || !event.text.endsWith("rope,")) continue;
    console.log("kept:", (await run.interrupt({ reason: "add_info" })).partialText);
  }
  const second = await thread.resume({ input: "Only the device." });
  const result = await second.result;
  console.log(result.status === "completed" ? result.text : result.status);
  // endregion

  // A page that is loaded again reads the same facts from the first on.
  const gone = new AbortController();
  for await (const event of thread.events({ drafts: false, signal: gone.signal })) {
    if (isThreadEvent(event) && event.type === "state") console.log("state", event.state);
    if (event.type === "live") gone.abort();
  }

  console.log("sent as", (await thread.send("Book a hut.")).how);
  // region inbox
  const people = connect({ url, token: belay.token });
  for await (const { items } of people.inbox({ mine: true }).live()) {
    const [item] = items;
    if (item === undefined) continue;
    console.log(item.reason, await people.answer(item.id, approve({ note: "two beds" })));
    break;
  }
  // endregion
  await thread.events({ after: (await thread.look()).head, signal: AbortSignal.timeout(2000) }).next();
  while ((await thread.look()).state !== "completed") await new Promise((resolve) => setTimeout(resolve, 20));
  const [last] = (await thread.messages({ limit: 1 })).items;
  console.log(last?.parts.map((part) => (part.type === "text" ? part.text : "")).join(""));
}
await belay.close();
http.close();
