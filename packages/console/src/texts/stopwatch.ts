/** 00:42, or 1:02:03. */
export function stopwatch(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1_000));
  const [h, m] = [Math.floor(s / 3_600), Math.floor(s / 60) % 60];
  const two = (value: number) => String(value).padStart(2, "0");
  return h > 0 ? `${h}:${two(m)}:${two(s % 60)}` : `${two(m)}:${two(s % 60)}`;
}
