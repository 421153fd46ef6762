export type { Login, Role } from "./login/login.ts";
export type { Problem } from "./problem.ts";
export type { BelayServer } from "./server.ts";
export { belayServer } from "./server.ts";
export type { ServerLogEntry, ServerOptions } from "./server-options.ts";
export { toNext } from "./to-next.ts";
