// Hints across processes: each write publishes to the thread's channel, which one connection follows for all watchers. A message may
// be lost, and with a connection all of them: a new watcher, and every watcher after a reconnect, is called to look; and at slow
// intervals all watched threads are compared with their last state.
//
// A channel stays open for a while after its last watcher has left: the next run of the thread wants it again. Hints in between
// are kept for the next watcher.
//
// A channel also carries the calls of readers to the owner of the thread; the drafts of the owner have a channel of their own,
// which only readers follow (relay).

import { RelayRoom, type Side } from "../relay-room.ts";
import type { Change, RelayLine } from "../store.ts";
import { holdProcess, type RedisClient, type RedisSubscriber } from "./client.ts";
import { fromText } from "./keys.ts";

export interface Watched {
  readonly tenantKey: string;
  readonly threadId: string;
  readonly channel: string;
}

/** Returns a digest for each thread, in their order: the same text while nothing has changed for a watcher. */
export type Look = (tenantKey: string, threadIds: readonly string[]) => Promise<readonly string[]>;

interface Watcher {
  readonly changed: (what?: Change) => void;
  readonly only: Change | undefined;
}

interface Channel extends Watched {
  readonly watchers: Set<Watcher>;
  listening: boolean;
  /** Hints that came without a watcher. */
  readonly missed: Set<Change>;
  /** The digest of the thread at the last look. */
  seen: string | undefined;
  idleSince: number;
}

/** The channel of all threads of a tenant. */
interface TenantChannel {
  readonly watchers: Set<{ readonly changed: (threadId?: string) => void }>;
  listening: boolean;
}

const IDLE_MS = 5_000;
/** Begins a call of a reader, which is no hint. */
const CALL = "call:";

export class Hints {
  readonly #client: RedisClient;
  readonly #look: Look;
  readonly #everyMs: number;
  readonly #channels = new Map<string, Channel>();
  readonly #tenants = new Map<string, TenantChannel>();
  #subscriber: RedisSubscriber | undefined;
  #timer: NodeJS.Timeout | undefined;
  #looking = false;
  /** The number of watchers that keep the process alive. */
  #foreground = 0;
  readonly #room = new RelayRoom();

  constructor(client: RedisClient, look: Look, everyMs: number) {
    this.#client = client;
    this.#look = look;
    this.#everyMs = everyMs;
  }

  watch(of: Watched, changed: Watcher["changed"], only?: Change, background = false): () => void {
    const channel = this.#channel(of);
    const watcher: Watcher = { changed, only };
    channel.watchers.add(watcher);
    if (!background) this.#foreground += 1;
    this.#open();
    if (!channel.listening) this.#subscribe([channel]);
    const missed = [...channel.missed].filter((what) => only === undefined || only === what);
    channel.missed.clear();
    if (missed.length > 0) queueMicrotask(() => changed(missed.length === 1 ? missed[0] : undefined));
    return () => {
      if (!channel.watchers.delete(watcher)) return;
      if (!background) this.#foreground -= 1;
      if (channel.watchers.size === 0) channel.idleSince = performance.now();
      this.#hold();
    };
  }

  /** Calls `changed` with each thread that is appended to; without one when some may have been missed. */
  watchTenant(name: string, changed: (threadId?: string) => void, background = false): () => void {
    const channel = this.#tenants.get(name) ?? { watchers: new Set(), listening: false };
    const watcher = { changed };
    this.#tenants.set(name, channel);
    channel.watchers.add(watcher);
    if (!background) this.#foreground += 1;
    this.#open();
    this.#subscribeTenants();
    return () => {
      if (!channel.watchers.delete(watcher)) return;
      if (!background) this.#foreground -= 1;
      if (channel.watchers.size === 0 && this.#tenants.delete(name))
        this.#subscriber?.unsubscribe(name).catch(() => {});
      this.#hold();
    };
  }

  #subscribeTenants(): void {
    const subscriber = this.#subscriber;
    if (subscriber === undefined) return;
    for (const [name, channel] of this.#tenants) {
      if (channel.listening) continue;
      channel.listening = true;
      subscriber.subscribe(name).then(
        () => tellTenant(channel),
        () => {
          channel.listening = false;
        },
      );
    }
  }

  /** Opens one end of a relay. The thread must have a watcher in the meantime. */
  relay(channel: string, side: Side, heard: (body: string) => void): RelayLine {
    const down = `${channel}:live`;
    const isFirst = side === "reader" && !this.#room.has(down, side);
    const left = this.#room.add(side === "reader" ? down : channel, side, heard);
    if (isFirst) this.#subscriber?.subscribe(down).catch(() => {});
    const send = (to: string, body: string) => void this.#client.publish(to, body).catch(() => {});
    return {
      say: side === "owner" ? (body) => send(down, body) : (body) => send(channel, CALL + body),
      leave: () => {
        if (left() && side === "reader") this.#subscriber?.unsubscribe(down).catch(() => {});
      },
    };
  }

  #channel(of: Watched): Channel {
    const found = this.#channels.get(of.channel);
    if (found !== undefined) return found;
    const made = { ...of, watchers: new Set<Watcher>(), listening: false, missed: new Set<Change>() };
    const channel: Channel = { ...made, seen: undefined, idleSince: 0 };
    this.#channels.set(of.channel, channel);
    return channel;
  }

  #open(): void {
    if (this.#client.status === "end") return;
    this.#timer ??= setInterval(() => void this.#tick(), this.#everyMs);
    if (this.#subscriber === undefined) this.#connect();
    this.#hold();
  }

  #connect(): void {
    const subscriber = this.#client.duplicate();
    this.#subscriber = subscriber;
    this.#client.once("end", this.#close);
    // The store's own calls report the failure of the server.
    subscriber.on("error", () => {});
    subscriber.on("connect", () => this.#hold());
    subscriber.on("message", (name, message) => {
      const tenant = this.#tenants.get(name);
      if (tenant === undefined) this.#told(name, message);
      else tellTenant(tenant, fromText(message));
    });
    subscriber.on("ready", () => {
      if (this.#subscriber !== subscriber) return;
      this.#hold();
      for (const channel of this.#channels.values()) if (channel.listening) tell(channel);
      for (const channel of this.#tenants.values()) if (channel.listening) tellTenant(channel);
    });
    const relayed = this.#room.threads("reader");
    if (relayed.length > 0) subscriber.subscribe(...relayed).catch(() => {});
    subscriber.on("end", () => {
      if (this.#subscriber === subscriber) this.#forget();
    });
  }

  #forget(): void {
    this.#client.off("end", this.#close);
    this.#subscriber = undefined;
    for (const channel of this.#channels.values()) channel.listening = false;
    for (const channel of this.#tenants.values()) channel.listening = false;
  }

  #subscribe(channels: readonly Channel[]): void {
    const subscriber = this.#subscriber;
    if (subscriber === undefined || channels.length === 0) return;
    for (const channel of channels) channel.listening = true;
    subscriber.subscribe(...channels.map(({ channel }) => channel)).then(
      // A change may have come since the last look of a watcher.
      () => {
        for (const channel of channels) tell(channel);
      },
      () => {
        if (this.#subscriber === subscriber) for (const channel of channels) channel.listening = false;
      },
    );
  }

  #told(name: string, message: string): void {
    if (this.#room.has(name, "reader")) return this.#room.deliver(name, "reader", message);
    if (message.startsWith(CALL)) return this.#room.deliver(name, "owner", message.slice(CALL.length));
    const what = message as Change;
    const channel = this.#channels.get(name);
    if (channel === undefined) return;
    if (channel.watchers.size === 0) channel.missed.add(what);
    else tell(channel, what);
  }

  #hold(): void {
    const hold = this.#foreground > 0;
    if (hold) this.#timer?.ref();
    else this.#timer?.unref();
    if (this.#subscriber !== undefined) holdProcess(this.#subscriber, hold);
  }

  async #tick(): Promise<void> {
    this.#leaveIdle();
    if (this.#channels.size === 0 && this.#tenants.size === 0) return this.#close();
    if (this.#subscriber === undefined) this.#open();
    this.#subscribeTenants();
    this.#subscribe([...this.#channels.values()].filter(({ listening }) => !listening));
    if (this.#looking) return;
    this.#looking = true;
    try {
      await this.#lookAtAll();
    } catch {
      // The next append reports the failure of the server.
    } finally {
      this.#looking = false;
    }
  }

  #leaveIdle(): void {
    const now = performance.now();
    const idle = [...this.#channels.values()].filter(
      ({ watchers, idleSince }) => watchers.size === 0 && now - idleSince > IDLE_MS,
    );
    if (idle.length === 0) return;
    for (const { channel } of idle) this.#channels.delete(channel);
    this.#subscriber?.unsubscribe(...idle.map(({ channel }) => channel)).catch(() => {});
  }

  async #lookAtAll(): Promise<void> {
    for (const [tenantKey, channels] of byTenant(this.#channels.values())) {
      const seen = await this.#look(
        tenantKey,
        channels.map(({ threadId }) => threadId),
      );
      for (const [i, channel] of channels.entries()) {
        const before = channel.seen;
        channel.seen = seen[i]!;
        if (before !== undefined && before !== channel.seen) tell(channel);
      }
    }
  }

  readonly #close = (): void => {
    clearInterval(this.#timer);
    this.#timer = undefined;
    const subscriber = this.#subscriber;
    this.#forget();
    subscriber?.disconnect();
  };
}

function tell(channel: Channel, what?: Change): void {
  for (const { changed, only } of channel.watchers) {
    if (only === undefined || what === undefined || only === what) queueMicrotask(() => changed(what));
  }
}

function tellTenant({ watchers }: TenantChannel, threadId?: string): void {
  for (const { changed } of watchers) queueMicrotask(() => changed(threadId));
}

function byTenant(channels: Iterable<Channel>): Map<string, Channel[]> {
  const tenants = new Map<string, Channel[]>();
  for (const channel of channels) {
    const found = tenants.get(channel.tenantKey);
    if (found === undefined) tenants.set(channel.tenantKey, [channel]);
    else found.push(channel);
  }
  return tenants;
}
