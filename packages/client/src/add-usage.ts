import type { Usage } from "@belay/core";

export function addUsage(a: Usage | undefined, b: Usage | undefined): Usage {
  const sum = (key: keyof Usage) => (a?.[key] ?? 0) + (b?.[key] ?? 0);
  const [cachedInputTokens, reasoningTokens] = [sum("cachedInputTokens"), sum("reasoningTokens")];
  return {
    inputTokens: sum("inputTokens"),
    outputTokens: sum("outputTokens"),
    ...(cachedInputTokens > 0 && { cachedInputTokens }),
    ...(reasoningTokens > 0 && { reasoningTokens }),
  };
}
