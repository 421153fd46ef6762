// The shape of the house, as data. house.test.ts holds the sources to it. Change the shape when a better one shows itself,
// and this page with it.

const kernel = ["error", "clock", "json", "schema", "message", "lifecycle", "event", "interrupt"];

/** A room is a folder or a file of packages/core/src; it may import from itself and from the rooms named here. */
export const arrows: Record<string, readonly string[]> = {
  error: [],
  clock: ["error"],
  json: ["error"],
  schema: ["error", "json"],
  message: ["error", "json"],
  lifecycle: ["error"],
  interrupt: ["error", "clock", "json", "schema", "message", "lifecycle"],
  event: ["error", "json", "message", "lifecycle", "interrupt"],
  agent: kernel,
  model: ["error", "clock", "json", "schema", "message"],
  tool: [...kernel, "agent"],
  chat: [...kernel, "agent", "model", "tool"],
  journal: ["error", "json", "message", "lifecycle", "event", "interrupt"],
  store: ["error", "clock", "json", "journal"],
  runner: [...kernel, "agent", "model", "tool", "chat", "journal", "store"],
  testing: [...kernel, "agent", "model", "tool", "chat", "journal", "store", "runner", "index"],
  index: [...kernel, "agent", "model", "tool", "chat", "journal", "store", "runner"],
};

/** Import rings between files that we accept: the files in order, joined by " > ", and why. */
export const cycles: Record<string, string> = {};

/** Every name at each door of the package. */
export const doors: Record<string, readonly string[]> = {
  "index.ts": [],
  "testing/index.ts": [],
};
