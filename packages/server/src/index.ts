export type { Login, Role } from "./login/login.ts";
export type { Problem } from "./problem.ts";
export type { BelayServer, ServerLogEntry, ServerOptions } from "./server.ts";
export { belayServer } from "./server.ts";
export { toNext } from "./to-next.ts";
