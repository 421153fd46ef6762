// The arguments, first and large: one cell for each, as they would run. In edit mode a cell is a field.

import type { Json } from "@belay/core";
import { useId } from "react";
import { Icon } from "../parts/icon.tsx";
import { isObject, JsonValue } from "../parts/json.tsx";
import { SeenText } from "../parts/seen-text.tsx";
import { useTexts } from "../texts/texts.ts";

/** The text of each field while a person edits. */
export type Edits = Readonly<Record<string, string>>;

const LONG = 48;

const isLong = (value: Json | undefined) =>
  typeof value === "string" ? value.length > LONG || value.includes("\n") : JSON.stringify(value ?? null).length > LONG;

export function textOfValue(value: Json | undefined): string {
  return typeof value === "string" ? value : (JSON.stringify(value, undefined, 2) ?? "");
}

/** Returns the value of a text: text stays text, everything else is JSON. */
export function valueOfText(text: string, was: Json | undefined): { ok: true; value: Json } | { ok: false } {
  if (typeof was === "string") return { ok: true, value: text };
  try {
    return { ok: true, value: JSON.parse(text) as Json };
  } catch {
    return { ok: false };
  }
}

/** The arguments with the edits in them; `bad` names the fields that cannot be read, `changed` those that differ. */
export function withEdits(
  args: Json | undefined,
  edits: Edits,
): { args: Json; bad: readonly string[]; changed: readonly string[] } {
  const next: Record<string, Json> = { ...(isObject(args) ? args : {}) };
  const bad: string[] = [];
  const changed: string[] = [];
  for (const [key, text] of Object.entries(edits)) {
    const was = isObject(args) ? args[key] : undefined;
    const read = valueOfText(text, was);
    if (!read.ok) {
      bad.push(key);
      continue;
    }
    if (JSON.stringify(read.value) !== JSON.stringify(was)) changed.push(key);
    next[key] = read.value;
  }
  return { args: next, bad, changed };
}

interface GridProps {
  readonly args: Json | undefined;
  readonly edits: Edits | undefined;
  onEdit(edits: Edits): void;
}

export function ArgsGrid({ args, edits, onEdit }: GridProps) {
  const t = useTexts();
  if (!isObject(args)) {
    return (
      <div className="arg-grid">
        <div className="wide">
          <span className="args">
            <JsonValue value={args ?? null} />
          </span>
        </div>
      </div>
    );
  }
  const keys = Object.keys(args);
  if (keys.length === 0) return <p className="faint">{t.card.noArgs}</p>;
  return (
    <div className="arg-grid">
      {keys.map((key) =>
        edits === undefined ? (
          <div key={key} className={isLong(args[key]) ? "wide" : "short"}>
            <span className="label">
              <SeenText text={key} />
            </span>
            <span className="args whitespace-pre-wrap">
              {typeof args[key] === "string" && isLong(args[key]) ? (
                <SeenText text={args[key]} />
              ) : (
                <JsonValue value={args[key]} />
              )}
            </span>
          </div>
        ) : (
          <Field
            key={key}
            name={key}
            was={args[key]}
            text={edits[key] ?? textOfValue(args[key])}
            onText={(text) => onEdit({ ...edits, [key]: text })}
          />
        ),
      )}
    </div>
  );
}

function Field({
  name,
  was,
  text,
  onText,
}: {
  name: string;
  was: Json | undefined;
  text: string;
  onText(text: string): void;
}) {
  const t = useTexts();
  const id = useId();
  const isBad = !valueOfText(text, was).ok;
  const isChanged = text !== textOfValue(was);
  const isWide = isLong(was);
  const className = `mono ${isBad ? "is-bad" : isChanged ? "is-changed" : ""}`;
  return (
    <div className={isWide ? "wide" : ""}>
      <label className="label" htmlFor={id}>
        <SeenText text={name} />
      </label>
      {typeof was === "boolean" ? (
        <select
          id={id}
          className={`select ${isChanged ? "is-changed" : ""}`}
          value={text}
          onChange={(event) => onText(event.target.value)}
        >
          <option value="true">true</option>
          <option value="false">false</option>
        </select>
      ) : isWide ? (
        <textarea
          id={id}
          className={`textarea ${className}`}
          rows={Math.min(10, text.split("\n").length + 1)}
          value={text}
          onChange={(event) => onText(event.target.value)}
        />
      ) : (
        <input id={id} className={`input ${className}`} value={text} onChange={(event) => onText(event.target.value)} />
      )}
      <span className="small faint">
        {isBad ? (
          <span className="fg-fail row gap-1">
            <Icon name="warning" small />
            {t.card.notJson}
          </span>
        ) : isChanged ? (
          <>
            {t.card.was} <del className="mono">{textOfValue(was).slice(0, 80)}</del>
          </>
        ) : (
          t.card.asAsked
        )}
      </span>
    </div>
  );
}
