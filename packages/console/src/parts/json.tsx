// JSON as people read it: keys quiet, values loud. One line for a call, many for a look inside.

import type { Json } from "@belay/core";
import { type ReactNode, useMemo } from "react";
import { SeenText } from "./seen-text.tsx";

const MOST_IN_LINE = 240;

type Obj = { readonly [key: string]: Json };

export function isObject(value: Json | undefined): value is Obj {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `{ order: "B", euros: 90 }` in one line; with `ran`, changed values beside the ones that were asked for. */
export function JsonLine({ value, ran }: { value: Json | undefined; ran?: Json | undefined }) {
  if (value === undefined) return null;
  if (!isObject(value)) return <SeenText text={short(value)} />;
  const keys = [...new Set([...Object.keys(value), ...(isObject(ran) ? Object.keys(ran) : [])])];
  if (keys.length === 0) return <span className="k">{"{ }"}</span>;
  let room = MOST_IN_LINE;
  const parts: ReactNode[] = [];
  for (const [at, key] of keys.entries()) {
    if (room <= 0) {
      parts.push(<span key="…">…</span>);
      break;
    }
    const was = short(value[key], room);
    const now = isObject(ran) ? short(ran[key], room) : was;
    room -= key.length + was.length;
    parts.push(
      <span key={key}>
        <span className="k">
          <SeenText text={key} />
          {": "}
        </span>
        {was === now ? (
          <SeenText text={was} />
        ) : (
          <>
            <span className="was">
              <SeenText text={was} />
            </span>{" "}
            <span className="now">
              <SeenText text={now} />
            </span>
          </>
        )}
        {at < keys.length - 1 && <span className="k">, </span>}
      </span>,
    );
  }
  return (
    <>
      <span className="k">{"{ "}</span>
      {parts}
      <span className="k">{" }"}</span>
    </>
  );
}

function short(value: Json | undefined, most = MOST_IN_LINE): string {
  if (value === undefined) return "–";
  const text = JSON.stringify(value);
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** A value as one person reads it: text without quotes if it is plain, JSON otherwise. */
export function JsonValue({ value }: { value: Json | undefined }) {
  return (
    <SeenText text={typeof value === "string" ? JSON.stringify(value) : (JSON.stringify(value, undefined, 2) ?? "–")} />
  );
}

export function JsonBlock({ value }: { value: Json | undefined }) {
  const text = useMemo(
    () => (typeof value === "string" ? value : (JSON.stringify(value, undefined, 2) ?? "–")),
    [value],
  );
  return (
    <pre className="code" tabIndex={0}>
      <SeenText text={text} />
    </pre>
  );
}
