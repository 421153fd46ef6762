import { userInfo } from "node:os";

/** Returns the name of the person that answers, stops and removes, in the app and in every command: the system's user name. */
export function userName(): string {
  try {
    return userInfo().username || "user";
  } catch {
    return "user";
  }
}
