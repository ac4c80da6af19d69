import type { Metrics } from "../../metrics/metrics.ts";
import type { Homes } from "../calls/homes.ts";
import type { Events } from "../monitoring/events.ts";
import type { Histories } from "../monitoring/history.ts";
import type { Tick, TickReport } from "./tick.ts";

/** Called when something in a partition will be due in `delayMs`: a task, its deadline, a lease. */
type DueListener = (partition: number, delayMs: number) => void;

/** What the workers of a queue in this process are told of: tasks wait in it, or it will probably lose a worker. */
type News = "work" | "loss";

/** Work that some process has to do from time to time. */
export class Upkeep {
  readonly #tick: Tick;
  readonly #homes: Homes;
  readonly #histories: Histories;
  readonly #metrics: Metrics;
  readonly #events: Events;
  readonly #dueListeners = new Set<DueListener>();
  /** By queue. */
  readonly #listeners = new Map<string, Set<(news: News) => void>>();

  constructor(tick: Tick, homes: Homes, histories: Histories, metrics: Metrics, events: Events) {
    this.#tick = tick;
    this.#homes = homes;
    this.#histories = histories;
    this.#metrics = metrics;
    this.#events = events;
  }

  /** Calls the listener when this process makes something due in the future; returns a function that removes the listener. */
  onDue(listener: DueListener): () => void {
    this.#dueListeners.add(listener);
    return () => this.#dueListeners.delete(listener);
  }

  /** Notifies the listeners that something in a partition will be due. */
  readonly noteDue: DueListener = (partition, delayMs) => {
    for (const listener of this.#dueListeners) listener(partition, delayMs);
  };

  /** Notifies the listeners that tasks of a queue wait. */
  noteWork(queue: string): void {
    this.#tell(queue, "work");
  }

  /**
   * Calls the listener when a tick finds waiting tasks of a queue, when this process submits some, and when a tick finds a lease of it that is not
   * renewed. Returns a function that removes the listener.
   */
  onNews(queue: string, listener: (news: News) => void): () => void {
    const listeners = this.#listeners.get(queue) ?? new Set();
    this.#listeners.set(queue, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  #tell(queue: string, news: News): void {
    for (const listener of this.#listeners.get(queue) ?? []) listener(news);
  }

  /**
   * Cancels tasks past their deadline or that nobody looks at, promotes due ones, reclaims lost ones and purges old dead ones: in all queues
   * of a partition, with or without a handler here.
   * @param pausedMs how long this process has waited on purpose since its last tick, where that is longer than usual
   * @throws ProblemError store-unavailable
   */
  async tick(partition: number, pausedMs?: number): Promise<TickReport> {
    const ticked = await this.#tick.run(partition, pausedMs);
    for (const queue of ticked.unrenewed) this.#tell(queue, "loss");
    for (const queue of ticked.waiting) this.noteWork(queue);
    for (const { queue, outcome } of ticked.lost) this.#metrics.lost.count(queue, outcome);
    if (ticked.lost.length > 0) void this.#events.lost(ticked.lost);
    return ticked;
  }

  /** The partitions in which the store refused the writes of the last tick, and why. */
  get refusals(): ReadonlyMap<number, string> {
    return this.#tick.refusals;
  }

  /**
   * Deletes the pointers to tasks that have gone, or were never stored; returns whether there may be more of them.
   * @throws ProblemError store-unavailable
   */
  checkPointers(partition: number): Promise<boolean> {
    return this.#homes.check(partition);
  }

  /** Adds to the histories of the queues in a partition; returns the ms until there is more to add. */
  async sampleHistories(partition: number): Promise<number> {
    return this.#histories.sample(partition, await this.#tick.queuesOf(partition));
  }
}
