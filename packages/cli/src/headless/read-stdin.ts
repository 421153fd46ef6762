// Piped input, as text. Bounded: a prompt is no archive.

import { fstatSync } from "node:fs";
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

/** How long a pipe may take to its first byte before it counts as one without a writer. */
const FIRST_BYTE_MS = 1_000;

/**
 * Whether standard input is a file or a pipe of a shell; undefined if it is neither. The pipes of a Node program are sockets:
 * they are usually left open, and are read only if that is asked for.
 */
export function stdinKind(): "file" | "pipe" | undefined {
  try {
    const stat = fstatSync(0);
    return stat.isFile() ? "file" : stat.isFIFO() ? "pipe" : undefined;
  } catch {
    return undefined;
  }
}

/** Reads a pipe that may be a leftover of the program that started this one: `undefined` if nothing comes by it in time. */
export async function readPipe(stdin: NodeJS.ReadStream = process.stdin): Promise<string | undefined> {
  const begun = await new Promise<boolean>((resolve) => {
    const done = (isBegun: boolean) => {
      clearTimeout(timer);
      stdin.off("readable", heard).off("end", heard).off("error", heard);
      resolve(isBegun);
    };
    const heard = () => done(true);
    const timer = setTimeout(done, FIRST_BYTE_MS, false);
    stdin.on("readable", heard).on("end", heard).on("error", heard);
  });
  if (begun) return readStdin(stdin);
  stdin.destroy();
  return undefined;
}
