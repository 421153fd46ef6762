export { type EngineKit, engineCases } from "./engine-cases.ts";
