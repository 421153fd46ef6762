export { type EngineKit, engineCases } from "./engine-cases.ts";
export { type EngineSettings, openDispatcher } from "./open-dispatcher.ts";
