/** The first keys that are read this soon were pressed before the terminal was ours. */
const EARLY_MS = 500;

/** Keys typed before the app came through the terminal, which made Enter a new line. `afterMs` counts from the first raw read. */
export function earlyKeys(bytes: Buffer, afterMs: number): Buffer {
  const early = afterMs < EARLY_MS && !bytes.includes(0x1b) && !bytes.includes(0x0d);
  return early ? Buffer.from(bytes.map((byte) => (byte === 0x0a ? 0x0d : byte))) : bytes;
}
