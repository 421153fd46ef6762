// The door for other front ends: what carries keys and signals to a session, without anything that draws.

export type { Key } from "./keys/decoder.ts";
export { KeyDecoder } from "./keys/decoder.ts";
export { InterruptToken } from "./keys/interrupt-token.ts";
export { sanitize, sanitizer } from "./terminal/sanitize.ts";
