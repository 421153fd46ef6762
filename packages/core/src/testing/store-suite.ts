// Certifies a store against the contract in store/store.ts, racing writers, lost leases and ambiguous commits included.
// It knows no test runner:
//
//   for (const { name, run, skip } of storeSuite(() => ({ store: myStore() }))) test.skipIf(skip)(name, run);

import { type KnownOptions, refuseUnknown } from "../refuse-unknown.ts";
import { appendCases } from "./store-cases/append.ts";
import { Bench, type StoreCheck, type StoreUnderTest } from "./store-cases/bench.ts";
import { commandCases } from "./store-cases/command.ts";
import { damageCases } from "./store-cases/damage.ts";
import { dueCases } from "./store-cases/due.ts";
import { forkCases } from "./store-cases/fork.ts";
import { leaseCases } from "./store-cases/lease.ts";
import { listCases } from "./store-cases/list.ts";
import { randomCases } from "./store-cases/random.ts";
import { readingCases } from "./store-cases/reading.ts";
import { relayCases } from "./store-cases/relay.ts";
import { requestCases } from "./store-cases/request.ts";

const cases = {
  ...appendCases,
  ...leaseCases,
  ...commandCases,
  ...requestCases,
  ...listCases,
  ...dueCases,
  ...damageCases,
  ...readingCases,
  ...relayCases,
  ...forkCases,
  ...randomCases,
};

/** The name of a case of the store suite. */
export type StoreCaseName = keyof typeof cases;

/** One case of the store suite. */
export interface StoreCase {
  /** A sentence of the contract. */
  readonly name: StoreCaseName;
  /** Why it does not apply to this store; undefined when it does. */
  readonly skip: string | undefined;
  /** Makes a store, checks it, closes it. Rejects when the store breaks the contract. */
  run(): Promise<void>;
}

/** The options of `storeSuite()`. */
export interface StoreSuiteOptions<Under extends StoreUnderTest = StoreUnderTest> {
  /** Cases that do not apply, each with its reason. */
  readonly skip?: { readonly [N in StoreCaseName]?: string };
  /** Changes the stored copy of an open request without the store. Cases of damage need it. */
  damageRequest?(under: Under, tenant: string, id: string): unknown;
}

const OPTIONS: KnownOptions<StoreSuiteOptions> = { skip: true, damageRequest: true };

const NAMES = Object.fromEntries(Object.keys(cases).map((name) => [name, true])) as KnownOptions<typeof cases>;

/** Returns the cases that certify a store, for any test runner. */
export function storeSuite<Under extends StoreUnderTest>(
  make: () => Under | Promise<Under>,
  options: StoreSuiteOptions<Under> = {},
): StoreCase[] {
  refuseUnknown("storeSuite()", options, OPTIONS);
  refuseUnknown("skip of storeSuite()", options.skip ?? {}, NAMES);
  const { damageRequest } = options;
  const harmless = damageRequest === undefined ? "no way is given to damage a request" : undefined;
  return (Object.entries(cases) as [StoreCaseName, StoreCheck][]).map(([name, check]) => ({
    name,
    skip: options.skip?.[name] ?? (name in damageCases ? harmless : undefined),
    async run() {
      const under = await make();
      try {
        await check(new Bench(under, async (tenant, id) => damageRequest?.(under, tenant, id)));
      } finally {
        await under.close?.();
      }
    },
  }));
}
