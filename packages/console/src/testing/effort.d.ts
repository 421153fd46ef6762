// The amounts of scripts/effort.mjs that tests of the console read.
import "vitest";

declare module "vitest" {
  interface ProvidedContext {
    effort: {
      readonly tier: "test" | "endure" | "all";
      readonly scenes: number;
      readonly newcomers: number;
      readonly racedApprovals: number;
      readonly offlineSeconds: number;
    };
  }
}
