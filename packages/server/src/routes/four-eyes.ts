// Checks of an answer that go beyond the role: the digest that the person saw, and four eyes.

import { type Answer, BelayError } from "@belay/core";
import type { Call } from "../http/route.ts";
import { needRole } from "../login/login.ts";

/** An answer, with the digest of what the person saw. */
export type Said = Answer & { readonly digest?: string };

/** Refuses answers that come with a resume, each as if it came alone. */
export async function checkAnswers(call: Call, answers: Readonly<Record<string, Said>>): Promise<void> {
  for (const [request, { digest }] of Object.entries(answers)) {
    await unwitnessed(call, request);
    await sameDigest(call, request, digest);
  }
}

/** Refuses an answer from the person that started the run, if the server is set to four eyes. */
export async function unwitnessed({ runner, login, site }: Call, id: string): Promise<void> {
  if (site.selfApproval) return;
  const found = await runner.request(id);
  if (found === undefined) return;
  const { threadId, runId } = found.item;
  if ((await starterOf(runner, threadId, runId)) !== login.user) return;
  const words = `Request ${id} cannot be answered by ${login.user}, who started its run.`;
  const hint = "Another person must answer: this server has selfApproval: false. The request is still open.";
  throw new BelayError("ANSWER_FORBIDDEN", words, hint, { id, by: login.user, approvers: "another person" });
}

/** The person whose input began the run, or the first segment of it that has one. */
async function starterOf(runner: Call["runner"], threadId: string, runId: string): Promise<string | undefined> {
  for (let after = 0; ; ) {
    const { items, next } = await runner.journal(threadId, { after, limit: 1000 });
    for (const fact of items) {
      if (fact.runId !== runId || fact.type !== "message" || fact.message.origin !== "person") continue;
      const { by } = fact.message as { readonly by?: string };
      if (by !== undefined) return by;
    }
    if (next === undefined) return undefined;
    after = next;
  }
}

/** Refuses an approval of something else than the request asks for. */
export async function sameDigest({ runner }: Call, id: string, digest: string | undefined): Promise<void> {
  if (digest === undefined) return;
  const found = await runner.request(id);
  if (found === undefined || found.item.digest === digest) return;
  const problem = `it is for ${digest}, and the request is for ${found.item.digest ?? "nothing with a digest"}`;
  const words = `The answer to ${id} cannot be taken: ${problem}.`;
  throw new BelayError("ANSWER_INVALID", words, "Load the request again, and look at it.", { id, problem });
}

/**
 * Refuses an input that would answer a request of the thread, if this login may not answer it. A question that takes any input
 * as its answer (`onNewInput`) is meant for the person that chats.
 */
export async function checkSentAnswer(call: Call, whenAsked: string | undefined): Promise<void> {
  if (whenAsked === "answer") needRole(call.login, "approver");
  if (call.site.selfApproval || (whenAsked ?? "answer") !== "answer") return;
  const { interrupts = [] } = (await call.runner.look(call.params.t!)) ?? {};
  for (const { id: request, onNewInput } of interrupts) {
    if (whenAsked === "answer" || onNewInput === "answer") await unwitnessed(call, request);
  }
}
