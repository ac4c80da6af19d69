import { randomBytes } from "node:crypto";
import { ChurnMap } from "../../store/churn-map.ts";
import { SHARED } from "../../store/constants.ts";
import type { Keys } from "../../store/keys.ts";
import type { PubSub } from "../../store/pubsub.ts";
import { type Notice, noticesOf } from "../../store/task/notices.ts";

/** Called with each change of a task, or with null when notices may have been missed. */
export type NoticeListener = (notice: Notice | null) => void;

/** A subscription to the notices of a task. */
export interface Subscription {
  /** Resolves once notices arrive; null if they already do. */
  readonly ready: Promise<void> | null;
  /** Ends it; idempotent. */
  stop(): void;
}

/**
 * The notices for this process, which has one channel in each partition, opened for the first listener and then kept. The record of each
 * task names the processes to notify (task/notices.lua). Nothing depends on a notice: listeners also poll, slowly.
 */
export class Notices {
  /** The name of this process in records; short, so that several fit. */
  readonly process: string = randomBytes(6).toString("base64url");
  readonly #keys: Keys;
  readonly #pubsub: PubSub;
  readonly #listeners = new ChurnMap<string, NoticeListener[]>();
  /** By partition: undefined where nobody has listened yet, null where notices arrive. */
  readonly #opening: (Promise<void> | null | undefined)[] = [];

  constructor(pubsub: PubSub, keys: Keys) {
    this.#pubsub = pubsub;
    this.#keys = keys;
  }

  /** Listens to an existing or future task. The caller must see to it that the record names this process. */
  listen({ id, queue }: { readonly id: string; readonly queue: string }, listener: NoticeListener): Subscription {
    const ready = this.#opened(this.#keys.partitionOfQueue(queue));
    const before = this.#listeners.get(id);
    if (before) before.push(listener);
    else this.#listeners.set(id, [listener]);
    return { ready, stop: () => this.#remove(id, listener) };
  }

  /** Whether anyone here listens to a task. */
  has(id: string): boolean {
    return this.#listeners.get(id) !== undefined;
  }

  /** Notifies the listeners of a task in this process. */
  notify(id: string, notice: Notice | null): void {
    const listeners = this.#listeners.get(id);
    if (listeners === undefined) return;
    for (const listener of listeners) listener(notice);
  }

  /** Listens to a partition; null if it already does. */
  #opened(partition: number): Promise<void> | null {
    const opening = this.#opening[partition];
    if (opening !== undefined) return opening;
    const begun = this.#open(partition);
    this.#opening[partition] = begun;
    return begun;
  }

  async #open(partition: number): Promise<void> {
    const listener = (message: Buffer | null) => this.#receive(message);
    const channels = [this.process, SHARED.everyone].map((name) => this.#keys.noticeChannel(partition, name));
    await Promise.all(channels.map((channel) => this.#pubsub.listen(channel, listener)));
    this.#opening[partition] = null;
  }

  #receive(message: Buffer | null): void {
    // Those of other partitions read their tasks in vain, which is rare.
    if (message === null) for (const id of [...this.#listeners.keys()]) this.notify(id, null);
    else for (const notice of noticesOf(message)) this.notify(notice.id, notice);
  }

  #remove(id: string, listener: NoticeListener): void {
    const listeners = this.#listeners.get(id);
    const at = listeners?.indexOf(listener) ?? -1;
    if (!listeners || at < 0) return;
    if (listeners.length === 1) this.#listeners.delete(id);
    // A new list, since listeners may leave while the old one is iterated.
    else this.#listeners.set(id, listeners.toSpliced(at, 1));
  }
}
