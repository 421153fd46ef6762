/** Joins sentences; a text from elsewhere may lack its full stop. */
export function sentences(...parts: readonly (string | undefined)[]): string {
  return parts
    .flatMap((part) => part?.trim() || [])
    .map((part) => (/[.!?…:。！？]$/.test(part) ? part : `${part}.`))
    .join(" ");
}
