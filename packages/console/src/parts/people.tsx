import { SeenText } from "./seen-text.tsx";

export function Avatar({ name, small = false }: { name: string; small?: boolean }) {
  const first = [...name.replace(/^[^\p{L}\p{N}]+/u, "")][0] ?? "?";
  return (
    <span className={small ? "avatar avatar-sm" : "avatar"} title={name} aria-hidden="true">
      {first.toUpperCase()}
    </span>
  );
}

export function Person({ name }: { name: string }) {
  return (
    <span className="medium">
      <SeenText text={name} />
    </span>
  );
}

/** One pip for each person who must approve. */
export function Pips({ have, need }: { have: number; need: number }) {
  return (
    <span className="pips" role="img" aria-label={`${have} / ${need}`}>
      {Array.from({ length: Math.min(need, 12) }, (_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: all pips are alike.
        <i key={at} className={at < have ? "on" : ""} />
      ))}
    </span>
  );
}
