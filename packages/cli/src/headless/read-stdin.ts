// What is piped in, as text. Bounded: a prompt is no archive.

import { problem } from "../problem.ts";

const MOST_BYTES = 10 * 1024 * 1024;

export async function readStdin(stdin: AsyncIterable<Buffer | string> = process.stdin): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stdin) {
    const piece = Buffer.from(chunk as Buffer);
    bytes += piece.length;
    if (bytes > MOST_BYTES) throw problem("INPUT_TOO_LONG", { most: MOST_BYTES });
    chunks.push(piece);
  }
  return Buffer.concat(chunks).toString("utf8");
}
