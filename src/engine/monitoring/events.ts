import { ProblemError, reasonOf } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import { Loop, type Role } from "../../loop.ts";
import type { Keys } from "../../store/keys.ts";
import type { Scripts } from "../../store/library/scripts.ts";
import type { StoredEvent } from "../../store/ops/event.ts";
import { workerEnd } from "../../store/task/record.ts";
import type { DeploymentEvent } from "../../wire/operations.ts";
import { newCall } from "../calls/calls.ts";
import { figuresOf, type Queues } from "../queues.ts";
import type { Workers } from "./workers.ts";

/** What happened, without when. */
type EventFacts = Omit<DeploymentEvent, "at">;

/** An event as it is kept. */
export interface KeptEvent extends EventFacts {
  readonly id: string;
  readonly atMs: number;
}

/** A state of the deployment that begins or ends with an event, or an absence of the store that has ended. */
interface StateChange {
  readonly phase: "begins" | "ends" | "lasted";
  readonly state: string;
  readonly value?: string | number;
}

/** Events that could not be stored yet: the store may be away. */
const MAX_UNSENT = 100;
/** A queue that is full is noted again only after this time, ms: by then another process may have noted that it has drained. */
const AGAIN_MS = 10_000;
/** A full queue has drained when it is filled to this share, so that one that stays at its limit is one event. */
const DRAINED_SHARE = 0.9;
const FULL = "full ";

/** What happened to the deployment: the latest events, in partition 0. Every process writes what it decides or sees first. */
export class Events {
  readonly #scripts: Scripts;
  readonly #keys: Keys;
  readonly #unsent: Parameters<Scripts["note"]>[1][] = [];
  /** When this process last noted that a queue was full; monotonic. */
  readonly #fullAtMs = new Map<string, number>();
  /** Identifies this process. */
  readonly #process = newCall();
  /** Submissions that the store has refused this process since it is full, and how many of them it has told. */
  #refused = 0;
  #told = 0;
  /** As of the last look; undefined if the store is not full. */
  #fullStore: { readonly sinceMs: number; readonly refused: number } | undefined;
  readonly #whenFull = new Set<() => void>();

  constructor(scripts: Scripts, keys: Keys) {
    this.#scripts = scripts;
    this.#keys = keys;
  }

  /**
   * Notes an event, at once if the store can be reached, else when it is back; null: a state that began before anybody told. Never rejects.
   */
  async note(event: EventFacts | null, { phase, state = "", value = "1" }: Partial<StateChange> = {}): Promise<void> {
    if (this.#unsent.length >= MAX_UNSENT) this.#unsent.shift();
    this.#unsent.push({
      event: event === null ? "" : JSON.stringify(event),
      phase: phase ?? "",
      state,
      value,
      call: newCall(),
    });
    await this.send();
  }

  /** Stores the events that could not be stored before, in their order. Never rejects. */
  async send(): Promise<void> {
    try {
      for (let next = this.#unsent[0]; next; next = this.#unsent[0]) {
        await this.#scripts.note(this.#keys.tag(0), next);
        if (this.#unsent[0] === next) this.#unsent.shift();
      }
    } catch {
      // The watch of events tries again.
    }
  }

  /** A queue was paused, or taken up again. */
  paused(queue: string, paused: boolean, by: string | null): Promise<void> {
    const event = { kind: paused ? "queue-paused" : "queue-resumed", queue, ...(by !== null && { by }) } as const;
    return this.note(event, { phase: paused ? "begins" : "ends", state: `paused ${queue}` });
  }

  /**
   * A queue has refused a submission, since as many tasks wait as may. One that is full of allocated ids is not noted: these come and go
   * unseen.
   */
  full(queue: string, limit: number, waiting: number): void {
    if (waiting <= limit * DRAINED_SHARE) return;
    const nowMs = performance.now();
    if (nowMs - (this.#fullAtMs.get(queue) ?? Number.NEGATIVE_INFINITY) < AGAIN_MS) return;
    this.#fullAtMs.set(queue, nowMs);
    const event = { kind: "queue-full", queue, detail: `${limit} tasks wait` } as const;
    void this.note(event, { phase: "begins", state: FULL + queue, value: limit });
  }

  /** The store has refused a submission, since it has no memory left. */
  refusedByStore(): void {
    this.#refused += 1;
    if (this.#refused === 1) for (const listener of this.#whenFull) listener();
  }

  /** Calls the listener when the store has become full for this process; returns a function that removes the listener. */
  onFullStore(listener: () => void): () => void {
    this.#whenFull.add(listener);
    return () => this.#whenFull.delete(listener);
  }

  /** That the store is full, in words for an operator; undefined if it is not. */
  get fullStore(): string | undefined {
    if (this.#fullStore === undefined) return undefined;
    const { sinceMs, refused } = this.#fullStore;
    const seconds = Math.max(1, Math.round((performance.now() - sinceMs) / 1000));
    const span = seconds < 60 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
    return `the store is full: ${refused.toLocaleString("en")} ${refused === 1 ? "submission" : "submissions"} refused in ${span}`;
  }

  /** The API behind a gateway has gone down, or is up again. */
  async target(queue: string, reason: string | undefined): Promise<void> {
    const state = `down ${queue}`;
    if (reason === undefined) await this.note({ kind: "target-up", queue }, { phase: "ends", state });
    else await this.note({ kind: "target-down", queue, detail: reason }, { phase: "begins", state });
  }

  /** The store could not be reached for a time that has just ended. */
  storeWasAway(lastedMs: number): Promise<void> {
    const detail = `for ${Math.max(1, Math.round(lastedMs / 1000))} s`;
    return this.note({ kind: "store-away", detail }, { phase: "lasted", value: Math.round(lastedMs) });
  }

  /** Tasks have lost their worker, of which only the end of the name is known. Never rejects. */
  async lost(tasks: readonly { readonly id: string; readonly worker: string }[]): Promise<void> {
    const byWorker = new Map<string, string[]>();
    for (const { id, worker } of tasks) byWorker.set(worker, [...(byWorker.get(worker) ?? []), id]);
    for (const [worker, ids] of byWorker) {
      await this.#scripts.losses(this.#keys.tag(0), { workerEnd: worker, ids }).catch(() => undefined);
    }
  }

  /**
   * Notes what no call reports: lost workers, with the tasks that they still have, and queues that have drained; and whether the store is full.
   * @throws ProblemError store-unavailable
   */
  async look(tasksOf: () => Promise<ReadonlyMap<string, readonly string[]>>): Promise<void> {
    await this.send();
    await this.#lookAtStore();
    const tag = this.#keys.tag(0);
    const { workers, states } = await this.#scripts.overdue(tag, {});
    if (workers.length > 0) {
      const tasks = await tasksOf();
      for (const worker of workers) {
        const end = workerEnd(worker);
        await this.#scripts.workerLost(tag, { worker, workerEnd: end, ids: tasks.get(end) ?? [] });
      }
    }
    const full = [...states].filter(([state]) => state.startsWith(FULL));
    const figures = await figuresOf(
      this.#scripts,
      this.#keys,
      full.map(([state]) => state.slice(FULL.length)),
    );
    for (const [n, { snapshot }] of figures.entries()) {
      const { queue, waiting, scheduled } = snapshot;
      if (waiting + scheduled > Number(full[n]?.[1]) * DRAINED_SHARE) continue;
      this.#fullAtMs.delete(queue);
      await this.note({ kind: "queue-drained", queue }, { phase: "ends", state: FULL + queue });
    }
  }

  /** Tells what the store has refused this process, and learns whether it is full for any. */
  async #lookAtStore(): Promise<void> {
    const refused = this.#refused;
    const hasRoom = this.#fullStore !== undefined && (await this.#hasRoom());
    const { lastedMs, refused: all } = await this.#scripts.full(this.#keys.tag(0), {
      process: this.#process,
      refused: refused > this.#told ? refused : 0,
      hasRoom,
    });
    this.#told = refused;
    this.#fullStore = all > 0 ? { sinceMs: performance.now() - lastedMs, refused: all } : undefined;
    if (this.#fullStore !== undefined) return;
    // What it refuses from now on begins anew.
    this.#refused -= refused;
    this.#told = 0;
  }

  async #hasRoom(): Promise<boolean> {
    try {
      await Promise.all(this.#keys.tags.map((tag) => this.#scripts.room(tag, {})));
      return true;
    } catch (error) {
      if (error instanceof ProblemError && error.code === "store-full") return false;
      throw error;
    }
  }

  /** The latest events, the newest first; or those before another. @throws ProblemError store-unavailable */
  async latest(limit: number, before?: string): Promise<KeptEvent[]> {
    return (await this.#scripts.events(this.#keys.tag(0), { limit, ...(before && { before }) })).map(eventOf);
  }

  /** Events after another, the oldest first. @throws ProblemError store-unavailable */
  async after(id: string, limit: number): Promise<KeptEvent[]> {
    return (await this.#scripts.events(this.#keys.tag(0), { limit, after: id })).map(eventOf);
  }
}

function eventOf({ id, event }: StoredEvent): KeptEvent {
  return { id, atMs: Number(id.split("-")[0]), ...(JSON.parse(event) as EventFacts) };
}

/** How often a process looks, ms: half as often as a gap that excuses late heartbeats. */
const LOOK_MS = 5000;

/** Where {@link EventWatch} looks. */
interface EventSources {
  readonly events: Events;
  readonly incidents: { look(log: Logger): Promise<void> };
  readonly workers: Pick<Workers, "tasksByEnd">;
  readonly queues: Pick<Queues, "names">;
}

/** Looks for lost workers, for queues that have drained, and at a full store, which no call reports; every process does. Then at what is wrong. */
export class EventWatch implements Role {
  readonly #loop: Loop;
  readonly #events: Events;
  #unlisten: (() => void) | undefined;

  constructor({ events, incidents, workers, queues }: EventSources, log: Logger) {
    this.#events = events;
    this.#loop = new Loop({
      intervalMs: LOOK_MS,
      tick: async () => {
        await events.look(() => workers.tasksByEnd(queues.names));
        await incidents.look(log);
        return undefined;
      },
      onError: (error) => log.debug({ reason: reasonOf(error) }, "events: could not look; trying again later"),
    });
  }

  start(): void {
    this.#unlisten ??= this.#events.onFullStore(() => this.#loop.wake());
    this.#loop.start();
  }

  stop(): Promise<void> {
    this.#unlisten?.();
    this.#unlisten = undefined;
    return this.#loop.stop();
  }
}
