export type { Action } from "./action.ts";
export type { Piece, Turn } from "./script.ts";
export { toolNames } from "./tools.ts";
export { World } from "./world.ts";
