import { ChurnMap } from "../churn-map.ts";
import { type Connection, isCluster } from "./connection.ts";

/** Told of a message, or null when the connection was lost for a while and messages may have been missed. */
export type MessageListener = (message: string | null) => void;

interface Channel {
  readonly listeners: Set<MessageListener>;
  subscribed: Promise<unknown>;
  /** The subscription did not come about: it is tried again. */
  failed: boolean;
}

/**
 * Listens to channels on a connection of its own. Nothing depends on a message arriving: whoever listens also looks, slowly.
 * What is listened to is kept here, so that a new connection listens to the same.
 */
export class PubSub {
  readonly #connection: Connection;
  /** Each channel is listened to at the shard that has its partition, and messages go nowhere else. */
  readonly #sharded: boolean;
  readonly #channels = new ChurnMap<string, Channel>();

  /** @param sharded whether the server knows sharded messages (Redis 7 and later); of no matter without a cluster */
  constructor(subscriber: Connection, { sharded = true }: { sharded?: boolean } = {}) {
    this.#connection = subscriber;
    this.#sharded = sharded && isCluster(subscriber);
    subscriber.on(this.#sharded ? "smessage" : "message", (channel: string, message: string) => {
      for (const listener of this.#channels.get(channel)?.listeners ?? []) listener(message);
    });
    if (this.#sharded) {
      // After a change of the shards their new connections listen to what the old ones did.
      subscriber.on("subscribersReady", () => this.#missed());
      subscriber.on("refresh", () => this.#retry());
    } else {
      subscriber.on("ready", () => this.#resume());
    }
  }

  /**
   * Listens to a channel from when the promise resolves. Where the connection is away, the listener is told null as soon
   * as it is listened to; until then it lives on its own slow looks.
   * @returns ends the listening
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
    return () => this.#forget(channel, listener);
  }

  #subscribe(channel: string, entry: Channel): void {
    // Within a promise: of a shard that it does not know, the library throws at once.
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

  #forget(channel: string, listener: MessageListener): void {
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

  /** Takes up what could not be listened to. */
  #retry(): void {
    for (const [channel, entry] of this.#channels) if (entry.failed) this.#subscribe(channel, entry);
  }
}
