import { userInfo } from "node:os";

/** Who it is that answers, stops and removes, in the app and in every command: the name that the system knows them by. */
export function userName(): string {
  try {
    return userInfo().username || "user";
  } catch {
    return "user";
  }
}
