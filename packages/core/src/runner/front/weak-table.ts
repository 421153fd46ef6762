/** Values by name, held weakly: an entry goes when no other code holds its value. */
export class WeakTable<Value extends object> {
  readonly #refs = new Map<string, WeakRef<Value>>();
  readonly #gone = new FinalizationRegistry<string>((name) => {
    if (this.get(name) === undefined) this.#refs.delete(name);
  });

  get(name: string): Value | undefined {
    return this.#refs.get(name)?.deref();
  }

  set(name: string, value: Value): Value {
    this.#refs.set(name, new WeakRef(value));
    this.#gone.register(value, name);
    return value;
  }

  delete(name: string): void {
    this.#refs.delete(name);
  }

  get values(): readonly Value[] {
    return [...this.#refs.values()].flatMap((ref) => ref.deref() ?? []);
  }
}
