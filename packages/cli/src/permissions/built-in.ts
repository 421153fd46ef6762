// The rules that hold without a file, and below one: files that often hold secrets ask, private keys are never handed out.

import type { PermissionRule } from "@belay/core";

const KEYS = "such files often hold keys";

/** The file of a person cannot clash with these ids: a clash is refused. */
const rule = (name: string, path: string, effect: PermissionRule["effect"], reason: string): PermissionRule => ({
  id: `builtin:${name}`,
  tool: "*",
  args: { path },
  effect,
  reason,
});

const privateKey = (name: string): PermissionRule => rule(name, `*${name}*`, "deny", "private keys stay here");

export const builtInRules: readonly PermissionRule[] = [
  rule("env", "*.env*", "ask", KEYS),
  rule("pem", "*.pem", "ask", KEYS),
  rule("npmrc", "*.npmrc", "ask", KEYS),
  rule("netrc", "*.netrc", "ask", KEYS),
  rule("pgpass", "*.pgpass", "ask", KEYS),
  rule("credentials", "credentials*", "ask", KEYS),
  rule("credentials-below", "*/credentials*", "ask", KEYS),
  rule("mcp", "*.mcp.json", "ask", "it names programs that run at the next start"),
  ...["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"].map(privateKey),
];

/** The names of files that a search of a folder passes by: they are looked into only if they are named. */
export const SECRET_NAME =
  /(?:^|\/)(?:\.env[^/]*|[^/]*\.pem|\.(?:npmrc|netrc|pgpass)|credentials(?:\.(?:json|csv|ini|txt|ya?ml|toml))?|id_(?:rsa|dsa|ecdsa|ed25519)[^/]*)$/i;
