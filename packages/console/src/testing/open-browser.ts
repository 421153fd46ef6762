// A real browser for tests: the one inside the npm package, or the one of the machine that `CHROME` names. Its own flags of
// the package are not used: they turn off the web's security, which the tests are to meet.

import { createRequire } from "node:module";
import chromium from "@sparticuz/chromium";
import { type Browser, type Page, chromium as playwright } from "playwright-core";

/** How long to wait for what must come. A busy machine is slow, and has not failed. */
export const PATIENCE_MS = 60_000;

export async function openBrowser(): Promise<Browser> {
  const executablePath = process.env.CHROME ?? (await chromium.executablePath());
  return playwright.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--headless"] });
}

const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[];
}

/** The rules of WCAG 2.0 to 2.2, A and AA, that the page breaks: one line each. */
export async function violations(page: Page): Promise<readonly string[]> {
  // Injected through the debugger: the policy of the page refuses foreign scripts, as it should.
  const { readFile } = await import("node:fs/promises");
  await page.evaluate(await readFile(axe, "utf8"));
  const found = await page.evaluate(async () => {
    const run = (window as unknown as { axe: { run(options: object): Promise<{ violations: Violation[] }> } }).axe;
    const { violations: all } = await run.run({
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
    } as never);
    return all.map(({ id, nodes }) => ({
      id,
      nodes: nodes.map(({ target, failureSummary }) => ({ target, failureSummary })),
    }));
  });
  return found.flatMap(({ id, nodes }) =>
    nodes.map(
      ({ target, failureSummary }) =>
        `${id}: ${target.join(" ")} (${failureSummary.replace(/\s+/g, " ").slice(0, 160)})`,
    ),
  );
}
