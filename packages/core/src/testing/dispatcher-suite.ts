// Certifies a dispatcher against the rules DP1–DP10 of the seam, kills and an engine that is away included. It knows no test
// runner:
//
//   for (const { name, run, skip } of dispatcherSuite(make, { latenessMs: 1_000 })) test.skipIf(skip)(name, run);

import { type KnownOptions, refuseUnknown } from "../refuse-unknown.ts";
import {
  DispatchBench,
  type DispatcherCheck,
  type DispatcherTraits,
  type DispatcherUnderTest,
} from "./dispatch-cases/bench.ts";
import { boundCases, engineCases } from "./dispatch-cases/bound.ts";
import { deliverCases, killCases } from "./dispatch-cases/deliver.ts";

const cases = { ...deliverCases, ...killCases, ...boundCases, ...engineCases };

/** The name of a case of the dispatcher suite. */
export type DispatcherCaseName = keyof typeof cases;

/** One case of the dispatcher suite. */
export interface DispatcherCase {
  /** A rule of the seam. */
  readonly name: DispatcherCaseName;
  /** Why it does not apply to this dispatcher; undefined when it does. */
  readonly skip: string | undefined;
  /** Makes an engine, checks it, closes it. Rejects when the dispatcher breaks the rule. */
  run(): Promise<void>;
}

/** The options of `dispatcherSuite()`. */
export interface DispatcherSuiteOptions extends Partial<DispatcherTraits> {
  /** Cases that do not apply, each with its reason. */
  readonly skip?: { readonly [N in DispatcherCaseName]?: string };
  /** The factory can start a process to kill. Without it, these cases are skipped. */
  readonly kills?: boolean;
  /** The factory can take the engine away. Without it, that case is skipped. */
  readonly outages?: boolean;
}

const OPTIONS: KnownOptions<DispatcherSuiteOptions> = {
  skip: true,
  kills: true,
  outages: true,
  latenessMs: true,
  redeliveryMs: true,
  order: true,
  exclusive: true,
  backlog: true,
  slackMs: true,
};

const NAMES = Object.fromEntries(Object.keys(cases).map((name) => [name, true])) as KnownOptions<typeof cases>;

/** Returns the cases that certify a dispatcher, for any test runner. Each has an engine of its own, made by `make`. */
export function dispatcherSuite(
  make: () => DispatcherUnderTest | Promise<DispatcherUnderTest>,
  options: DispatcherSuiteOptions = {},
): DispatcherCase[] {
  refuseUnknown("dispatcherSuite()", options, OPTIONS);
  refuseUnknown("skip of dispatcherSuite()", options.skip ?? {}, NAMES);
  const { skip, kills, outages, ...traits } = options;
  const needed = (name: string) => {
    if (name in killCases && !kills) return "no process is given to kill";
    return name in engineCases && !outages ? "the engine cannot be taken away" : undefined;
  };
  const whole: DispatcherTraits = {
    latenessMs: 1_000,
    redeliveryMs: 10_000,
    order: "fifo",
    exclusive: false,
    backlog: 200,
    slackMs: 10_000,
    ...traits,
  };
  return (Object.entries(cases) as [DispatcherCaseName, DispatcherCheck][]).map(([name, check]) => ({
    name,
    skip: skip?.[name] ?? needed(name),
    async run() {
      const bench = new DispatchBench(await make(), whole);
      try {
        await check(bench);
      } finally {
        await bench.close();
      }
    },
  }));
}
