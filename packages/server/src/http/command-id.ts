// The kernel's id for an idempotency key. Two people, or two tenants, with the same key do not meet.

import { base64url } from "../login/token-login.ts";
import { ServerError } from "../problem.ts";

const LENGTH = 22;

export async function commandId(key: string | null, tenant: string, user: string): Promise<string | undefined> {
  if (key === null) return undefined;
  if (key === "" || key.length > 255) {
    throw new ServerError("BODY_INVALID", "The idempotency-key is empty or longer than 255 characters.");
  }
  const bytes = new TextEncoder().encode(JSON.stringify([tenant, user, key]));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return `h:${base64url(digest).slice(0, LENGTH)}`;
}
