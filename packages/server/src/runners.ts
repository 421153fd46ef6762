// The runners of the server: one, or one for each tenant, made when the tenant is first met. A runner that was not used for
// long is released, but never while it serves a request or a stream, or runs a thread.

import type { Runner } from "@belay/core";

export type RunnerOf = (tenant: string) => AnyRunner | Promise<AnyRunner>;

/** A runner of any agents. */
export type AnyRunner = Runner<never, never> | Runner<unknown, never> | Runner;

interface Entry {
  readonly runner: Promise<Runner>;
  readonly stop: AbortController;
  work: Promise<void>;
  inUse: number;
}

export interface RunnersOptions {
  readonly runner: AnyRunner | RunnerOf;
  readonly work: { readonly concurrency?: number | undefined } | false;
  readonly maxTenants: number;
  readonly onError: (error: unknown) => void;
}

const DEFAULT_TENANT = "default";

export class Runners {
  readonly #options: RunnersOptions;
  /** The one used longest ago comes first. */
  readonly #entries = new Map<string, Entry>();
  #closing = false;
  #evicting: Promise<void> | undefined;

  constructor(options: RunnersOptions) {
    this.#options = options;
    if (typeof options.runner !== "function") this.#entry(DEFAULT_TENANT);
  }

  /** The tenant under which a login's runner is kept. One runner serves its own tenant and no other. */
  tenantOf(tenant: string | undefined): string {
    const { runner } = this.#options;
    if (typeof runner === "function") return tenant ?? DEFAULT_TENANT;
    if (tenant === undefined || tenant === runner.tenant) return DEFAULT_TENANT;
    throw new Error(`A login is of tenant ${tenant}, and the server has the runner of ${runner.tenant} alone.`);
  }

  /** Gives the runner to `use`, and keeps it until `use` and everything that it opened have ended. */
  async with<T>(tenant: string, use: (runner: Runner, hold: () => () => void) => Promise<T>): Promise<T> {
    const entry = this.#entry(tenant);
    const hold = () => {
      let held = true;
      entry.inUse++;
      return () => {
        if (held) entry.inUse--;
        held = false;
      };
    };
    const release = hold();
    try {
      return await use(await entry.runner, hold);
    } finally {
      release();
      // The store may fail in between: that is no failure of this request.
      this.#evicting ??= this.#evict()
        .catch(this.#options.onError)
        .finally(() => (this.#evicting = undefined));
    }
  }

  #entry(tenant: string): Entry {
    const known = this.#entries.get(tenant);
    if (known !== undefined) {
      this.#entries.delete(tenant);
      this.#entries.set(tenant, known);
      return known;
    }
    const { runner: given, work, onError } = this.#options;
    const made = typeof given === "function" ? Promise.resolve(tenant).then(given) : Promise.resolve(given);
    const runner = made.then((each) => each as unknown as Runner);
    const stop = new AbortController();
    const { signal } = stop;
    const working = async () => {
      const worker = await runner;
      if (work !== false && !signal.aborted) await worker.work({ ...work, signal });
    };
    const entry = { runner, stop, work: working().catch(onError), inUse: 0 };
    // A runner that could not be made is asked for again.
    runner.catch(() => this.#entries.delete(tenant));
    this.#entries.set(tenant, entry);
    return entry;
  }

  /** Looks at each entry once: one that is used meanwhile comes last, and would be met again. */
  async #evict(): Promise<void> {
    if (typeof this.#options.runner !== "function") return;
    for (const [tenant, entry] of [...this.#entries]) {
      if (this.#closing || this.#entries.size <= this.#options.maxTenants) return;
      if (entry.inUse > 0) continue;
      const runner = await entry.runner.catch(() => undefined);
      if (runner === undefined || entry.inUse > 0 || (await runsSomething(runner))) continue;
      if (entry.inUse > 0 || this.#closing) continue;
      this.#entries.delete(tenant);
      entry.stop.abort();
      await entry.work;
      await runner.drain({ timeoutMs: 10_000 }).catch(this.#options.onError);
    }
  }

  /** Resolves to false if the store of the first runner does not answer in time. */
  async answers(withinMs: number): Promise<boolean> {
    const [entry] = this.#entries.values();
    if (entry === undefined) return true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<false>((resolve) => (timer = setTimeout(resolve, withinMs, false)));
    const asked = entry.runner
      .then((runner) => runner.threads({ limit: 1 }))
      .then(
        () => true,
        () => false,
      );
    return Promise.race([asked, late]).finally(() => clearTimeout(timer));
  }

  /** Stops the workers and lets go of every thread at its next safe point. */
  async close(timeoutMs: number): Promise<void> {
    this.#closing = true;
    const entries = [...this.#entries.values()];
    for (const { stop } of entries) stop.abort();
    await Promise.all(
      entries.map(async ({ runner, work }) => {
        const drained = runner.then((each) => each.drain({ timeoutMs }));
        await Promise.all([drained, work]);
      }),
    );
    await this.#evicting;
  }
}

async function runsSomething(runner: Runner): Promise<boolean> {
  for (let cursor: string | undefined; ; ) {
    const { items, next } = await runner.threads({ state: "running", limit: 100, ...(cursor && { cursor }) });
    for (const { threadId } of items) {
      if ((await runner.look(threadId))?.owner?.name === runner.owner) return true;
    }
    if (next === undefined) return false;
    cursor = next;
  }
}
