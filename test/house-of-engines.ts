// The shape of the packages that dispatch threads on an engine, as test/house.ts has it for the other packages.

/** Rooms of each package: an adapter knows the core by its door `dispatch` alone. */
export const engineArrows: Record<"bullmq" | "dbos" | "restate", Record<string, readonly string[]>> = {
  bullmq: { "bullmq-dispatcher": [], index: ["bullmq-dispatcher"], testing: [] },
  dbos: {
    "keep-up": [],
    "depth-of": ["keep-up"],
    "dbos-dispatcher": ["depth-of", "keep-up"],
    index: ["dbos-dispatcher"],
    testing: [],
  },
  restate: {
    "add-with-resolvers": [],
    "restate-dispatcher": ["add-with-resolvers"],
    index: ["restate-dispatcher"],
    testing: [],
  },
};

/** Every name at the door of each package. */
export const engineDoors: Record<"bullmq" | "dbos" | "restate", Record<string, readonly string[]>> = {
  bullmq: { "index.ts": ["BullmqDispatcherOptions", "bullmqDispatcher"] },
  dbos: { "index.ts": ["DbosDispatcherOptions", "dbosDispatcher"] },
  restate: { "index.ts": ["RestateDispatcherOptions", "restateDispatcher"] },
};
