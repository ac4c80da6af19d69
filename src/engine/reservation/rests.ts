import type { TargetState } from "../../handler/gateway/target-state.ts";
import type { Keys } from "../../store/keys.ts";
import type { Lease, Reservation, ReservedPart, Scripts, TargetVerdict } from "../../store/verbs/scripts.ts";

/** A task that this process has taken as a probe. */
interface Probe {
  readonly reference: string;
  readonly request: string;
}

/** Longest reason that is stored, characters. */
const REASON_LENGTH = 40;

/**
 * Lets a queue rest while its target is down: over all workers and partitions, with its state in one partition, chosen by the
 * queue's name. While that partition is unavailable, no task of such a queue starts.
 */
export class Rests {
  readonly #scripts: Scripts;
  readonly #keys: Keys;
  /** The probes of this process, by queue. */
  readonly #probes = new Map<string, Probe>();
  /** Queues whose latest known attempt has failed: only for these is a success worth a call. */
  readonly #failing = new Set<string>();

  constructor(scripts: Scripts, keys: Keys) {
    this.#scripts = scripts;
    this.#keys = keys;
  }

  /**
   * Reserves tasks if the queue does not rest; otherwise one task as a probe, when a probe is due.
   * @param reserve reserves up to the given number; idempotent for the same reservation
   * @throws PaihaoError store-unavailable
   */
  async reserve(
    partition: number,
    request: Reservation,
    reserve: (count: number) => Promise<ReservedPart>,
  ): Promise<ReservedPart> {
    const { queue, worker, lane = 0, reservation, leaseMs, copy } = request;
    // The outcome of a task leased over HTTP does not say whether the target is up, so it cannot be a probe.
    const name = copy ? "" : `${partition} ${worker} ${lane} ${reservation}`;
    const question = { queue, request: name, leaseMs } as const;
    const gate = await this.#scripts.gate(this.#home(queue), { ...question, verb: "ask" });
    if (gate.failures > 0) this.#failing.add(queue);
    else this.#failing.delete(queue);
    if (gate.state === "open") return await reserve(request.count);
    // Even a request for no tasks gets an answer: if it is a repetition, the tasks that it got before.
    const reserved = await reserve(gate.state === "probe" ? Math.min(1, request.count) : 0);
    if (gate.state === "resting") return { ...reserved, pauseMs: Math.max(reserved.pauseMs, gate.waitMs) };
    const [first] = reserved.tasks;
    if (first) this.#probes.set(queue, { reference: referenceOf(first), request: name });
    else await this.#scripts.gate(this.#home(queue), { ...question, verb: "return" });
    return reserved;
  }

  /** Whether this process has taken a task as a probe, and has not reported its outcome yet. */
  isProbe(lease: Lease): boolean {
    return this.#requestOf(lease) !== "";
  }

  /** The lease of a probe was renewed: renews the probe as well, so that no other one starts. */
  async renewed(lease: Lease, leaseMs: number): Promise<void> {
    const question = { queue: lease.queue, request: this.#requestOf(lease), leaseMs, verb: "ask" } as const;
    // If this fails, there may be a second probe.
    await this.#scripts.gate(this.#home(lease.queue), question).catch(() => undefined);
  }

  #requestOf(lease: Lease): string {
    const probe = this.#probes.get(lease.queue);
    return probe?.reference === referenceOf(lease) ? probe.request : "";
  }

  /**
   * Notes what an attempt has shown about the target, if anything. Idempotent.
   * @throws PaihaoError store-unavailable
   */
  async note(lease: Lease, seen: TargetState | undefined): Promise<TargetVerdict> {
    const { queue } = lease;
    const reference = referenceOf(lease);
    const request = this.#requestOf(lease);
    if (seen === undefined) {
      if (request !== "") await this.#scripts.gate(this.#home(queue), { queue, request, leaseMs: 1, verb: "return" });
      this.#remove(queue, request);
      return "open";
    }
    if (seen.state === "up" && request === "" && !this.#failing.has(queue)) return "open";
    if (seen.state === "down") this.#failing.add(queue);
    const reason = seen.reason.slice(0, REASON_LENGTH);
    const verdict = await this.#scripts.target(this.#home(queue), {
      ...{ queue, reference, state: seen.state, reason, request },
    });
    this.#remove(queue, request);
    if (seen.state === "up" && verdict !== "resting") this.#failing.delete(queue);
    return verdict;
  }

  /** A probe has been reported; a late renewal of its lease must not make it a probe again. */
  #remove(queue: string, request: string): void {
    if (this.#probes.get(queue)?.request === request) this.#probes.delete(queue);
  }

  #home(queue: string): string {
    return this.#keys.tag(this.#keys.partitionOf(queue));
  }
}

/** Fences of different partitions may be equal; ids have no spaces. */
function referenceOf({ id, fence }: Pick<Lease, "id" | "fence">): string {
  return `${id}@${fence}`;
}
