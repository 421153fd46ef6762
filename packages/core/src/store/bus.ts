/**
 * Carries hints and drafts between processes that share a store. It may lose any text: readers look at the store, only later.
 * `redisBus()` of `@belay/core/redis` makes one.
 */
export interface Bus {
  /** Sends a text to all processes that hear the channel. */
  publish(channel: string, text: string): Promise<void>;
  /**
   * Calls `heard` with each text, and `joined` whenever the bus begins to hear the channel: at first, and after it was away.
   * Returns how to end it. Keeps no process alive.
   */
  subscribe(channel: string, heard: (text: string) => void, joined: () => void): () => void;
}
