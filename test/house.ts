// The shape of the house, as data. house.test.ts holds the sources to it. Change the shape when a better one shows itself,
// and this page with it.

/** What everything may know: plain data and the words for it. */
const data = ["error", "clock", "json", "schema", "message", "lifecycle", "event", "interrupt"];

/** A room is a folder or a file of packages/core/src; it may import from itself and from the rooms named here. */
export const arrows: Record<string, readonly string[]> = {
  error: [],
  clock: ["error"],
  json: ["error"],
  schema: ["error", "json"],
  message: ["error", "json"],
  "sanitize-messages": ["message"],
  "history-problems": ["message"],
  lifecycle: ["error"],
  // Where tests may cut in; knows nothing, so that anything may have points.
  point: [],
  // Modules of Node, opened late.
  "built-in": [],
  interrupt: ["error", "clock", "json", "schema", "message", "lifecycle"],
  event: ["error", "json", "message", "lifecycle", "interrupt"],
  journal: ["error", "json", "message", "lifecycle", "event", "interrupt"],
  // What an agent stands on, and what it is: known to whatever runs, and knowing only data.
  frame: [...data, "journal"],
  agent: [...data, "frame"],
  model: ["error", "clock", "json", "schema", "message"],
  tool: [...data, "journal", "frame", "point", "built-in"],
  // The loop never saves: it knows neither store nor runner.
  chat: [...data, "journal", "frame", "agent", "model", "tool", "point", "history-problems"],
  store: ["error", "clock", "json", "lifecycle", "journal"],
  runner: [...data, "journal", "frame", "agent", "store", "point", "built-in"],
  testing: [
    ...data,
    "point",
    "history-problems",
    "journal",
    "frame",
    "agent",
    "model",
    "tool",
    "chat",
    "store",
    "runner",
    "index",
  ],
  index: [...data, "sanitize-messages", "agent", "model", "tool", "chat", "store", "runner"],
};

/** Import rings between files that we accept: the files in order, joined by " > ", and why. */
export const cycles: Record<string, string> = {};

/** Every name at each door of the package. */
export const doors: Record<string, readonly string[]> = {
  "index.ts": [
    "Agent",
    "AgentOptions",
    "AgentSettings",
    "BelayError",
    "BelayEvent",
    "Clock",
    "Draft",
    "ErrorCode",
    "Fact",
    "Handle",
    "Input",
    "Interrupt",
    "InterruptOptions",
    "Json",
    "Message",
    "Model",
    "ModelEvent",
    "ModelRequest",
    "ModelTimeouts",
    "Part",
    "PauseType",
    "Receipt",
    "ResumeOptions",
    "Run",
    "RunResult",
    "Runner",
    "RunnerOptions",
    "Session",
    "SessionState",
    "Store",
    "Tool",
    "ToolContext",
    "Usage",
    "UserInterrupt",
    "agent",
    "createRunner",
    "fromAiSdk",
    "jsonSchema",
    "memoryStore",
    "messageText",
    "sanitizeMessages",
    "tool",
  ],
  "testing/index.ts": [
    "FakeClock",
    "ScriptedModel",
    "ScriptedModelOptions",
    "ScriptedPart",
    "ScriptedTurn",
    "StoreCase",
    "StoreCaseName",
    "StoreSuiteOptions",
    "StoreUnderTest",
    "fakeClock",
    "promptProblems",
    "scriptedModel",
    "storeSuite",
  ],
};
