import { Loop } from "../../loop.ts";
import type { Engine } from "../engine.ts";
import type { GroupInspection } from "../groups/group-inspection.ts";

/** Called with the state of a group at each look; null if it no longer exists. */
type GroupListener = (seen: GroupInspection | null) => void;

/** How often all watched groups are read, ms; thousands of tasks may end in between, and are reported together. */
const LOOK_MS = 500;

/**
 * Watches groups for all callers of this process. A group sends no notices, since it would send one for every change of its tasks; instead
 * each watched group is read twice a second, once for all its watchers. Without watched groups there is no timer.
 */
export class GroupWatchers {
  readonly #engine: Pick<Engine, "groups">;
  readonly #listeners = new Map<string, Set<GroupListener>>();
  /** Those that count for the presence of their group. */
  readonly #attendants = new Set<GroupListener>();
  readonly #loop: Loop;

  /** @param onError called for failed reads, which are repeated */
  constructor(engine: Pick<Engine, "groups">, onError: (error: unknown) => void) {
    this.#engine = engine;
    this.#loop = new Loop({ tick: () => this.#look(), intervalMs: LOOK_MS, onError });
  }

  /** How many groups are watched. */
  get size(): number {
    return this.#listeners.size;
  }

  /**
   * Begins to watch a group: the listener is called at each look after `first`.
   * @param keeps whether the watch counts for the presence of the group, for as long as it lasts
   * @throws ProblemError store-unavailable
   */
  async watch(
    id: string,
    listener: GroupListener,
    keeps = false,
  ): Promise<{ readonly first: GroupInspection | null; stop(): void }> {
    const first = await this.#engine.groups.inspect(id);
    const listeners = this.#listeners.get(id) ?? new Set();
    this.#listeners.set(id, listeners.add(listener));
    if (keeps) this.#attendants.add(listener);
    this.#loop.start();
    return { first, stop: () => this.#leave(id, listener) };
  }

  #leave(id: string, listener: GroupListener): void {
    const listeners = this.#listeners.get(id);
    listeners?.delete(listener);
    this.#attendants.delete(listener);
    if (listeners?.size === 0) this.#listeners.delete(id);
    if (this.#listeners.size === 0) void this.#loop.stop();
  }

  async #look(): Promise<undefined> {
    await Promise.all(
      [...this.#listeners].map(async ([id, listeners]) => {
        const keeps = () => [...listeners].some((listener) => this.#attendants.has(listener));
        const seen = await this.#engine.groups.inspect(id, keeps);
        for (const listener of listeners) listener(seen);
      }),
    );
    return undefined;
  }
}
