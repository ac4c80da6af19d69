import { expect } from "chai";
import type { Engine } from "../../../src/engine/engine.ts";
import { type Connection, isCluster } from "../../../src/store/connection.ts";
import type { Notice } from "../../../src/store/task/notices.ts";
import { isOutcome } from "../../../src/task.ts";
import { IDS, type Op, QUEUES } from "./calls.ts";
import type { Model } from "./model.ts";
import type { Dump } from "./store.ts";
import type { ModelTask } from "./task.ts";

/** The tasks of whose ends their submitter hears; those of which it hears everything; nobody listens to the others. */
const HEARS_ENDS: ReadonlySet<string> = new Set(IDS.slice(0, 2));
const HEARS_ALL: ReadonlySet<string> = new Set(IDS.slice(1, 3));
/** What no call of the engine changes is not told. */
const OF_TIME: ReadonlySet<Op["op"]> = new Set(["elapse", "expire", "late", "absent", "entomb", "span"]);
/** The task of a notice that says that all others have arrived. */
const LAST = "last";

/** Whether the submitter of a task waits for its end. */
export const waitsFor = (id: string): boolean => HEARS_ENDS.has(id);
/** Whether it also watches it. */
export const watches = (id: string): boolean => HEARS_ALL.has(id);

/** What is published in a run, held against what each call has changed: a submitter hears of its tasks, and workers of work. */
export class Messages {
  readonly #redis: Connection;
  readonly #submitter: Engine;
  readonly #notices: Notice[] = [];
  readonly #toWorkers = new Map<string, string[]>();
  /** Of each task what was told of it last. */
  readonly #told = new WeakMap<ModelTask, { version: string; cancelRequested: boolean }>();
  readonly #startable = new Map<string, number>();
  #arrived: () => void = () => undefined;

  private constructor(redis: Connection, submitter: Engine) {
    this.#redis = redis;
    this.#submitter = submitter;
  }

  /** @param submitter the engine that submits and watches, which is not that of the workers */
  static async open(redis: Connection, submitter: Engine): Promise<Messages> {
    const messages = new Messages(redis, submitter);
    await messages.#open();
    return messages;
  }

  async #open(): Promise<void> {
    const { notices, pubsub, keys } = this.#submitter;
    const listening = IDS.map((id) =>
      notices.listen({ id, queue: "jobs" }, (notice) => notice && this.#notices.push(notice)),
    );
    listening.push(notices.listen({ id: LAST, queue: "jobs" }, () => this.#arrived()));
    await Promise.all([
      ...listening.map(({ ready }) => ready),
      ...QUEUES.map((queue) =>
        pubsub.listen(keys.workChannel(0, queue), (message) => {
          this.#toWorkers.set(queue, [...(this.#toWorkers.get(queue) ?? []), String(message)]);
        }),
      ),
    ]);
  }

  /** @throws AssertionError that names the task or queue of which nothing was heard */
  async check(model: Model, op: Op["op"], { queues }: Dump): Promise<void> {
    await this.#allArrived();
    for (const task of model.tasks.values()) {
      const [version, before] = [versionOf(task), this.#told.get(task)];
      this.#told.set(task, { version, cancelRequested: task.cancelRequested });
      if (!before || before.version === version || OF_TIME.has(op)) continue;
      this.#checkNotices(task);
      if (!task.cancelRequested || before.cancelRequested) continue;
      const stop = `${task.late ?? "cancel"} ${task.id}`;
      expect(this.#toWorkers.get(task.queue), "messages to workers").to.include(stop);
    }
    for (const [name, { paused }] of model.queues) {
      const startable = paused ? 0 : Math.min(model.room(name), model.startable(name).length);
      const hadNone = (this.#startable.get(name) ?? 0) === 0;
      this.#startable.set(name, startable);
      // Where the limit has changed, the next reservation decides who may start.
      if (!hadNone || startable === 0 || queues.get(name)?.fields.rekey !== undefined) continue;
      const work = (this.#toWorkers.get(name) ?? []).filter((message) => message.length <= 1);
      expect(work, `messages of work in ${name}`).not.to.deep.equal([]);
    }
    const unheard = this.#notices.filter(({ id, ended }) => !HEARS_ALL.has(id) && !(ended && HEARS_ENDS.has(id)));
    expect(unheard, "notices for nobody").to.deep.equal([]);
    this.#notices.length = 0;
    this.#toWorkers.clear();
  }

  #checkNotices({ id, state, attempts, deleted, late }: ModelTask): void {
    const heard = this.#notices.filter((notice) => notice.id === id);
    const ended = isOutcome(state);
    if (HEARS_ALL.has(id) || (ended && HEARS_ENDS.has(id)))
      expect(heard.filter((notice) => notice.ended || !ended).length, `notices of ${id}`).to.be.above(0);
    if (ended && heard.length > 0 && !deleted && !late)
      expect(
        heard.some(({ end }) => end),
        `the end in a notice of ${id}`,
      ).to.equal(true);
    for (const { end } of heard)
      if (end && !deleted) expect({ ...end, id }).to.include({ id, state, attempts }, `the end of ${id}`);
  }

  async #allArrived(): Promise<void> {
    const { keys, notices } = this.#submitter;
    const arrived = new Promise<void>((resolve) => {
      this.#arrived = resolve;
    });
    const notice = `x ${LAST}`;
    const message = [keys.noticeChannel(0, notices.process), `${notice.length} ${notice}`] as const;
    await (isCluster(this.#redis) ? this.#redis.spublish(...message) : this.#redis.publish(...message));
    await arrived;
  }
}

/** Changes with everything that a caller hears of. */
const versionOf = (task: ModelTask): string => {
  const { state, taking, cancelRequested, progress, output, deleted, input, mediaType, class: line, place, due } = task;
  return JSON.stringify([
    state,
    taking,
    cancelRequested,
    progress,
    output?.length,
    deleted,
    input,
    mediaType,
    line,
    place,
    due,
  ]);
};
