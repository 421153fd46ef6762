import type { Json } from "@belay/core";

/** Returns the output of a call as text; for a call that was cut off, everything it had reported. */
export function outputText(output: Json): string {
  if (output === null) return "";
  if (typeof output === "string") return output;
  const pieces =
    Array.isArray(output) && output.length > 0 ? (output as readonly Json[]).map(textOf) : [textOf(output)];
  return pieces.every((piece) => piece !== undefined) ? pieces.join("") : JSON.stringify(output, null, 2);
}

/** A process that a stop could not end. */
export interface Survivor {
  readonly pid: number;
  readonly command: string;
}

/** The processes that survived the stop of a call, as its output names them. */
export function survivorsIn(output: Json): readonly Survivor[] {
  const last = Array.isArray(output) ? (output as readonly Json[]).at(-1) : undefined;
  const { stillRunning } = (last ?? {}) as { readonly stillRunning?: Json };
  return Array.isArray(stillRunning) ? (stillRunning as unknown as readonly Survivor[]) : [];
}

function textOf(output: Json): string | undefined {
  if (typeof output !== "object" || output === null || Array.isArray(output)) return undefined;
  const survivors = survivorsIn([output]);
  if (survivors.length > 0) return survivors.map(({ pid, command }) => `[still running: ${pid} ${command}]\n`).join("");
  const { text } = output as { readonly text?: Json };
  return typeof text === "string" && Object.keys(output).length === 1 ? text : undefined;
}
