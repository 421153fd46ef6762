// Inputs of tools, written out. One that depends on the files is checked here too: a call that cannot work is returned to the
// model at once, and no person is asked for it.

import { jsonSchema, type Tool } from "@belay/core";

type Schema = Tool["input"];

const properties = {
  text: (description: string, more: object = {}) => ({ type: "string", description, ...more }),
  count: (description: string, maximum: number) => ({ type: "integer", description, minimum: 1, maximum }),
  flag: (description: string) => ({ type: "boolean", description }),
};
export const { text, count, flag } = properties;

export const path = text("Relative to the folder.", { minLength: 1, maxLength: 4096 });

export function object<T>(required: Record<string, object>, optional: Record<string, object> = {}) {
  return jsonSchema<T>({
    type: "object",
    properties: { ...required, ...optional },
    required: Object.keys(required),
    additionalProperties: false,
  });
}

/** `schema`, and what `check` throws. */
export function checked<S extends Schema>(schema: S, check: (args: Output<S>) => Promise<unknown>): S {
  const standard = schema["~standard"];
  const validate = async (value: unknown) => {
    const result = await standard.validate(value);
    if (result.issues !== undefined) return result;
    try {
      await check(result.value as Output<S>);
      return result;
    } catch (error) {
      return { issues: [{ message: error instanceof Error ? error.message : String(error) }] };
    }
  };
  return { ...schema, "~standard": { ...standard, validate } };
}

type Output<S extends Schema> = NonNullable<S["~standard"]["types"]>["output"];
