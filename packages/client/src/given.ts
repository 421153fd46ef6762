type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Returns the properties that are not undefined: a view has no others, so that it is the same after a way over JSON. */
export function given<T extends object>(properties: T): Given<T> {
  return Object.fromEntries(Object.entries(properties).filter(([, value]) => value !== undefined)) as Given<T>;
}
