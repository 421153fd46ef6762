// The shape of the server, as test/house.ts has it for the other packages.

/** Rooms of packages/server/src, which knows the core by its doors only, and the rooms that each may import. */
export const serverArrows: Record<string, readonly string[]> = {
  problem: [],
  // The sender of a request.
  login: ["problem"],
  // Requests, replies and streams of any route.
  http: ["problem", "login"],
  // The table of routes, independent of its mount point.
  routes: ["problem", "login", "http"],
  openapi: ["http", "routes"],
  runners: [],
  // Generated pages, and the file that serves them.
  "console-assets.d": [],
  "console-assets": [],
  pages: ["problem", "console-assets"],
  "server-options": ["login", "http", "runners"],
  server: ["problem", "login", "http", "routes", "openapi", "runners", "pages", "server-options"],
  "to-next": ["server"],
  index: ["problem", "login", "server", "server-options", "to-next"],
  // A server on a port, and one in a process of its own; for tests only.
  testing: ["server", "server-options"],
};

/** Every name at the door of packages/server. */
export const serverDoors: Record<string, readonly string[]> = {
  "index.ts": ["BelayServer", "Login", "Problem", "Role", "ServerLogEntry", "ServerOptions", "belayServer", "toNext"],
};

/** Files that a build makes and that are not in the repository. */
export const generated: readonly string[] = ["packages/server/src/console-assets.js"];
