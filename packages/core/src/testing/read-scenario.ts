// Reads a scenario and refuses mistakes: an attack with a misspelt option would find nothing and report success.

import { type BelayError, belayError, shown } from "../error.ts";
import { type KnownOptions, refuseUnknown } from "../refuse-unknown.ts";
import { allFaults, type Scenario } from "./scenario.ts";

const OPTIONS: KnownOptions<Scenario> = {
  agent: true,
  input: true,
  deps: true,
  play: true,
  answer: true,
  store: true,
  faults: true,
  mostPoints: true,
  passMs: true,
  repeatable: true,
  anyEnd: true,
  onPass: true,
};

const functions = ["play", "answer", "store", "repeatable", "onPass"] as const;

export function checkScenario<Out, Deps>(scenario: Scenario<Out, Deps>): void {
  if (typeof scenario !== "object" || scenario === null) {
    throw invalid("scenario", scenario, "an object with an agent and an input");
  }
  refuseUnknown("interruptAnywhere()", scenario, OPTIONS);
  const { agent, faults, mostPoints, passMs } = scenario;
  if (typeof agent !== "function") {
    throw invalid("agent", agent, "a function that makes an agent: each pass gets a new one");
  }
  for (const option of functions) {
    const given = scenario[option];
    if (given !== undefined && typeof given !== "function") throw invalid(option, given, "a function");
  }
  const known: readonly unknown[] = allFaults;
  if (faults !== undefined && !(Array.isArray(faults) && faults.length > 0 && faults.every((f) => known.includes(f)))) {
    throw invalid("faults", faults, `a list of some of ${allFaults.join(", ")}`);
  }
  if (mostPoints !== undefined && !(Number.isInteger(mostPoints) && mostPoints > 0)) {
    throw invalid("mostPoints", mostPoints, "a whole number, 1 or more");
  }
  if (passMs !== undefined && !(typeof passMs === "number" && passMs > 0)) {
    throw invalid("passMs", passMs, "a number of milliseconds above 0");
  }
}

function invalid(option: string, value: unknown, needed: string): BelayError {
  return belayError("OPTION_INVALID", { option, value: shown(value), needed });
}
