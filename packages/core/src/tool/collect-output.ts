// Collects the output of a process up to a cap: its beginning and its end, with a visible note between them. The end is
// kept too because a command reports its failure there.

export interface Collected {
  add(chunk: Buffer | string): void;
  bytes(): Buffer;
}

export function collectOutput(maxBytes: number): Collected {
  const headRoom = Math.ceil(maxBytes / 2);
  const tailRoom = maxBytes - headRoom;
  const head: Buffer[] = [];
  let headBytes = 0;
  let headFull = false;
  const tail: Buffer[] = [];
  let tailBytes = 0;
  let dropped = 0;

  const addTail = (chunk: Buffer) => {
    if (chunk.length === 0) return;
    tail.push(chunk);
    tailBytes += chunk.length;
    while (tail.length > 0 && tailBytes - tail[0]!.length >= tailRoom) {
      const gone = tail.shift()!;
      tailBytes -= gone.length;
      dropped += gone.length;
    }
  };

  return {
    add(given) {
      const chunk = typeof given === "string" ? Buffer.from(given) : given;
      if (headFull) return addTail(chunk);
      const room = headRoom - headBytes;
      headFull = chunk.length > room;
      const cut = headFull ? characterStart(chunk, room, -1) : chunk.length;
      head.push(chunk.subarray(0, cut));
      headBytes += cut;
      addTail(chunk.subarray(cut));
    },
    bytes() {
      const rest = Buffer.concat(tail);
      const over = Math.max(0, rest.length - tailRoom);
      const start = over + dropped > 0 ? characterStart(rest, over, 1) : 0;
      const note = dropped + start > 0 ? `\n[… ${dropped + start} bytes left out …]\n` : "";
      return Buffer.concat([...head, Buffer.from(note), rest.subarray(start)]);
    },
  };
}

/** The nearest place, going by `step`, where a UTF-8 character begins. */
function characterStart(bytes: Buffer, at: number, step: 1 | -1): number {
  while (at >= 0 && at < bytes.length && (bytes[at]! & 0xc0) === 0x80) at += step;
  return Math.max(0, at);
}
