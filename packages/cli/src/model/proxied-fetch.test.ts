// A proxy on loopback, and servers that only it can reach by their names.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, request, type Server } from "node:http";
import { createServer as createSecure } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { proxiedFetch, proxyFor } from "./proxied-fetch.ts";

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

async function listen<S extends Server>(server: S): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push({
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  });
  return (server.address() as AddressInfo).port;
}

/** Sends requests for any name to `port`, and records the names. */
async function proxy(port: number) {
  const asked: string[] = [];
  const server = createServer((message, response) => {
    asked.push(`${message.method} ${message.url} ${message.headers["proxy-authorization"] ?? ""}`.trim());
    const { pathname } = new URL(message.url!);
    const passed = request({ port, path: pathname, method: message.method, headers: message.headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    response.on("close", () => passed.destroy());
    message.pipe(passed);
  });
  server.on("connect", (message, socket) => {
    asked.push(`${message.method} ${message.url}`);
    if (message.url!.startsWith("forbidden")) return void socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    const through = connect(port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      through.pipe(socket);
      socket.pipe(through);
    });
    socket.on("error", () => through.destroy());
    through.on("error", () => socket.destroy());
  });
  return { asked, url: `http://127.0.0.1:${await listen(server)}` };
}

test("http goes through the proxy with its credentials, with body and headers; NO_PROXY and loopback do not", async () => {
  const seen: string[] = [];
  const server = createServer(async (message, response) => {
    let body = "";
    for await (const piece of message) body += piece;
    seen.push(`${message.headers.host} ${message.headers["x-key"]} ${body}`);
    response.setHeader("content-type", "text/plain");
    response.end("hello");
  });
  const { url, asked } = await proxy(await listen(server));
  const through = proxiedFetch({ HTTP_PROXY: url.replace("//", "//me:secret@") });
  const answer = await through("http://model.test/v1/x", { method: "POST", body: "words", headers: { "x-key": "k" } });
  expect([answer.status, answer.headers.get("content-type"), await answer.text()]).toEqual([
    200,
    "text/plain",
    "hello",
  ]);
  expect(seen).toEqual(["model.test k words"]);
  expect(asked).toEqual([`POST http://model.test/v1/x Basic ${Buffer.from("me:secret").toString("base64")}`]);

  const env = { https_proxy: "proxy:8080", NO_PROXY: "example.com, .inside:8443" };
  const proxies = ["https://a.test", "https://example.com", "https://api.example.com", "https://x.inside:8443"];
  expect(
    [...proxies, "https://x.inside", "https://127.0.0.1", "http://a.test"].map(
      (each) => proxyFor(new URL(each), env)?.host,
    ),
  ).toEqual(["proxy:8080", undefined, undefined, undefined, "proxy:8080", undefined, undefined]);
});

test("https goes through a tunnel; a refusal of the proxy says which; an abort closes the connection", async () => {
  const folder = mkdtempSync(join(tmpdir(), "belay-tls-"));
  open.push({ close: () => rmSync(folder, { recursive: true }) });
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", "1"];
  execFileSync("openssl", [...made, "-subj", "/CN=model.test", "-addext", "subjectAltName=DNS:model.test"], {
    stdio: "ignore",
  });
  let closed = () => {};
  const isClosed = new Promise<void>((resolve) => (closed = resolve));
  const secure = createSecure({ key: readFileSync(key), cert: readFileSync(cert) }, (message, response) => {
    if (message.url === "/whole") return void response.end("secret words");
    response.on("close", closed);
    response.write("half");
  });
  const { url, asked } = await proxy(await listen(secure as unknown as Server));
  const through = proxiedFetch({ HTTPS_PROXY: url });
  await expect(through("https://forbidden.test/x")).rejects.toThrow(
    /refused to connect to forbidden.test:443 \(status 403\)/,
  );
  await expect(through("https://model.test/whole")).rejects.toThrow(/self.signed/i);
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
  try {
    expect(await (await through("https://model.test/whole")).text()).toBe("secret words");
    const stop = new AbortController();
    const answer = await through("https://model.test/half", { signal: stop.signal });
    const reader = answer.body!.getReader();
    expect(Buffer.from((await reader.read()).value!).toString()).toBe("half");
    stop.abort();
    await isClosed;
    await expect(reader.read()).rejects.toThrow();
  } finally {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  }
  expect(asked).toEqual(["CONNECT forbidden.test:443", ...Array(3).fill("CONNECT model.test:443")]);
});
