/** One after the other; what somebody else has put into words may lack its end. */
export function sentences(...parts: readonly (string | undefined)[]): string {
  return parts
    .flatMap((part) => part?.trim() || [])
    .map((part) => (/[.!?…:。！？]$/.test(part) ? part : `${part}.`))
    .join(" ");
}
