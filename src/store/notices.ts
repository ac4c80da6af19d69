import type { Redis } from "ioredis";

/** Told of a message, or null when the connection was lost for a while and messages may have been missed. */
export type NoticeListener = (message: string | null) => void;

/**
 * Listens to channels on a connection of its own. Nothing depends on a message arriving: whoever listens also looks, slowly.
 * What is listened to is kept here, so that a new connection listens to the same.
 */
export class Notices {
  readonly #redis: Redis;
  readonly #channels = new Map<string, { listeners: Set<NoticeListener>; subscribed: Promise<unknown> }>();

  constructor(subscriber: Redis) {
    this.#redis = subscriber;
    subscriber.on("message", (channel: string, message: string) => {
      for (const listener of this.#channels.get(channel)?.listeners ?? []) listener(message);
    });
    subscriber.on("ready", () => this.#resume());
  }

  /**
   * Listens to a channel from when the promise resolves.
   * @returns ends the listening
   * @throws what the connection says; the listening is then taken up when the connection is back
   */
  async listen(channel: string, listener: NoticeListener): Promise<() => void> {
    let entry = this.#channels.get(channel);
    if (!entry) {
      entry = { listeners: new Set(), subscribed: this.#redis.subscribe(channel) };
      this.#channels.set(channel, entry);
    }
    entry.listeners.add(listener);
    const stop = () => this.#forget(channel, listener);
    // Without the channel the listener still lives on its own slow looks, and on the channel once it is back.
    await entry.subscribed.catch(() => undefined);
    return stop;
  }

  #forget(channel: string, listener: NoticeListener): void {
    const entry = this.#channels.get(channel);
    if (!entry?.listeners.delete(listener) || entry.listeners.size > 0) return;
    this.#channels.delete(channel);
    this.#redis.unsubscribe(channel).catch(() => undefined);
  }

  #resume(): void {
    const channels = [...this.#channels.keys()];
    if (channels.length === 0) return;
    this.#redis.subscribe(...channels).then(
      () => {
        for (const { listeners } of this.#channels.values()) for (const listener of listeners) listener(null);
      },
      () => undefined,
    );
  }
}
