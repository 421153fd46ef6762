import type { EngineKit } from "@belay/testkit/engines";

/** Restate as the tests of this package use it, and the bounds that its README states. */
export const kit: EngineKit = {
  engine: "restate",
  latenessMs: 1_000,
  takeoverMs: 1_000,
  order: "fifo",
  stored: async (settings) => {
    const { admin } = settings as { admin: string };
    const response = await fetch(`${admin}/query`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ query: "SELECT * FROM sys_invocation" }),
    });
    return response.text();
  },
};
