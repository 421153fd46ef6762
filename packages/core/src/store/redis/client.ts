// The part of an ioredis client that we use.

/** An `ioredis` client: `new Redis(…)`, or `new Cluster(…)`. */
export interface RedisClient {
  readonly status: string;
  evalsha(sha: string, keys: number, ...args: string[]): Promise<unknown>;
  eval(script: string, keys: number, ...args: string[]): Promise<unknown>;
  publish(channel: string, message: string): Promise<unknown>;
  duplicate(): RedisSubscriber;
  once(event: "end", listener: () => void): unknown;
  off(event: "end", listener: () => void): unknown;
}

export interface RedisSubscriber {
  readonly status: string;
  subscribe(...channels: string[]): Promise<unknown>;
  unsubscribe(...channels: string[]): Promise<unknown>;
  disconnect(): void;
  on(event: "message", listener: (channel: string, message: string) => void): unknown;
  on(event: "ready" | "error" | "end" | "connect", listener: () => void): unknown;
}

/** The prefix that ioredis puts before every key that a command names, though not before channels. */
export function keyPrefixOf(client: RedisClient): string {
  const { keyPrefix } = (client as { readonly options?: { readonly keyPrefix?: unknown } }).options ?? {};
  return typeof keyPrefix === "string" ? keyPrefix : "";
}

/** Lets the connection keep the process alive, or not, if it has a socket of its own. */
export function holdProcess(subscriber: RedisSubscriber, hold: boolean): void {
  const { stream } = subscriber as { readonly stream?: { ref?(): unknown; unref?(): unknown } };
  if (hold) stream?.ref?.();
  else stream?.unref?.();
}
