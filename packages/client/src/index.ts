export { foldThread, shownMessages, shownState } from "./fold-thread.ts";
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
