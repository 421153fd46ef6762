export { anthropicProblems, openAiProblems } from "@belay/core/inside";
export { by, events, fake, finishV2, finishV3, message, request, sent, signal, text, user } from "./fake-model.ts";
export { openAiResponsesProblems } from "./openai-responses.ts";
export type { WireReply, WireServer, WireStep } from "./wire-server.ts";
export { wireServer } from "./wire-server.ts";
