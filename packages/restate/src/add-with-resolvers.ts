/** Adds `Promise.withResolvers`, which Restate's SDK calls, and which Node has from version 22 on. */
export function addWithResolvers(): void {
  const promise = Promise as unknown as { withResolvers?: () => unknown };
  promise.withResolvers ??= <T>() => {
    let resolve: (value: T) => void = () => {};
    let reject: (reason: unknown) => void = () => {};
    const made = new Promise<T>((yes, no) => {
      resolve = yes;
      reject = no;
    });
    return { promise: made, resolve, reject };
  };
}
