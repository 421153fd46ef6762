export type { Flaw } from "./memory-engine.ts";
export { memoryEngine } from "./memory-engine.ts";
