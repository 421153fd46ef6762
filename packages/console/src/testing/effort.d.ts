// The amounts of scripts/effort.mjs that tests of the console read.
import "vitest";

declare module "vitest" {
  interface ProvidedContext {
    effort: { readonly everyVariant: boolean; readonly racedApprovals: number; readonly offlineSeconds: number };
  }
}
