// Browsers open six connections to one server at most, over all tabs together. Streams take at most four of them, so that
// two are left for everything else; a tab without a slot visits the server instead.

const SLOTS = 4;

/** Returns how to give the slot back; undefined if none is free. A browser without locks has no bound. */
export async function takeSlot(): Promise<(() => void) | undefined> {
  // Locks exist on secure pages only: https and loopback.
  if (navigator.locks === undefined) return () => {};
  for (let slot = 0; slot < SLOTS; slot += 1) {
    const release = await lock(`belay-stream-${slot}`);
    if (release !== undefined) return release;
  }
  return undefined;
}

/** The lock ends with the page, if not before. */
function lock(name: string): Promise<(() => void) | undefined> {
  return new Promise((resolve, reject) => {
    navigator.locks
      .request(name, { ifAvailable: true }, (held) => {
        if (held === null) return resolve(undefined);
        return new Promise<void>((release) => resolve(release));
      })
      .catch(reject);
  });
}
