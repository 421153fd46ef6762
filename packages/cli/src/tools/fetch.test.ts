// Real servers on loopback: some that may be fetched, one that may not.
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, expect, test } from "vitest";
import { isPublic } from "./addresses.ts";
import { fetchTool } from "./fetch.ts";
import { htmlToText } from "./html-to-text.ts";
import { getPage, type PageOptions } from "./ssrf.ts";

const servers: Server[] = [];
async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

const signal = new AbortController().signal;
const fetchBy = (url: string, options: Omit<PageOptions, "signal">) =>
  Promise.resolve(
    fetchTool(async () => ({ effect: "ask", source: "default", words: "" }), options).execute({ url } as never),
  );

test("only public addresses are, in whatever way they are written", () => {
  const not =
    `127.0.0.1 127.8.8.8 0.0.0.0 10.1.2.3 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 100.64.0.1 198.18.0.1
    224.0.0.1 255.255.255.255 ::1 :: fe80::1 fe80::1%eth0 fd00::1 ff02::1 ::ffff:127.0.0.1 ::ffff:7f00:1 ::127.0.0.1
    ::ffff:169.254.169.254 64:ff9b::10.0.0.1 2002:7f00:1:: 2001:db8::1 localhost`.split(/\s+/);
  expect(not.filter(isPublic)).toEqual([]);
  const yes = "1.1.1.1 8.8.8.8 172.32.0.1 100.128.0.1 2606:4700:4700::1111 ::ffff:8.8.8.8 64:ff9b::8.8.8.8".split(" ");
  expect(yes.filter((address) => !isPublic(address))).toEqual([]);
});

test("this machine is not fetched: by number, in odd spellings, by name, by other protocols, with a password", async () => {
  let hits = 0;
  const place = await serve((_, response) => response.end(String(++hits)));
  const port = place.split(":")[1];
  for (const host of ["127.0.0.1", "2130706433", "0x7f.1", "017700000001", "[::ffff:127.0.0.1]", "localhost", "0"]) {
    await expect(fetchBy(`http://${host}:${port}/`, {}), host).rejects.toMatchObject({ code: "FETCH_FORBIDDEN" });
  }
  for (const url of ["file:///etc/passwd", "ftp://example.com/", "nonsense", "https://me:secret@example.com/"]) {
    await expect(fetchBy(url, {}), url).rejects.toMatchObject({ code: "FETCH_FORBIDDEN" });
  }
  expect(hits).toBe(0);
});

test("a name with one address that is not public is refused, and a name that changes its mind gains nothing", async () => {
  let hits = 0;
  const place = await serve((_, response) => response.end(String(++hits)));
  const port = place.split(":")[1];
  const mixed = async () => [
    { address: "8.8.8.8", family: 4 },
    { address: "127.0.0.1", family: 4 },
  ];
  await expect(getPage(`http://evil.test:${port}/`, { signal, resolve: mixed })).rejects.toMatchObject({
    code: "FETCH_FORBIDDEN",
  });
  // Resolved once for a page: the connection uses the address that was judged.
  const asked: string[] = [];
  const resolve = async (host: string) => {
    asked.push(host);
    return [{ address: "127.0.0.1", family: 4 }];
  };
  const page = await getPage(`http://mine.test:${port}/`, { signal, resolve, allow: [`mine.test:${port}`] });
  expect([String(page.body), asked]).toEqual(["1", ["mine.test"]]);
});

test("each redirect is judged: to this machine it is refused, to another host it is reported, on the same host it is followed", async () => {
  let reached = 0;
  const inside = await serve((_, response) => response.end(String(++reached)));
  const other = await serve((_, response) => response.end("other"));
  const place = await serve((request, response) => {
    const to = { "/in": `http://${inside}/`, "/other": `http://${other}/`, "/again": "/end", "/round": "/round" }[
      request.url!
    ];
    if (to === undefined) return void response.end("the end");
    response.writeHead(302, { location: to }).end();
  });
  const allow = [place, other];
  await expect(fetchBy(`http://${place}/in`, { allow })).rejects.toMatchObject({ code: "FETCH_FORBIDDEN" });
  expect(await fetchBy(`http://${place}/other`, { allow })).toBe(
    `[http://${place}/other leads to http://${other}/, another host; fetch that to go there]`,
  );
  expect(await fetchBy(`http://${place}/again`, { allow })).toBe("the end");
  await expect(fetchBy(`http://${place}/round`, { allow })).rejects.toThrow("it redirects more than 5 times");
  expect(reached).toBe(0);
});

test("a page becomes text, an endless one is cut, bytes are refused, a failure says which", async () => {
  const place = await serve((request, response) => {
    if (request.url === "/html") {
      response.setHeader("content-type", "text/html; charset=utf-8");
      return void response.end(
        "<title>T &amp; t</title><script>no()</script><h1>Head</h1><p>a  b<br>c<ul><li>one<li>two</ul>",
      );
    }
    if (request.url === "/bytes") return void response.writeHead(200, { "content-type": "image/png" }).end("x");
    if (request.url === "/gone")
      return void response.writeHead(404, { "content-type": "text/plain" }).end("no such page");
    response.setHeader("content-type", "text/plain");
    const more = () => {
      while (response.write("x".repeat(65_536)));
    };
    response.on("drain", more);
    more();
  });
  const allow = [place];
  expect(await fetchBy(`http://${place}/html`, { allow })).toBe("T & t\n\n# Head\n\na b\nc\n\n- one\n- two");
  expect(await fetchBy(`http://${place}/gone`, { allow })).toBe("[status 404]\nno such page");
  await expect(fetchBy(`http://${place}/bytes`, { allow })).rejects.toThrow("it is image/png, which is not text");
  const endless = String(await fetchBy(`http://${place}/endless`, { allow }));
  expect(endless.endsWith("x\n[it goes on; the rest was left out]")).toBe(true);
  await expect(fetchBy("http://127.0.0.1:1/", { allow: ["127.0.0.1:1"] })).rejects.toThrow("ECONNREFUSED");
});

test("a server that says nothing is given up, and a stop does not wait for it", async () => {
  const place = await serve(() => {});
  const slow = getPage(`http://${place}/`, { signal, allow: [place], timeoutMs: 50 });
  await expect(slow).rejects.toThrow("it took too long");
  const stop = new AbortController();
  const stopped = getPage(`http://${place}/`, { signal: stop.signal, allow: [place] });
  stop.abort(new Error("stopped"));
  await expect(stopped).rejects.toThrow("stopped");
});

/** Collects garbage all the time: a signal without a strong reference is gone. */
function collecting(): { stop(): void } {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  const timer = setInterval(gc, 5);
  return { stop: () => clearInterval(timer) };
}

test("time and stop hold for the silence, the name and the body alike, also while memory is collected", async () => {
  const silent = await serve(() => {});
  const endless = await serve(
    (_, response) => void response.writeHead(200, { "content-type": "text/plain" }).write("a"),
  );
  const unnamed = () => new Promise<never>(() => {});
  const ways: readonly [string, Omit<PageOptions, "signal">][] = [
    [`http://${silent}/`, { allow: [silent] }],
    [`http://${endless}/`, { allow: [endless] }],
    ["http://nobody.test/", { resolve: unnamed }],
  ];
  const gc = collecting();
  try {
    for (const [url, options] of ways) {
      await expect(getPage(url, { ...options, signal, timeoutMs: 100 }), url).rejects.toMatchObject({
        code: "FETCH_FAILED",
        message: expect.stringContaining(`${url} could not be fetched: it took too long.`),
      });
      const stop = new AbortController();
      const stopped = getPage(url, { ...options, signal: stop.signal });
      setTimeout(() => stop.abort(new Error("stopped")), 100);
      await expect(stopped, url).rejects.toThrow(/^stopped$/);
    }
  } finally {
    gc.stop();
  }
});

test("odd pages are read all the same", () => {
  expect(htmlToText("a < b && c > d")).toBe("a < b && c > d");
  expect(htmlToText("<p>one<!-- <p>two --><style>p{}</style>three")).toBe("onethree");
  expect(htmlToText("<script>never closed")).toBe("");
  expect(htmlToText("&#x1F600;&#8212;&unknown;&lt;b&gt;")).toBe("😀—&unknown;<b>");
});
