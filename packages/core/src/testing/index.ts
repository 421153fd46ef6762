export type { FakeClock } from "./fake-clock.ts";
export { fakeClock } from "./fake-clock.ts";
export { promptProblems } from "./providers/render.ts";
export type { ScriptedModel, ScriptedModelOptions, ScriptedPart, ScriptedTurn } from "./scripted-model.ts";
export { scriptedModel } from "./scripted-model.ts";
export type { StoreUnderTest } from "./store-cases/bench.ts";
export type { StoreCase, StoreCaseName, StoreSuiteOptions } from "./store-suite.ts";
export { storeSuite } from "./store-suite.ts";
