// The person or program behind a request, and the roles that open routes.

import { ServerError } from "../problem.ts";

/** Roles combine. Every role includes viewer; admin includes all. */
export type Role = "viewer" | "operator" | "approver" | "admin";

/** The result of `auth`: the person or program that sends a request. */
export interface Login {
  /** The tenant whose threads the request is about. It comes from here and from nowhere else. */
  readonly tenant?: string | undefined;
  /** Recorded as `by` with everything that the request causes. */
  readonly user: string;
  /** Groups of the person, beside those that the runner's `groups` names: their approvals count for `group:x`. */
  readonly groups?: readonly string[] | undefined;
  readonly role: Role | readonly Role[];
}

export function rolesOf({ role }: Pick<Login, "role">): readonly Role[] {
  return typeof role === "string" ? [role] : role;
}

export function may(login: Login, needed: Role): boolean {
  const roles = rolesOf(login);
  return needed === "viewer" ? roles.length > 0 : roles.includes(needed) || roles.includes("admin");
}

export function needRole(login: Login, needed: Role): void {
  if (may(login, needed)) return;
  const has = rolesOf(login);
  throw new ServerError("FORBIDDEN_ROLE", `This needs the role ${needed}; ${login.user} has ${has.join(", ")}.`, {
    needed,
    has,
  });
}

/** The login by token; missing if the application brings its own `auth`. */
export interface SessionDoor {
  /** Returns the cookie for a right token; undefined for a wrong one. */
  open(request: Request, token: string): Promise<string | undefined>;
}
