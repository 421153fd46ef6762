// Streams that are written to the response of Node itself, which @hono/node-server passes along as `outgoing`. Its own loop
// keeps a promise for every chunk until the stream ends: about a hundred bytes for each event and reader, which add up to
// hundreds of megabytes over a day of open pages.

interface Outgoing {
  readonly headersSent: boolean;
  readonly destroyed: boolean;
  writeHead(status: number, headers: Record<string, string>): unknown;
  flushHeaders?(): void;
  write(bytes: Uint8Array): boolean;
  end(): void;
  destroy(): void;
  on(event: "drain" | "close", listener: () => void): unknown;
}

/** Returns the response of Node if the server was called by @hono/node-server, and by no application in between. */
export function outgoingOf(more: readonly unknown[]): Outgoing | undefined {
  // An application that mounts the server passes its context, too, and may have headers of its own for the response.
  const [env, ...context] = more as readonly [{ readonly outgoing?: Outgoing }?];
  const outgoing = context.length === 0 ? env?.outgoing : undefined;
  return typeof outgoing?.writeHead === "function" && !outgoing.headersSent ? outgoing : undefined;
}

/** Writes a stream to `outgoing`. Returns the response that says so to @hono/node-server. */
export function sentTo(outgoing: Outgoing, { status, headers, body }: Response): Response {
  outgoing.writeHead(status, Object.fromEntries(headers));
  outgoing.flushHeaders?.();
  pump(outgoing, body!).catch(() => outgoing.destroy());
  const sent = new Response(null, { headers: { "x-hono-already-sent": "true" } });
  // Its light Response is written without a look at this header, until it is read from.
  void sent.body;
  return sent;
}

async function pump(outgoing: Outgoing, body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body.getReader();
  let resume = () => {};
  outgoing.on("drain", () => resume());
  outgoing.on("close", () => {
    reader.cancel().catch(() => {});
    resume();
  });
  for (;;) {
    const { done, value } = await reader.read();
    if (done || outgoing.destroyed) break;
    if (!outgoing.write(value)) await new Promise<void>((resolve) => (resume = resolve));
  }
  outgoing.end();
}
