import { ChurnMap } from "./churn-map.ts";
import { type Connection, isCluster } from "./connection.ts";

/** Called with each message, or with null if the connection was lost for a while and messages may have been missed. */
export type MessageListener = (message: Buffer | null) => void;

interface Channel {
  readonly listeners: Set<MessageListener>;
  subscribed: Promise<unknown>;
  /** The subscription failed and is retried. */
  failed: boolean;
}

/**
 * Subscribes to channels on a connection of its own. Nothing depends on a message arriving: listeners also poll, slowly. The
 * channels are kept here, so that a new connection subscribes to them again.
 */
export class PubSub {
  readonly #connection: Connection;
  /** Whether each channel belongs to the shard of its partition, so that messages stay within that shard. */
  readonly #sharded: boolean;
  readonly #channels = new ChurnMap<string, Channel>();

  constructor(subscriber: Connection) {
    this.#connection = subscriber;
    this.#sharded = isCluster(subscriber);
    subscriber.on(this.#sharded ? "smessageBuffer" : "messageBuffer", (channel: Buffer, message: Buffer) => {
      for (const listener of this.#channels.get(channel.toString())?.listeners ?? []) listener(message);
    });
    if (this.#sharded) {
      // After a change of the shards, the new connections have the same subscriptions, but messages may have been missed.
      subscriber.on("subscribersReady", () => this.#missed());
      subscriber.on("refresh", () => this.#retry());
    } else {
      subscriber.on("ready", () => this.#resume());
    }
  }

  /**
   * Subscribes to a channel; active once the promise resolves. If the connection is down, the listener is called with null once
   * the subscription is active; until then it only polls.
   * @returns unsubscribes
   */
  async listen(channel: string, listener: MessageListener): Promise<() => void> {
    let entry = this.#channels.get(channel);
    if (!entry) {
      entry = { listeners: new Set(), subscribed: Promise.resolve(), failed: false };
      this.#channels.set(channel, entry);
      this.#subscribe(channel, entry);
    }
    entry.listeners.add(listener);
    await entry.subscribed;
    return () => this.#remove(channel, listener);
  }

  #subscribe(channel: string, entry: Channel): void {
    // In an async function, since the library throws synchronously for a shard that it does not know.
    const subscribe = async () => {
      await (this.#sharded ? this.#connection.ssubscribe(channel) : this.#connection.subscribe(channel));
    };
    entry.subscribed = subscribe().then(
      () => {
        if (entry.failed) for (const listener of entry.listeners) listener(null);
        entry.failed = false;
      },
      () => {
        entry.failed = true;
      },
    );
  }

  #remove(channel: string, listener: MessageListener): void {
    const entry = this.#channels.get(channel);
    if (!entry?.listeners.delete(listener) || entry.listeners.size > 0) return;
    this.#channels.delete(channel);
    const unsubscribe = async () => {
      await (this.#sharded ? this.#connection.sunsubscribe(channel) : this.#connection.unsubscribe(channel));
    };
    unsubscribe().catch(() => undefined);
  }

  #resume(): void {
    const channels = [...this.#channels.keys()];
    if (channels.length === 0) return;
    this.#connection.subscribe(...channels).then(
      () => this.#missed(),
      () => undefined,
    );
  }

  #missed(): void {
    for (const { listeners } of this.#channels.values()) for (const listener of listeners) listener(null);
  }

  /** Retries subscriptions that failed. */
  #retry(): void {
    for (const [channel, entry] of this.#channels) if (entry.failed) this.#subscribe(channel, entry);
  }
}
