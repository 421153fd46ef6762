// The person at the page, and its rights by the server. A button that is not allowed stays, and says which role it needs.

import { useQuery } from "@tanstack/react-query";
import { useOffline } from "../live/use-live.ts";
import { useTexts } from "../texts/texts.ts";
import { me } from "../wire/read.ts";
import type { Me, Role } from "../wire/shapes.ts";

export function rolesOf(who: Me | undefined): readonly Role[] {
  return who === undefined ? [] : [who.role].flat();
}

export function useMe(): Me | undefined {
  return useQuery(me).data;
}

/** Returns why this person cannot act in `role` now; undefined if it can. */
export function useRefusal(role: Role): string | undefined {
  const who = useMe();
  const isOffline = useOffline();
  const t = useTexts();
  if (isOffline) return t.all.needsServer;
  const roles = rolesOf(who);
  if (who === undefined || roles.includes(role) || roles.includes("admin")) return undefined;
  return t.all.needsRole(role, roles.join(", "));
}
