// A model without a provider.

import type { Model } from "@belay/core";

export function demoModel(): Model {
  return {
    id: "demo",
    async *stream() {
      yield { type: "text", text: "I am no real model: rules stand in for one." };
      yield { type: "finish", finish: "stop" };
    },
  };
}
