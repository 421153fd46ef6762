export type { Agent, Checkpoint } from "./agent.ts";
export type { AgentOptions, AgentSettings } from "./chat/agent.ts";
export { agent } from "./chat/agent.ts";
export type { ModelTimeouts } from "./chat/call-model.ts";
export type { ContextBudget, InstructionsContext, InstructionsFunction } from "./chat/definition.ts";
export type { RetrySettings } from "./chat/retry.ts";
export type { Clock } from "./clock.ts";
export type { Content } from "./content.ts";
export { content } from "./content.ts";
export type { AgentDescription, GraphDescription, ToolDescription } from "./describe.ts";
export { describe } from "./describe-agent.ts";
export type { ErrorCode } from "./error.ts";
export { BelayError, isBelayError, UserInterrupt } from "./error.ts";
export type { BelayEvent, Draft, Fact } from "./event.ts";
export type { Drift, DriftReport } from "./fingerprint.ts";
export type { Graph, GraphBuilder, GraphOptions, NodeOptions } from "./graph/graph.ts";
export { graph } from "./graph/graph.ts";
export type { MermaidOptions } from "./graph/mermaid.ts";
export type { NodeContext } from "./graph/node.ts";
export { END, START } from "./graph/shape.ts";
export type { HookCall, HookInfo, Hooks, HooksGiven, ReplyInput } from "./hooks/hooks.ts";
export type { Answer, ApproveAnswer, RejectAnswer, RespondAnswer } from "./interrupt/answer.ts";
export { approve, reject, respond } from "./interrupt/answer.ts";
export type { Groups, Vote } from "./interrupt/decision.ts";
export type { Handle, Interrupt, RequestKind } from "./interrupt/interrupt.ts";
export type { Approval, Request, RequestOptions } from "./interrupt/request.ts";
export { customInterrupt, humanApproval, humanInput } from "./interrupt/request.ts";
export { rerun } from "./interrupt/rerun.ts";
export type { GraphInterrupt, InterruptData, InterruptView } from "./interrupt/view.ts";
export type { Json } from "./json.ts";
export type { PauseType, SessionState } from "./lifecycle.ts";
export type { Log, LogEntry } from "./log.ts";
export type {
  CallPart,
  Cut,
  FilePart,
  Finish,
  Message,
  OpaquePart,
  Outcome,
  Part,
  ProviderData,
  ReasoningPart,
  ResultPart,
  Role,
  TextPart,
  Usage,
} from "./message.ts";
export { messageText } from "./message.ts";
export type { AiSdkModel } from "./model/ai-sdk/shape.ts";
export type { FromAiSdkOptions } from "./model/from-ai-sdk.ts";
export { fromAiSdk } from "./model/from-ai-sdk.ts";
export type { Model, ModelEvent, ModelRequest, ModelSettings, ToolChoice, ToolSpec } from "./model/model.ts";
export type { Verdict } from "./permission/decide.ts";
export type { Permissions } from "./permission/permissions.ts";
export type { RememberedRule } from "./permission/remembered.ts";
export type { PermissionRule } from "./permission/rule.ts";
export type { Receipt } from "./runner/decide/ending.ts";
export type { ChangesOptions, ThreadChange } from "./runner/front/changes.ts";
export type { Hub, HubOptions, HubReply } from "./runner/front/hub.ts";
export { hub } from "./runner/front/hub.ts";
export type { DamagedRequest, Inbox, InboxFilter, InboxItem } from "./runner/front/inbox.ts";
export type { Look, OpenInterrupt } from "./runner/front/look-at-thread.ts";
export type { DecidedPage, DecidedRequest, FoundRequest, RequestsFilter } from "./runner/front/requests.ts";
export type { Runner } from "./runner/front/runner.ts";
export { createRunner } from "./runner/front/runner.ts";
export type { OpenOptions, RunnerOptions, StartOptions } from "./runner/front/runner-options.ts";
export type { Sent } from "./runner/front/send-to.ts";
export type { Session } from "./runner/front/session.ts";
export type { ThreadFilter, ThreadItem, ThreadPage } from "./runner/front/threads.ts";
export type { WorkOptions } from "./runner/front/work.ts";
export type { ChatOptions } from "./runner/given/chat-options.ts";
export type { Input, InputMessage } from "./runner/given/input.ts";
export type { LabelChange } from "./runner/given/label.ts";
export type {
  AnswerOptions,
  BreakpointOptions,
  DrainOptions,
  EffectsOptions,
  EndOptions,
  EnqueueOptions,
  EventOptions,
  InterruptOptions,
  JournalOptions,
  LookOptions,
  RemoveRuleOptions,
  RepairOptions,
  ResumeOptions,
  RulesOptions,
  RunOptions,
  SendOptions,
  WhereOptions,
} from "./runner/given/options.ts";
export type { ForkOptions } from "./runner/past/fork.ts";
export type { PruneOptions } from "./runner/past/prune.ts";
export type { Lost } from "./runner/past/repair.ts";
export type { Effect } from "./runner/read/effects.ts";
export type { HistoryPoint } from "./runner/read/history-points.ts";
export type { JournalPage } from "./runner/read/read-facts.ts";
export type { Run, RunResult, Started } from "./runner/read/run.ts";
export type { Waiting } from "./runner/thread/waiting.ts";
export { sanitizeMessages } from "./sanitize-messages.ts";
export type { JsonSchema, StandardSchema } from "./schema/schema.ts";
export { jsonSchema } from "./schema/schema.ts";
export type { AskOptions, StepContext } from "./steps/steps.ts";
export type { MemoryStoreOptions } from "./store/memory.ts";
export { memoryStore } from "./store/memory.ts";
export type { Store, ThreadRow } from "./store/store.ts";
export type { ToolContext } from "./tool/context.ts";
export type { ProcessExit, ProcessOutput, SpawnedProcess, SpawnOptions } from "./tool/spawn.ts";
export type { Tool, ToolOptions, ToolReturn } from "./tool/tool.ts";
export { tool } from "./tool/tool.ts";
export type { AgentToolOptions } from "./workflow/agent-tool.ts";
export { agentTool } from "./workflow/agent-tool.ts";
export type { CustomAgentOptions } from "./workflow/define-agent.ts";
export { defineAgent } from "./workflow/define-agent.ts";
export type { AgentContext, RunChildOptions } from "./workflow/live-agent.ts";
export type { LoopOptions } from "./workflow/loop.ts";
export { loop } from "./workflow/loop.ts";
export type { ParallelOptions } from "./workflow/parallel.ts";
export { parallel } from "./workflow/parallel.ts";
export type { SequentialOptions } from "./workflow/sequential.ts";
export { sequential } from "./workflow/sequential.ts";
export { ask, say } from "./workflow/speak.ts";
