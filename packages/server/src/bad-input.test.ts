// Requests that no route takes: each has a typed refusal, nothing is stored, and the server lives.

import { connect as connectSocket } from "node:net";
import { agent, content, createRunner, jsonSchema, tool } from "@belay/core";
import { scriptedModel } from "@belay/core/testing";
import { describe, expect, test } from "vitest";
import { readStream, startServer, type TestServer } from "./testing.ts";

function guide(turns: readonly string[] = []) {
  return createRunner({ agent: agent({ name: "guide", model: scriptedModel([...turns]) }) });
}

/** Sends a body of a gigabyte until the server closes the line; returns the status and how much was sent. */
function sendGigabyte({ url, headers }: TestServer, length: string): Promise<{ status: number; megabytes: number }> {
  const isChunked = length.startsWith("transfer-encoding");
  const chunk = Buffer.alloc(2 ** 20, "x");
  return new Promise((resolve) => {
    let [answer, megabytes] = ["", 0];
    const socket = connectSocket(Number(new URL(url).port), "127.0.0.1");
    const more = () => {
      if (socket.destroyed || ++megabytes > 1024) return;
      if (isChunked) socket.write("100000\r\n");
      socket.write(chunk);
      socket.write(isChunked ? "\r\n" : "", () => setImmediate(more));
    };
    socket.on("data", (bytes) => (answer += bytes)).on("error", () => {});
    socket.on("close", () => resolve({ status: Number(answer.split(" ")[1]), megabytes }));
    const lines = [
      "POST /v1/threads/t/runs HTTP/1.1",
      "host: 127.0.0.1",
      `authorization: ${headers.authorization}`,
      "content-type: application/json",
      length,
    ];
    socket.write(`${lines.join("\r\n")}\r\n\r\n`, more);
  });
}

describe("bad input", () => {
  test("each is refused with a known code, and nothing is stored", async () => {
    await using server = await startServer({ runner: guide() });
    const post = (body: string | Uint8Array, type = "application/json") =>
      server.send("POST", "/threads/t/runs", { headers: { "content-type": type }, body: body as string });
    const bodies: [string, string | Uint8Array][] = [
      ["not JSON", "{input:1}"],
      ["a doubled key", '{"input":"a","input":"b"}'],
      ["__proto__", '{"input":"a","__proto__":{"agent":"x"}}'],
      ["an escaped __proto__", '{"input":"a","\\u005f_proto__":{}}'],
      ["too deep", `{"input":${"[".repeat(80)}${"]".repeat(80)}}`],
      ["a hundred thousand levels", `{"input":${"[".repeat(100_000)}${"]".repeat(100_000)}}`],
      ["a hundred thousand levels without an end", `{"input":${'{"a":'.repeat(100_000)}`],
      ["an unknown field", '{"input":"a","inputs":"b"}'],
      ["no input", "{}"],
      ["nothing", ""],
      ["a list", "[]"],
      ["a number", '{"input":7}'],
      ["invalid UTF-8", new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d])],
      ["forged provider data", '{"input":[{"parts":[{"type":"text","text":"a","provider":{"name":"x","data":1}}]}]}'],
      ["another role", '{"input":[{"role":"system","parts":[{"type":"text","text":"a"}]}]}'],
    ];
    for (const [name, body] of bodies) {
      expect((await post(body)).body, name).toMatchObject({ status: 400, code: "BODY_INVALID" });
    }
    expect((await post('{"input":""}')).body).toMatchObject({ status: 400, code: "INPUT_EMPTY" });
    expect((await post('{"input":"a"}', "text/plain")).body).toMatchObject({ status: 400, code: "BODY_INVALID" });
    expect((await post(JSON.stringify({ input: "x".repeat(1.5 * 1024 * 1024) }))).body).toMatchObject({
      status: 413,
      code: "TOO_LARGE",
    });
    expect((await server.get("/threads?limit=0")).body).toMatchObject({ status: 400 });
    expect((await server.get("/threads?limits=3")).body).toMatchObject({ status: 400 });
    expect((await server.get(`/threads/${"x".repeat(201)}`)).body).toMatchObject({ status: 404 });
    expect((await server.get("/threads/%ff")).body).toMatchObject({ status: 404, code: "ROUTE_UNKNOWN" });
    expect((await server.get("/threads/..%2f..%2fetc")).body).toMatchObject({ status: 404, code: "THREAD_UNKNOWN" });
    expect((await server.get("/nothing")).body).toMatchObject({ status: 404, code: "ROUTE_UNKNOWN" });
    expect((await server.send("PUT", "/threads")).body).toMatchObject({ status: 405, code: "METHOD_NOT_ALLOWED" });
    const key = await server.post("/threads/t/runs", { input: "a" }, { "idempotency-key": "k".repeat(300) });
    expect(key.body).toMatchObject({ status: 400 });
    expect((await server.get("/threads")).body.items).toEqual([]);
  });

  test("a body of a gigabyte is refused early, whether its length is said or not, and the server lives", async () => {
    await using server = await startServer({ runner: guide(["Hi."]) });
    for (const length of [`content-length: ${2 ** 30}`, "transfer-encoding: chunked"]) {
      const { status, megabytes } = await sendGigabyte(server, length);
      expect(status, length).toBe(413);
      expect(megabytes, length).toBeLessThan(1024);
    }
    expect((await server.post("/threads/t/runs", { input: "Go." }, { prefer: "wait=30" })).status).toBe(200);
  });

  test("a body is read in one pass: neither quotes without an end nor a file of seven megabytes stop the server", async () => {
    await using server = await startServer({ runner: guide(["Nice."]) });
    const open = '"'.repeat(3) + '\\"'.repeat(250_000);
    const keys = `["${"k".repeat(250_000)}"${":".repeat(250_000)}`;
    for (const body of [open, keys]) {
      const login = { method: "POST", headers: { "content-type": "application/json" }, body };
      expect((await fetch(`${server.url}/v1/session`, login)).status).toBe(400);
    }
    const base64 = Buffer.alloc(7 * 1024 * 1024, 7).toString("base64");
    const input = [{ parts: [{ type: "file", mediaType: "image/png", data: { base64 } }] }];
    expect((await server.post("/threads/t/runs", { input }, { prefer: "wait=30" })).status).toBe(200);
  });

  test("an id may hold slashes, dots, spaces and letters of any language; control characters are refused", async () => {
    await using server = await startServer({ runner: guide(Array.from({ length: 9 }, () => "Hi.")) });
    for (const id of ["a/b", "../../etc/passwd", "%2e", "a b?c#d", "bergführer 🧗", "a:b;c"]) {
      const path = `/threads/${encodeURIComponent(id)}`;
      const ran = await server.post(`${path}/runs`, { input: "Go." }, { prefer: "wait=30" });
      expect(ran.status, id).toBe(200);
      expect((await server.get(path)).body.threadId).toBe(id);
      const events = await readStream(server, `${path}/events`, (all) => all.some(({ event }) => event === "live"));
      expect(events[0]!.data.threadId).toBe(id);
      expect((await server.delete(path)).status).toBe(204);
    }
    for (const id of ["a\u0000b", "a\nb", "\u001b[2J", "\u007f"]) {
      const path = `/threads/${encodeURIComponent(id)}`;
      const ran = await server.post(`${path}/runs`, { input: "Go." }, { prefer: "wait=30" });
      expect(ran.body, JSON.stringify(id)).toMatchObject({ status: 404, code: "ROUTE_UNKNOWN" });
      const named = await server.post("/threads", { threadId: id, input: "Go." });
      expect(named.body, JSON.stringify(id)).toMatchObject({ status: 400 });
      expect((await server.get(path)).status).toBe(404);
    }
    // A browser takes these two out of any address, so no route could name the thread. Half a character has no UTF-8.
    for (const threadId of [".", "..", "a\ud800"]) {
      expect((await server.post("/threads", { threadId, input: "Go." })).body).toMatchObject({ status: 400 });
    }
    expect((await server.get("/threads")).body.items).toEqual([]);
  });

  test("half a character in the name of a file or message does not make a thread unreadable", async () => {
    const runner = guide(["Nice.", "Nice."]);
    await using server = await startServer({ runner });
    const file = { type: "file" as const, mediaType: "image/png", name: "a\ud800", data: { base64: "AAAA" } };
    const input = [{ id: "m\ud800", parts: [file] }];
    expect((await server.post("/threads/t/runs", { input })).body).toMatchObject({ status: 400 });
    await (await runner.start("t", input)).result;
    expect((await server.get("/threads/t/messages")).status).toBe(200);
    await (await runner.start("t", [{ id: "m", parts: [file] }])).result;
    expect((await server.get("/threads/t/files/m/0")).status).toBe(200);
  });

  test("a file of five megabytes is taken, served as its type, and a page of it cannot run", async () => {
    await using server = await startServer({ runner: guide(["Nice.", "Nice."]) });
    const send = (mediaType: string, bytes: Buffer) =>
      server.post(
        "/threads/t/runs",
        { input: [{ parts: [{ type: "file", mediaType, data: { base64: bytes.toString("base64") } }] }] },
        { prefer: "wait=30" },
      );
    const bytes = Buffer.alloc(5 * 1024 * 1024, 7);
    expect((await send("image/png", bytes)).status).toBe(200);
    expect((await send("text/html", Buffer.from("<script>alert(1)</script>"))).status).toBe(200);
    const { items } = (await server.get("/threads/t/messages")).body;
    const [png, html] = items.filter(({ role }: { role: string }) => role === "user");
    const load = (message: { parts: { data: { url: string } }[] }) =>
      fetch(`${server.url}/v1/${message.parts[0]!.data.url}`, { headers: server.headers });
    const picture = await load(png);
    expect(picture.headers.get("content-type")).toBe("image/png");
    expect(Buffer.from(await picture.arrayBuffer()).equals(bytes)).toBe(true);
    const page = await load(html);
    expect(page.headers.get("content-type")).toBe("application/octet-stream");
    expect(page.headers.get("content-disposition")).toContain("attachment");
    expect(page.headers.get("content-security-policy")).toContain("sandbox");
    expect((await server.get("/threads/t/files/none/0")).body.code).toBe("FILE_UNKNOWN");
  });

  test("a flood of requests without a login keeps no probe from its answer", async () => {
    await using server = await startServer({ runner: guide(), rate: { perSecond: 1, burst: 3 } });
    const guess = () => server.post("/session", { token: "a-token-that-is-wrong" });
    for (let i = 0; i < 3; i++) expect((await guess()).status).toBe(401);
    expect((await guess()).status).toBe(429);
    expect((await server.get("/healthz")).status).toBe(200);
    expect((await server.get("/threads")).status).toBe(200);
  });

  test("a file in the result of a tool travels as its address, not in every stream", async () => {
    const bytes = Buffer.alloc(300_000, 7);
    const file = { type: "file", mediaType: "image/png", data: { base64: bytes.toString("base64") } } as const;
    const shot = tool({
      name: "shot",
      description: "Takes a picture of the screen.",
      input: jsonSchema<object>({ type: "object" }),
      execute: () => content(["The screen:", file]),
    });
    const model = scriptedModel([[{ call: "shot", args: {} }], "Done."]);
    await using server = await startServer({
      runner: createRunner({ agent: agent({ name: "guide", model, tools: [shot] }) }),
    });
    await server.post("/threads/a b/runs", { input: "Look." }, { prefer: "wait=30" });
    const events = await readStream(server, "/threads/a b/events", (all) => all.some(({ event }) => event === "live"));
    expect(JSON.stringify(events).length).toBeLessThan(20_000);
    const { seq, output } = events.find(({ event }) => event === "tool-end")!.data;
    expect(output["~content"]).toEqual([
      { type: "text", text: "The screen:" },
      { type: "file", mediaType: "image/png", data: { url: `threads/a%20b/files/%40${seq}/1` } },
    ]);
    const load = (url: string) => fetch(`${server.url}/v1/${url}`, { headers: server.headers });
    const picture = await load(output["~content"][1].data.url);
    expect(picture.headers.get("content-type")).toBe("image/png");
    expect(Buffer.from(await picture.arrayBuffer()).equals(bytes)).toBe(true);
    for (const place of [`@${seq}/0`, `@${seq}/2`, `@${seq + 1}/1`, "@0/1", "@99999/1", "@x/1"]) {
      expect((await server.get(`/threads/a b/files/${place}`)).body, place).toMatchObject({ code: "FILE_UNKNOWN" });
    }
    // An export has everything.
    expect(JSON.stringify((await server.get("/threads/a b/facts")).body)).toContain(file.data.base64);
  });

  test("more streams and more requests than allowed are refused with a time to wait", async () => {
    await using server = await startServer({ runner: guide(["Hi."]), maxStreams: 1, rate: { perSecond: 1, burst: 6 } });
    await server.post("/threads/t/runs", { input: "Go." }, { prefer: "wait=30" });
    const gone = new AbortController();
    await fetch(`${server.url}/v1/threads/t/events`, { headers: server.headers, signal: gone.signal });
    expect((await server.get("/threads/t/events")).body).toMatchObject({ status: 429, code: "TOO_MANY_STREAMS" });
    gone.abort();
    await expect.poll(async () => (await server.get("/me")).body.code).toBe("RATE_LIMITED");
    expect(Number((await server.get("/me")).headers.get("retry-after"))).toBeGreaterThan(0);
  });
});
