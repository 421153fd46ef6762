// An agent behind HTTP: a page follows the thread as server-sent events, has a stop button, and goes on after its connection broke.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { agent, BelayError, createRunner } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";

const model = scriptedModel([[{ text: ["A belay ", "has a rope,"] }, { stall: true }], "The device brakes the rope."]);
const runner = createRunner({ agent: agent({ name: "guide", model }) });

// region events
async function follow(threadId: string, request: IncomingMessage, response: ServerResponse) {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  // A browser that connects again says what it has seen; it gets every fact after that, and then what happens.
  const after = Number(request.headers["last-event-id"] ?? 0);
  const events = runner.events(threadId, { after, signal: gone.signal });
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  response.flushHeaders();
  for await (const event of events) {
    // Tell the page what it needs: events also hold the arguments and results of tools.
    if (event.type !== "text-delta" && event.type !== "message" && event.type !== "state") continue;
    const sent = response.write(`id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`);
    // A page that reads slowly slows nobody: meanwhile deltas merge, and past a bound they are left out; facts are not.
    if (!sent) await once(response, "drain", { signal: gone.signal }).catch(() => {});
  }
  response.end();
}
// endregion

// region server
const server = createServer(async (request, response) => {
  const [, threadId = "", action] = request.url!.split("/");
  try {
    if (action === "events") return await follow(threadId, request, response);
    const { input } = JSON.parse((await text(request)) || "{}");
    if (action === "stop") return response.end(JSON.stringify(await runner.interrupt(threadId, { by: "page" })));
    const session = await runner.open(threadId);
    // The run goes on by itself: what becomes of it is told by its events, to whoever follows them.
    const { runId } = action === "resume" ? session.resume({ input }) : session.run(input);
    response.end(JSON.stringify({ runId }));
  } catch (error) {
    if (response.headersSent) return response.destroy(); // in the middle of events: the page connects again
    const known = error instanceof BelayError;
    response.writeHead(known ? 409 : 500).end(JSON.stringify(known ? error : { message: "That went wrong." }));
  }
});
// endregion

server.listen(0, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/climbing`;

// What a page does; in a browser it is new EventSource(…).
type Told = { seq: number; type: string; text?: string; state?: string; message?: { role: string } };
const line = ({ type, text, state, message }: Told) => `${type} ${text ?? state ?? message?.role}`;

async function* page(after = 0): AsyncGenerator<Told> {
  const response = await fetch(`${url}/events`, { headers: { "last-event-id": String(after) } });
  let rest = "";
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + chunk).split("\n\n");
    rest = blocks.pop()!;
    for (const block of blocks) yield JSON.parse(block.slice(block.indexOf("data: ") + 6));
  }
}
const press = async (action: string, body: object = {}) =>
  (await fetch(`${url}/${action}`, { method: "POST", body: JSON.stringify(body) })).json() as Promise<{
    code?: string;
    partialText?: string;
  }>;

let seen = 0;
let said = "";
const first = page();
const begun = first.next(); // connected before the thread is there
await press("run", { input: "What is a belay?" });
console.log((await press("run", { input: "And a rope?" })).code);
for (let step = await begun; !step.done; step = await first.next()) {
  const event = step.value;
  seen = event.seq;
  if (event.type !== "text-delta") console.log(line(event));
  else said += event.text;
  if (said.endsWith("rope,")) break; // the connection is gone; the run is not
}
console.log(`shown: "${said}"`);
console.log(`kept:  "${(await press("stop")).partialText}"`);

console.log("— the page is back");
await press("resume", { input: "Only the device." });
for await (const event of page(seen)) {
  if (event.type !== "text-delta") console.log(line(event));
  if (event.state === "completed") break;
}

await runner.close();
server.close();
server.closeAllConnections();
