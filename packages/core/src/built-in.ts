// Node modules that are loaded on first use: importing the package stays cheap, and code that needs them stays
// synchronous.

import { createRequire } from "node:module";

interface BuiltIn {
  "node:child_process": typeof import("node:child_process");
  "node:crypto": typeof import("node:crypto");
}

export function builtIn<Name extends keyof BuiltIn>(name: Name): BuiltIn[Name] {
  // A Node without getBuiltinModule always has require.
  const load = process.getBuiltinModule as ((name: string) => unknown) | undefined;
  return (load?.(name) ?? createRequire(import.meta.url)(name)) as BuiltIn[Name];
}
