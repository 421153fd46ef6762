export type { Answered, Client, Me, ThreadFilter, ThreadItem } from "./connect.ts";
export { connect } from "./connect.ts";
export type { Change, ConnectionEvent, LiveEvent, ResetEvent, StreamEvent, StreamOptions } from "./events.ts";
export { isThreadEvent } from "./events.ts";
export { foldThread, shownMessages, shownState } from "./fold-thread.ts";
export type { InboxFilter, InboxPage, InboxQuery } from "./inbox.ts";
export { approve, reject, respond } from "./inbox.ts";
export type { ConnectOptions } from "./request.ts";
export { RequestError } from "./request.ts";
export type { ClientResult, ClientRun, ClientThread } from "./thread.ts";
export type {
  AgentView,
  ApprovalView,
  Breakpoint,
  CallView,
  Decision,
  DraftAnswer,
  DraftProgress,
  DraftView,
  ErrorRecord,
  LateView,
  OpenInterrupt,
  Outcome,
  RequestView,
  RunView,
  SegmentView,
  StopView,
  ThreadView,
  WaitingInput,
} from "./thread-view.ts";
export { emptyThread } from "./thread-view.ts";
