// The fields that a schema asks for: choices as choices, numbers as numbers, objects as a small form, anything else as JSON.

import type { Json } from "@belay/core";
import { useId } from "react";
import { isObject } from "../parts/json.tsx";
import { SeenText } from "../parts/seen-text.tsx";
import { useTexts } from "../texts/texts.ts";

type Schema = Readonly<Record<string, Json>>;

interface FormProps {
  readonly schema: Json | undefined;
  /** Choices that the asker offers without insisting on them. */
  readonly offers: readonly string[];
  readonly value: Json | undefined;
  onValue(value: Json | undefined): void;
}

export function AnswerForm({ schema, offers, value, onValue }: FormProps) {
  const t = useTexts();
  if (!isObject(schema)) return <TextAnswer offers={offers} value={value} onValue={onValue} />;
  if (schema.type === "object" && isObject(schema.properties)) {
    const given = isObject(value) ? value : {};
    const required = Array.isArray(schema.required) ? schema.required : [];
    return (
      <div className="grid gap-3">
        {Object.entries(schema.properties).map(([name, inner]) => (
          <One
            key={name}
            label={`${String((inner as Schema).title ?? name)}${required.includes(name) ? "" : ` (${t.card.optional})`}`}
            hint={typeof (inner as Schema).description === "string" ? String((inner as Schema).description) : undefined}
            schema={inner as Schema}
            value={given[name]}
            onValue={(next) => {
              const { [name]: _, ...rest } = given;
              onValue(next === undefined ? rest : { ...rest, [name]: next });
            }}
          />
        ))}
      </div>
    );
  }
  return <One label={t.card.yourAnswer} hint={undefined} schema={schema} value={value} onValue={onValue} />;
}

/** The answer that the schema needs is complete enough to send. */
export function isAnswered(schema: Json | undefined, value: Json | undefined): boolean {
  if (!isObject(schema)) return typeof value === "string" ? value.trim() !== "" : value !== undefined;
  if (schema.type !== "object") return value !== undefined && value !== "";
  const required = Array.isArray(schema.required) ? schema.required : [];
  return required.every((name) => isObject(value) && value[String(name)] !== undefined && value[String(name)] !== "");
}

function TextAnswer({ offers, value, onValue }: Omit<FormProps, "schema">) {
  const t = useTexts();
  const id = useId();
  return (
    <div className="grid gap-2">
      {offers.length > 0 && (
        <div className="row flex-wrap">
          {offers.map((offer) => (
            <button
              key={offer}
              type="button"
              className={`btn ${value === offer ? "btn-primary" : ""}`}
              aria-pressed={value === offer}
              onClick={() => onValue(offer)}
            >
              <SeenText text={offer} />
            </button>
          ))}
        </div>
      )}
      <label className="label" htmlFor={id}>
        {t.card.yourAnswer}
      </label>
      <textarea
        id={id}
        data-answer
        className="textarea"
        rows={2}
        value={typeof value === "string" ? value : ""}
        onChange={(event) => onValue(event.target.value === "" ? undefined : event.target.value)}
      />
    </div>
  );
}

interface OneProps {
  readonly label: string;
  readonly hint: string | undefined;
  readonly schema: Schema;
  readonly value: Json | undefined;
  onValue(value: Json | undefined): void;
}

function One({ label, hint, schema, value, onValue }: OneProps) {
  const t = useTexts();
  const id = useId();
  const words = (
    <>
      <span className="label">
        <SeenText text={label} />
      </span>
      {hint !== undefined && (
        <span className="small dim">
          <SeenText text={hint} />
        </span>
      )}
    </>
  );
  const choices = Array.isArray(schema.enum) ? schema.enum : schema.type === "boolean" ? [true, false] : undefined;
  if (choices !== undefined && choices.length <= 8) {
    return (
      <fieldset className="grid gap-1">
        <legend className="grid">{words}</legend>
        <div className="row flex-wrap">
          {choices.map((choice) => (
            <label key={String(choice)} className="btn">
              <input
                type="radio"
                className="radio"
                data-answer
                name={id}
                checked={value === choice}
                onChange={() => onValue(choice)}
              />
              {schema.type === "boolean" ? (
                choice === true ? (
                  t.card.yes
                ) : (
                  t.card.no
                )
              ) : (
                <SeenText text={String(choice)} />
              )}
            </label>
          ))}
        </div>
      </fieldset>
    );
  }
  if (schema.type === "number" || schema.type === "integer") {
    return (
      <label className="grid gap-1">
        {words}
        <input
          className="input mono max-w-[240px]"
          data-answer
          type="number"
          step={schema.type === "integer" ? 1 : "any"}
          min={typeof schema.minimum === "number" ? schema.minimum : undefined}
          max={typeof schema.maximum === "number" ? schema.maximum : undefined}
          value={typeof value === "number" ? value : ""}
          onChange={(event) => onValue(event.target.value === "" ? undefined : Number(event.target.value))}
        />
      </label>
    );
  }
  if (schema.type === "string") {
    return (
      <label className="grid gap-1">
        {words}
        <textarea
          className="textarea"
          data-answer
          rows={1}
          value={typeof value === "string" ? value : ""}
          onChange={(event) => onValue(event.target.value === "" ? undefined : event.target.value)}
        />
      </label>
    );
  }
  return <JsonAnswer words={words} value={value} onValue={onValue} />;
}

function JsonAnswer({
  words,
  value,
  onValue,
}: {
  words: React.ReactNode;
  value: Json | undefined;
  onValue(value: Json | undefined): void;
}) {
  const t = useTexts();
  const text =
    typeof value === "string" && value.startsWith("\u0000")
      ? value.slice(1)
      : value === undefined
        ? ""
        : JSON.stringify(value);
  return (
    <label className="grid gap-1">
      {words}
      <textarea
        className="textarea mono"
        data-answer
        rows={3}
        placeholder={t.card.asJson}
        defaultValue={text}
        onChange={(event) => {
          try {
            onValue(JSON.parse(event.target.value) as Json);
          } catch {
            onValue(undefined);
          }
        }}
      />
    </label>
  );
}
