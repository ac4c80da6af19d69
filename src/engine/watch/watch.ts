import type { AttendVerdict } from "../../store/task/deadlines.ts";
import type { Engine } from "../engine.ts";
import { type Inspection, isKeptByLooks, keptUntil } from "./inspect.ts";

/** What a watch is for. */
export interface WatchOptions {
  /** It counts for the presence of what is watched, for as long as it lasts. */
  readonly keeps?: boolean;
  /** It is also woken when a task may have written more. */
  readonly output?: boolean;
}

/** A caller's watch of a task or a group. A change that comes while the caller is busy is not lost: it finds the latest state. */
export class Watch<Seen extends Common = Inspection> {
  /** As it was read last; null if it is unknown, or no longer exists. */
  seen: Seen | null = null;
  readonly options: WatchOptions;
  readonly #of: { readonly outputs: number };
  readonly #leave: () => void;
  #isNews = false;
  #isOver = false;
  #heard: () => void = () => undefined;

  /** @param leave called when it ends */
  constructor(of: { readonly outputs: number }, options: WatchOptions, leave: () => void) {
    this.#of = of;
    this.options = options;
    this.#leave = leave;
  }

  /** Increases when the task may have written more. */
  get outputs(): number {
    return this.#of.outputs;
  }

  /** Waits for the next change, or until it is woken; false once it has ended. One call at a time. */
  async next(): Promise<boolean> {
    if (!this.#isNews && !this.#isOver)
      await new Promise<void>((resolve) => {
        this.#heard = resolve;
      });
    this.#isNews = false;
    return !this.#isOver;
  }

  /** Ends the wait of {@link next}, or the next one. */
  wake(): void {
    this.#isNews = true;
    this.#heard();
  }

  /** Ends the watch; idempotent. */
  readonly stop = (): void => {
    if (!this.#isOver) this.#leave();
    this.#isOver = true;
    this.wake();
  };
}

/** The part of a document that every watch needs. */
export type Common = Pick<Inspection, "id" | "queue" | "index" | "nowMs" | "presentUntilMs">;

/** What can be watched: tasks, or groups. */
export interface Watched<Seen extends Common> {
  readonly notices: Pick<Engine["notices"], "listen">;
  readonly queues: Pick<Engine["queues"], "figures">;
  /** Shortest time between two reads of one after notices, ms; only its end is read at once. */
  readonly restMs: number;
  /** The name under which it gets notices. */
  address(id: string): string;
  /** @param listen adds this process to the listeners in its record */
  inspect(id: string, listen: boolean): Promise<Seen | null>;
  /** Changes with everything that is reported. */
  versionOf(seen: Seen): string;
  /** Whether a look keeps it for longer. */
  isKeptByLooks(seen: Seen): boolean;
  attend(seen: Seen): Promise<AttendVerdict>;
  keptUntil(seen: Seen, nowMs: number): number;
}

/** The tasks of an engine. */
export function watchedTasks({
  notices,
  queues,
  inspector,
}: Pick<Watched<Common>, "notices" | "queues"> & {
  readonly inspector: Pick<Engine["inspector"], "inspect" | "attend">;
}): Watched<Inspection> {
  return {
    ...{ notices, queues, restMs: 0, versionOf, isKeptByLooks, keptUntil },
    address: (id) => id,
    inspect: (id, listen) => inspector.inspect(id, { result: false, listen }),
    attend: (seen) => inspector.attend(seen),
  };
}

/** The members that a version covers. */
type VersionFields = Pick<
  Inspection,
  "state" | "index" | "attempts" | "revision" | "cancelRequested" | "progress" | "deleted" | "expired"
>;

/**
 * The version of a task as its watchers see it: state, place, attempt, replaced input, cancel request and reported progress, in one string.
 * Estimates and counts change all the time and are not in it.
 */
export function versionOf(seen: VersionFields): string {
  const { state, index, attempts, revision, cancelRequested, progress, deleted, expired } = seen;
  return JSON.stringify([state, index, attempts, revision, cancelRequested, progress, deleted, expired]);
}
