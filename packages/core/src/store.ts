// Everything that the author of a store needs. storeSuite() in @belay/core/testing certifies a store.

export type { Clock } from "./clock.ts";
export { systemClock } from "./clock.ts";
export type { ErrorCode } from "./error.ts";
export { BelayError, belayError, isBelayError } from "./error.ts";
export type { Line } from "./journal/codec.ts";
export type { SessionState } from "./lifecycle.ts";
export type { Bus } from "./store/bus.ts";
export { inListOrder } from "./store/list-order.ts";
export { isGone } from "./store/owner.ts";
export type { ShardedStoreOptions } from "./store/sharded-store.ts";
export { shardedStore } from "./store/sharded-store.ts";
export type {
  Append,
  Appended,
  Change,
  Command,
  DecidedRow,
  DueThread,
  Lease,
  Listed,
  ListedRow,
  ListPlace,
  Loaded,
  Named,
  Parent,
  Past,
  RaisedRequest,
  RelayLine,
  RequestQuery,
  RequestRange,
  RequestRow,
  Rest,
  RuleRow,
  Snapshot,
  Store,
  ThreadKey,
  ThreadQuery,
  ThreadRow,
} from "./store/store.ts";
export { beforeRest, isMovable } from "./store/store.ts";
export { fromText, toText } from "./store/text.ts";
export { haveWords, wordsIn, wordsOf } from "./store/words.ts";
