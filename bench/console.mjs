// Is the console fast in a long thread and over many threads? A real browser reads 10,000 facts and 10,000 threads from a server
// on loopback. The floor is a bare page in the same browser that reads the same data and draws the same number of lines.

import { once } from "node:events";
import { agent, createRunner, jsonSchema, tool } from "@belay/core";
import { sqliteStore } from "@belay/core/sqlite";
import { scriptedModel } from "@belay/core/testing";
import { belayServer } from "@belay/server";
import { createAdaptorServer } from "@hono/node-server";
import chromium from "@sparticuz/chromium";
import { chromium as playwright } from "playwright-core";
import { FIRST_LOAD } from "../scripts/build-console.mjs";
import { answer, least, progress, quantile } from "./measure.mjs";
import { DatabaseSync } from "./sqlite.mjs";

const FACTS = 10_000;
const THREADS = 10_000;
const FRAMES = 150;
const STREAM_SECONDS = 8;

let streams = false;
const look = tool({
  name: "look",
  description: "Looks.",
  input: jsonSchema({ type: "object" }),
  readOnly: true,
  execute: () => ({ rows: 41 }),
});
const model = scriptedModel(({ messages }) => {
  if (streams) return Array.from({ length: 2_000 }, (_, at) => [{ wait: 10 }, { text: `word${at} ` }]).flat();
  if (messages.at(-1).role === "tool") return "It says **41 rows**, and the seventh is the one to look at.";
  return [{ call: "look", args: { file: "ledger.csv", row: 7 } }];
});
const store = sqliteStore(new DatabaseSync(":memory:"));
const runner = createRunner({ agent: agent({ name: "clerk", model, tools: [look] }), store });
await fill();
const auth = () => ({ user: "anna", role: ["admin"] });
const server = belayServer({ runner, auth, rate: false });
const bare = (body) =>
  new Response(`<!doctype html><meta charset=utf-8><body>${body}`, { headers: { "content-type": "text/html" } });
const http = createAdaptorServer({
  fetch: (request) => (new URL(request.url).pathname === "/bare" ? bare("") : server.fetch(request)),
});
http.listen(0, "127.0.0.1");
await once(http, "listening");
const url = `http://127.0.0.1:${http.address().port}`;
const browser = await playwright.launch({
  executablePath: process.env.CHROME ?? (await chromium.executablePath()),
  args: ["--no-sandbox", "--disable-gpu", "--headless"],
});

async function fill() {
  for (let head = 0, round = 0; head < FACTS; round += 1) {
    await (await runner.start("long", `What does the ledger say about row ${round}?`)).result;
    ({ head } = await runner.look("long"));
    if (round % 100 === 0) progress(`${head}/${FACTS} facts`);
  }
  for (let i = 0; i < THREADS; i += 1) {
    const title = `Refund order ${i} of the autumn sale`;
    await store.append(
      { tenant: "default", threadId: `thread-${i}` },
      {
        appendId: `a${i}`,
        expect: 0,
        count: 1,
        at: 1_700_000_000_000 + i,
        body: "[]",
        writer: { take: "bench", ttlMs: 1 },
        release: true,
        agent: "clerk",
        state: ["completed", "paused", "error"][i % 3],
        listed: { runId: `run-${i}`, ...(i % 3 === 1 && { pauseType: "manual" }) },
        named: { title, labels: {} },
      },
    );
    if (i % 1_000 === 0) progress(`${i}/${THREADS} threads`);
  }
}

async function open(path) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  page.setDefaultTimeout(60_000);
  await page.addInitScript(instrument);
  if (path !== undefined) await page.goto(url + path);
  return page;
}

/** In the page: when data had arrived, when a mark of it was painted, long tasks, and the frames of a scroll. */
function instrument() {
  const state = { dataAt: 0, tasks: [] };
  window.bench = state;
  const { fetch } = window;
  // The last bytes of the answer that the page waits for.
  window.fetch = async (...args) => {
    const response = await fetch(...args);
    const path = String(args[0]);
    if (!/\/events\?|\/threads\?limit/.test(path)) return response;
    const noted = new TransformStream({
      transform(chunk, controller) {
        if (state.dataAt === 0) {
          const isStream = path.includes("/events?");
          if (!isStream || new TextDecoder().decode(chunk).includes("event: live")) state.dataAt = performance.now();
        }
        controller.enqueue(chunk);
      },
    });
    const { status, headers } = response;
    return new Response(response.body.pipeThrough(noted), { status, headers });
  };
  state.painted = (selector) =>
    new Promise((resolve) => {
      const look = () => {
        if (state.dataAt > 0 && document.querySelector(selector) !== null)
          requestAnimationFrame(() => resolve(performance.now() - state.dataAt));
        else requestAnimationFrame(look);
      };
      look();
    });
  state.scroll = (element, by, frames) =>
    new Promise((resolve) => {
      const times = [];
      let last = performance.now();
      const step = (now) => {
        times.push(now - last);
        last = now;
        element.scrollTop += by;
        if (times.length < frames) requestAnimationFrame(step);
        else resolve(times.slice(1));
      };
      requestAnimationFrame(step);
    });
  // How late a timer comes is how long the page was busy.
  let due = performance.now() + 5;
  setInterval(() => {
    const now = performance.now();
    state.tasks.push(Math.max(0, now - due));
    due = now + 5;
  }, 5);
}

/** Paints of a new page each, in turns with a bare page that draws the same lines. */
async function paints(path, selector, source, lines) {
  const [own, floor] = [[], []];
  for (let round = 0; round < 7; round += 1) {
    const page = await open(path);
    own.push(await page.evaluate((wanted) => window.bench.painted(wanted), selector));
    await page.close();
    const plain = await open("/bare");
    floor.push(
      await plain.evaluate(
        async ([from, count]) => {
          const gone = new AbortController();
          const response = await fetch(from, { signal: gone.signal });
          let text = "";
          for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
            text += chunk;
            if (from.includes("/events?") && text.includes("event: live")) break;
          }
          gone.abort();
          const rows = text.split(/\n\n|(?<=\}),(?=\{"threadId)/).slice(-count);
          for (const row of rows)
            document.body.append(Object.assign(document.createElement("p"), { textContent: row }));
          document.body.lastElementChild.classList.add("last");
          return window.bench.painted(".last");
        },
        [`/v1${source}`, lines],
      ),
    );
    await plain.close();
  }
  return { measured: least(own), floor: least(floor) };
}

/** The least of several rounds: other work of the machine can only add to a frame. */
async function scrolled(page, selector, by) {
  const [own, floor] = [[], []];
  for (let round = 0; round < 5; round += 1) {
    const frames = await page.evaluate(
      ([wanted, step, count]) => window.bench.scroll(document.querySelector(wanted), step, count),
      [selector, by, FRAMES],
    );
    own.push(quantile(frames, 0.95));
    const plain = await open("/bare");
    const bareFrames = await plain.evaluate(
      ([step, count]) => {
        document.body.innerHTML = Array.from({ length: 400 }, (_, at) => `<p>${at} a line of text</p>`).join("");
        return window.bench.scroll(document.documentElement, Math.abs(step) / 8, count);
      },
      [by, FRAMES],
    );
    floor.push(quantile(bareFrames, 0.95));
    await plain.close();
    // Down again: the next round has as far to go.
    await page.locator(selector).evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await page.waitForTimeout(300);
  }
  return { measured: least(own), floor: least(floor) };
}

progress("tail of a thread");
answer({
  name: `tail of a thread of 10,000 facts, from its last byte to its paint`,
  unit: "ms",
  ...(await paints("/threads/long", ".msg .md", "/threads/long/events?tail=500", 40)),
  target: 150,
});
answer({
  name: "first page of 10,000 threads, from its last byte to its paint",
  unit: "ms",
  ...(await paints("/threads", ".table tbody tr td a", "/threads?limit=100", 40)),
  target: 150,
});

progress("all facts");
const page = await open("/threads/long");
await page.locator(".msg .md").first().waitFor();
for (;;) {
  const earlier = page.getByRole("button", { name: /earlier/i });
  if ((await earlier.count()) === 0) break;
  await earlier.click();
  await page.waitForTimeout(150);
}
await page.locator(".talk-scroll").evaluate((element) => element.scrollTo(0, element.scrollHeight));
await page.waitForTimeout(500);
answer({
  name: "scroll in 10,000 facts as a conversation, 95 of 100 frames",
  unit: "ms",
  ...(await scrolled(page, ".talk-scroll", -400)),
  target: 25,
});
const client = await page.context().newCDPSession(page);
await client.send("HeapProfiler.collectGarbage");
const { usedSize } = await client.send("Runtime.getHeapUsage");
answer({ name: "heap of a page with 10,000 facts", unit: "MB", measured: usedSize / 1e6, target: 80 });

/**
 * The longest time that a page was busy while a run streams 100 events a second: the least of several seconds, each beside a
 * bare page that shows the same stream.
 */
async function longest(shown, path) {
  streams = true;
  const run = await runner.start("long", "Say a lot.");
  const plain = await open("/bare");
  await plain.evaluate(async (from) => {
    const response = await fetch(from);
    void (async () => {
      let text = "";
      for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
        text += chunk;
        document.body.textContent = text.slice(-4_000);
      }
    })();
  }, path);
  const [own, floor] = [[], []];
  for (let second = 0; second < STREAM_SECONDS; second += 1) {
    for (const page of [shown, plain]) await page.evaluate(() => window.bench.tasks.splice(0));
    await shown.waitForTimeout(1_000);
    own.push(Math.max(...(await shown.evaluate(() => window.bench.tasks))));
    floor.push(Math.max(...(await plain.evaluate(() => window.bench.tasks))));
  }
  await plain.close();
  streams = false;
  await runner.interrupt("long");
  await run.result;
  return { measured: least(own), floor: least(floor) };
}

progress("100 events a second");
await page.locator(".talk-scroll").evaluate((element) => element.scrollTo(0, element.scrollHeight));
const inThread = await longest(page, "/v1/threads/long/events?tail=10");
answer({
  name: "longest task in a second, in 10,000 facts, while 100 events a second arrive",
  unit: "ms",
  ...inThread,
  target: 50,
});
await page.close();

progress("all threads");
const list = await open("/threads");
await list.locator(".table tbody tr td a").first().waitFor();
const scroller = list.locator(".scroll");
for (let rows = 0; rows < THREADS; ) {
  await scroller.evaluate((element) => element.scrollTo(0, element.scrollHeight));
  await list.waitForTimeout(60);
  const now = Number(await list.locator(".table").getAttribute("aria-rowcount")) - 1;
  rows = now;
}
answer({
  name: "scroll in 10,000 threads, 95 of 100 frames",
  unit: "ms",
  ...(await scrolled(list, ".scroll", -400)),
  target: 25,
});
const inList = await longest(list, "/v1/changes");
answer({
  name: "longest task in a second, over 10,000 threads, while one of them streams",
  unit: "ms",
  ...inList,
  target: 50,
});

const sent = async (path) => {
  const headers = { "accept-encoding": "gzip", host: "127.0.0.1" };
  return server.fetch(new Request(`${url}${path}`, { headers }));
};
const html = await (await fetch(`${url}/threads`)).text();
const files = [...new Set(html.match(/\/assets\/[^"]+\.(?:js|css)/g))];
const sizes = await Promise.all(files.map(async (file) => (await (await sent(file)).arrayBuffer()).byteLength));
answer({
  name: "first load, scripts and styles gzipped",
  unit: "kB",
  measured: sizes.reduce((sum, size) => sum + size, 0) / 1000,
  target: FIRST_LOAD / 1000,
  note: "The floors of `console` are a bare page in the same browser: it reads the same bytes and draws as many lines.",
});
await browser.close();
await server.close({ timeoutMs: 100 });
http.close();
process.exit(0);
