// The rooms of packages/console/src, as data.

const words = ["texts", "look"];
const parts = [...words, "keys", "wire", "parts"];
const page = [...parts, "live", "story", "shell"];

/** A page knows the parts and the shell. Only the app knows all pages. */
export const consoleArrows: Record<string, readonly string[]> = {
  look: [],
  texts: ["look"],
  keys: [],
  // The way to the server: requests, bodies, queries.
  wire: [],
  // The one stream of a tab, and the fold of the thread that it follows.
  live: ["wire"],
  // A thread as rows to read and as a chart over time. Pure.
  story: [],
  parts: [...words, "keys", "wire"],
  // A graph as a drawing, of a run or of an agent.
  graph: parts,
  shell: [...parts, "live"],
  inbox: page,
  threads: [...page, "inbox"],
  thread: [...page, "graph", "inbox", "threads"],
  fork: page,
  agents: [...page, "graph"],
  permissions: page,
  app: [...page, "inbox", "threads", "thread", "fork", "agents", "permissions"],
  main: ["app", ...page],
  // Programs for Node: the seeded tour, and the browser that looks at it.
  demo: [],
  testing: ["demo", "texts"],
};
