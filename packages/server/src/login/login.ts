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
  readonly groups?: readonly string[] | undefined;
  readonly role: Role | readonly Role[];
}

const ROLES: readonly unknown[] = ["viewer", "operator", "approver", "admin"] satisfies Role[];

/** Returns the login that `auth` gave. Throws for one with an unknown role or without a user: it must not open anything. */
export function checkedLogin(login: Login): Login {
  const { user, tenant } = login;
  if (typeof user !== "string" || user === "") throw new Error("auth() returned a login whose user is not a name.");
  if (tenant !== undefined && typeof tenant !== "string") throw new Error("auth() returned a tenant that is not text.");
  for (const role of [rolesOf(login)].flat()) {
    if (!ROLES.includes(role))
      throw new Error(`auth() returned the role ${String(role)}, which is none of ${ROLES.join(", ")}.`);
  }
  return login;
}

export function rolesOf({ role }: Login): readonly Role[] {
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
  close(request: Request): string;
}
