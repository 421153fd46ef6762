export type { Append, Fault, ToolOptions } from "@belay/core/inside";
export { factProblems, faultyStore, isFact, moveOn, onPoint, threadOf, wrapStore } from "@belay/core/inside";
export { foldAll, foldProblems } from "./folds/fold-problems.ts";
export type { Witness } from "./session/asking-tool.ts";
export {
  answersFor,
  goOnToTheEnd,
  ORDERED,
  orderTool,
  stepsOf,
  toolOf,
  toolResult,
  witness,
} from "./session/asking-tool.ts";
export { factsOf } from "./session/facts-of.ts";
export { amount, happens, paying, pays, requestOf, waiting } from "./session/paying.ts";
export type { Heard, Kit, KitOptions } from "./session/session-kit.ts";
export {
  gate,
  heldStore,
  history,
  lastText,
  line,
  listen,
  openKit,
  said,
  settle,
  shown,
  unhandled,
  unpaired,
  until,
} from "./session/session-kit.ts";
export { verbTable } from "./session/verb-table.ts";
export type { BreakingWire, WireFault } from "./stores/breaking-wire.ts";
export { breakingWire } from "./stores/breaking-wire.ts";
export { eachStore } from "./stores/each-store.ts";
export { longCases, lossyCases } from "./stores/long-cases.ts";
export { openDatabase } from "./stores/open-database.ts";
export type { TestPool } from "./stores/open-pool.ts";
export { dropSchema, freshSchema, openPool } from "./stores/open-pool.ts";
export { redisCommands } from "./stores/redis-commands.ts";
export { service } from "./stores/services.ts";
export { damageRequest, sqliteFile } from "./stores/sqlite-file.ts";
export type { AnyAgent, Log, Speech } from "./trees/agent-tree.ts";
export {
  asker,
  doing,
  echo,
  enter,
  gated,
  hanging,
  lastWords,
  newLog,
  runs,
  talker,
  worker,
  wrong,
} from "./trees/agent-tree.ts";
export { mixedAnswer, mixedRepeatable, mixedTree } from "./trees/mixed-tree.ts";
export { randomTree } from "./trees/random-tree.ts";
