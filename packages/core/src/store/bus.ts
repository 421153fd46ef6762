/**
 * Carries hints and drafts between processes that share a store. It may lose any text: readers look at the store, only later.
 * `redisBus()` of `@belay/core/redis` makes one.
 */
export interface Bus {
  /** Sends a text to all processes that follow the channel. */
  publish(channel: string, text: string): Promise<void>;
  /**
   * Calls `heard` with each text, and `joined` whenever the bus begins to follow the channel: at first, and after a break.
   * Returns a function that ends it. Keeps no process alive.
   */
  subscribe(channel: string, heard: (text: string) => void, joined: () => void): () => void;
}
