// Server-sent events by fetch: the page can send headers and a cursor, and ends the stream by a signal.

import { basePath } from "../wire/base.ts";
import { Problem } from "../wire/problem.ts";

export interface Block {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

/** Yields the blocks of a stream until it ends. Throws `Problem` if the server refuses, or if the line breaks. */
export async function* readStream(
  path: string,
  cursor: number | undefined,
  signal: AbortSignal,
): AsyncGenerator<Block> {
  const headers: Record<string, string> = { accept: "text/event-stream", "x-belay": "1" };
  if (cursor !== undefined) headers["last-event-id"] = String(cursor);
  const offline = () => new Problem(0, { detail: "The connection was lost." });
  const response = await fetch(`${basePath}/v1${path}`, { headers, signal, credentials: "same-origin" }).catch(() => {
    throw offline();
  });
  if (!response.ok) throw new Problem(response.status, await response.json().catch(() => ({})));
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(() => {
        throw offline();
      });
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop()!;
      for (const text of blocks) {
        const block = parseBlock(text);
        if (block !== undefined) yield block;
      }
    }
  } finally {
    // A reader that leaves early lets go of the connection.
    await reader.cancel().catch(() => {});
  }
}

/** Undefined for a comment, such as a ping, and for a block without data. */
export function parseBlock(text: string): Block | undefined {
  let id: string | undefined;
  let event = "message";
  const data: string[] = [];
  for (const line of text.split("\n")) {
    const at = line.indexOf(":");
    if (at === 0) continue;
    const name = at === -1 ? line : line.slice(0, at);
    const value = at === -1 ? "" : line.slice(at + 1).replace(/^ /, "");
    if (name === "id") id = value;
    else if (name === "event") event = value;
    else if (name === "data") data.push(value);
  }
  return data.length === 0 && event === "message" ? undefined : { id, event, data: data.join("\n") };
}
