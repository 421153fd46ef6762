import type { Json } from "@belay/core";

/** What a call gave, as text; of one that was cut off, all that it had told. */
export function outputText(output: Json): string {
  if (output === null) return "";
  if (typeof output === "string") return output;
  const pieces =
    Array.isArray(output) && output.length > 0 ? (output as readonly Json[]).map(textOf) : [textOf(output)];
  return pieces.every((piece) => piece !== undefined) ? pieces.join("") : JSON.stringify(output, null, 2);
}

function textOf(output: Json): string | undefined {
  if (typeof output !== "object" || output === null || Array.isArray(output)) return undefined;
  const { text } = output as { readonly text?: Json };
  return typeof text === "string" && Object.keys(output).length === 1 ? text : undefined;
}
