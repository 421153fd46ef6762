// The time from interrupt(), in the middle of an answer, until the model's signal has fired, until the receipt arrives, and, with a
// real provider package, until the server sees its socket closed.

import { createServer } from "node:http";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { runnerOn } from "./fakes.mjs";
import { answer, progress, quantile } from "./measure.mjs";

const stops = 600;
const warmup = 50;

/** Streams without end, a piece each turn of the event loop; `heard` is called when its signal fires. */
function nativeTalker(heard) {
  return {
    id: "fake/native",
    async *stream(_request, { signal }) {
      signal.addEventListener("abort", heard);
      for (;;) {
        yield { type: "text", text: "word " };
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}

function sdkTalker(heard) {
  return {
    specificationVersion: "v3",
    provider: "fake",
    modelId: "sdk",
    supportedUrls: {},
    async doStream({ abortSignal }) {
      abortSignal.addEventListener("abort", heard);
      let begun = false;
      return {
        stream: new ReadableStream({
          async pull(controller) {
            await new Promise((resolve) => setImmediate(resolve));
            if (!begun) controller.enqueue({ type: "text-start", id: "1" });
            begun = true;
            controller.enqueue({ type: "text-delta", id: "1", delta: "word " });
          },
        }),
      };
    },
  };
}

/** How often the system has taken the processor away from this process. */
const preemptions = () => process.resourceUsage().involuntaryContextSwitches;

/**
 * Stops one run after a few pieces of its text. Returns when the interrupt was called, when its receipt came, and
 * whether the system let other processes run in between: then the time is theirs.
 */
async function stopOnce(runner, pieces) {
  const session = await runner.open();
  const run = session.run("Speak.");
  let seen = 0;
  for await (const event of run) if (event.type === "text-delta" && ++seen === pieces) break;
  const before = preemptions();
  const called = performance.now();
  const receipt = await session.interrupt();
  const received = performance.now();
  const disturbed = preemptions() !== before;
  if (!receipt.accepted || receipt.partialText === "") throw new Error("The stop was not accepted in mid-stream.");
  return { called, received, disturbed };
}

const note =
  "Stops in which the system gave the processor to another process are left out of the p99: on a busy machine that is more than one in a hundred. The p99 of all stops, with those, is in the name of the case.";

async function measure(name, makeModel) {
  let heardAt;
  const runner = runnerOn(makeModel(() => (heardAt = performance.now())));
  const toSignal = [];
  const toReceipt = [];
  const calm = [];
  for (let i = -warmup; calm.length < stops; i++) {
    const { called, received, disturbed } = await stopOnce(runner, 1 + ((i + warmup) % 10));
    if (i < 0) continue;
    toSignal.push(heardAt - called);
    toReceipt.push(received - called);
    if (!disturbed) calm.push(i);
    if (i % 20 === 0) progress(`${calm.length}/${stops}`);
  }
  for (const [what, all, target] of [
    ["signal", toSignal, 1],
    ["receipt", toReceipt, 2],
  ]) {
    const values = calm.map((i) => all[i]);
    const typical = `median ${quantile(values, 0.5).toFixed(3)} ms`;
    const whole = `of all ${all.length} ${quantile(all, 0.99).toFixed(2)} ms`;
    const title = `${name}: to the ${what}, p99 of ${stops} (${typical}, ${whole})`;
    answer({ name: title, unit: "ms", measured: quantile(values, 0.99), target, note });
  }
}

await measure("native model", nativeTalker);
await measure("fromAiSdk", sdkTalker);

/** Streams chat completions without end; `closed` is called when a socket has closed. */
async function talkingServer(closed) {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream" });
    const chunk = { id: "1", object: "chat.completion.chunk", created: 1, model: "m" };
    const say = () => {
      const choices = [{ index: 0, delta: { role: "assistant", content: "word " }, finish_reason: null }];
      response.write(`data: ${JSON.stringify({ ...chunk, choices })}\n\n`);
    };
    say();
    const timer = setInterval(say, 1);
    response.on("close", () => {
      clearInterval(timer);
      closed();
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, url: `http://127.0.0.1:${server.address().port}/v1` };
}

async function measureSocket(count) {
  let closed = () => {};
  const { server, url: baseURL } = await talkingServer(() => closed());
  const provider = createOpenAICompatible({ name: "local", baseURL, apiKey: "none" });
  const runner = runnerOn(provider.chatModel("m"));
  const toClose = [];
  const toReceipt = [];
  for (let i = -20; i < count; i++) {
    const closedAt = new Promise((resolve) => (closed = () => resolve(performance.now())));
    const { called, received } = await stopOnce(runner, 1 + ((i + 20) % 5));
    const gone = await closedAt;
    if (i >= 0) toClose.push(gone - called);
    if (i >= 0) toReceipt.push(received - called);
    if (i % 20 === 0) progress(`${Math.max(0, i)}/${count}`);
  }
  server.close();
  const title = (what, values) =>
    `@ai-sdk/openai-compatible: to ${what}, p99 of ${count} (median ${quantile(values, 0.5).toFixed(2)} ms)`;
  answer({
    name: title("the server's closed socket", toClose),
    unit: "ms",
    measured: quantile(toClose, 0.99),
    target: 50,
    note: "The server of the stop question runs in the process that stops: the time until it sees its socket closed includes both ends.",
  });
  answer({ name: title("the receipt", toReceipt), unit: "ms", measured: quantile(toReceipt, 0.99) });
}

await measureSocket(500);
