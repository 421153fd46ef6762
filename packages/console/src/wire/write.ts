// The writes of the pages. Each returns the record of the server.

import { Problem } from "./problem.ts";
import { request, threadPath } from "./request.ts";
import type { Effect, Json, Receipt, Verdict } from "./shapes.ts";

/** Names one run and one segment, so that a late press cannot hit a later one. */
export interface Guard {
  readonly runId?: string;
  readonly segment?: number;
}

export interface StopOptions {
  readonly mode?: "now" | "after-model" | "after-tools";
  readonly reason?: string;
  readonly message?: string;
  readonly rollbackPartial?: boolean;
  readonly requests?: "withdraw" | "keep";
  readonly force?: boolean;
}

export const stop = (threadId: string, guard: Guard, options: StopOptions = {}) =>
  request<Receipt>(threadPath(threadId, "/interrupt"), { body: { ...guard, ...options }, wait: 30 });

export const pause = (threadId: string, guard: Guard) =>
  request<Receipt>(threadPath(threadId, "/pause"), { body: { ...guard } });

export const terminate = (threadId: string, guard: Guard) =>
  request<void>(threadPath(threadId, "/terminate"), { body: { ...guard } });

export interface ResumeBody extends Guard {
  readonly input?: string;
  readonly state?: Readonly<Record<string, Json>>;
  readonly drift?: "warn" | "refuse";
  readonly mode?: "continue" | "rethink";
}

export const resume = (threadId: string, body: ResumeBody) =>
  request<{ runId: string; segment: number }>(threadPath(threadId, "/resume"), { body });

export interface Sent {
  readonly how?: string;
  readonly runId?: string;
  readonly id: string;
}

export const send = (threadId: string, input: string, whenRunning?: "steer" | "enqueue" | "interrupt") =>
  request<Sent>(threadPath(threadId, "/send"), { body: { input, ...(whenRunning && { whenRunning }) } });

export const withdraw = (threadId: string, id: string) =>
  request<void>(threadPath(threadId, `/waiting/${encodeURIComponent(id)}`), { method: "DELETE" });

export type AnswerBody =
  | {
      readonly type: "approve";
      readonly args?: Json;
      readonly note?: string;
      readonly remember?: Json;
      readonly digest?: string;
    }
  | { readonly type: "reject"; readonly reason: string }
  | { readonly type: "respond"; readonly value: Json };

export const answer = (id: string, body: AnswerBody, key: string) =>
  request<{ open: number }>(`/requests/${encodeURIComponent(id)}/answer`, { body, key });

/** Answers each on its own: a refused one stops no other. */
export async function answerMany(
  answers: readonly (AnswerBody & { readonly id: string })[],
): Promise<readonly { readonly id: string; readonly problem: Problem | undefined }[]> {
  const { results } = await request<{ results: readonly { id: string; problem?: Record<string, Json> }[] }>(
    "/requests/answers",
    { body: { answers } },
  );
  return results.map(({ id, problem }) => ({
    id,
    problem: problem === undefined ? undefined : new Problem(Number(problem.status), problem),
  }));
}

export const fork = (threadId: string, point: { readonly at: number } | { readonly before: string }) =>
  request<{ threadId: string; effects: readonly Effect[] }>(threadPath(threadId, "/fork"), { body: point });

export const start = (agent: string | undefined, input: string) =>
  request<{ thread: { threadId: string } }>("/threads", { body: { ...(agent && { agent }), input } });

export const label = (
  threadId: string,
  body: { readonly title?: string | null; readonly labels?: Readonly<Record<string, string | null>> },
) => request<void>(threadPath(threadId), { method: "PATCH", body });

export const repair = (threadId: string) =>
  request<{ threadId: string; lost: { from: number; facts?: number } }>(threadPath(threadId, "/repair"), { body: {} });

export const breakpoint = (
  threadId: string,
  body: { readonly node: string; readonly at: "before" | "after"; readonly stop: boolean },
) => request<void>(threadPath(threadId, "/breakpoints"), { method: "PUT", body });

export const tryPermission = (threadId: string, tool: string, args: Json) =>
  request<Verdict>(threadPath(threadId, "/permission"), { body: { tool, args } });

export const removeRule = (id: string, threadId?: string) =>
  request<void>(
    threadId === undefined
      ? `/rules/${encodeURIComponent(id)}`
      : threadPath(threadId, `/rules/${encodeURIComponent(id)}`),
    { method: "DELETE" },
  );

export const logIn = (token: string) => request<unknown>("/session", { body: { token } });
export const logOut = () => request<void>("/session", { method: "DELETE" });
