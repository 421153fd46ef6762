// Everything that the author of a store needs. storeSuite() in @belay/core/testing certifies a store.

export type { Clock } from "./clock.ts";
export { systemClock } from "./clock.ts";
export type { ErrorCode } from "./error.ts";
export { BelayError, belayError, isBelayError } from "./error.ts";
export type { Line } from "./journal/codec.ts";
export type { SessionState } from "./lifecycle.ts";
export { isGone } from "./store/owner.ts";
export type {
  Append,
  Appended,
  Change,
  Command,
  Lease,
  Loaded,
  Parent,
  Past,
  RaisedRequest,
  RequestRow,
  Rest,
  RuleRow,
  Snapshot,
  Store,
  ThreadKey,
  ThreadRow,
} from "./store/store.ts";
export { beforeRest, isMovable } from "./store/store.ts";
export { fromText, toText } from "./store/text.ts";
