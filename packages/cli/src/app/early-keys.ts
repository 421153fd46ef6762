/** The first keys that are read this soon were pressed before the terminal was ours. */
const EARLY_MS = 500;

/** What was typed before came through the terminal: Enter was made a new line. `afterMs` is since it was ours. */
export function earlyKeys(bytes: Buffer, afterMs: number): Buffer {
  const early = afterMs < EARLY_MS && !bytes.includes(0x1b) && !bytes.includes(0x0d);
  return early ? Buffer.from(bytes.map((byte) => (byte === 0x0a ? 0x0d : byte))) : bytes;
}
