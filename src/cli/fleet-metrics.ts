import { AggregatorRegistry, Counter, Registry } from "prom-client";
import type { ReadMetric } from "../metrics.ts";
import { withTimeout } from "../net/with-timeout.ts";

/** Maximum time for a member to read its metrics, most of which a store that hangs takes; Prometheus waits for 10 s. */
const READ_MS = 6000;

/** Why a process was replaced: it ended, or it was killed because its event loop stood still. */
type Cause = "ended" | "silent";

/** A member, as far as its metrics are concerned. */
export interface MemberMetrics {
  readonly name: string;
  /** The latest metrics of its process; none if it has no process, or none were read. */
  readonly metrics: readonly ReadMetric[];
  /** Reads them anew. Resolves when they are there, or the process is gone. */
  readMetrics(): Promise<void>;
}

/** The metrics of a fleet: those of its members combined, and what only their parent knows. */
export class FleetMetrics {
  readonly registry = new Registry();
  readonly #restarts = new Counter({
    name: "paihao_fleet_restarts_total",
    help: "Processes of the fleet that were replaced, since they ended or were silent",
    labelNames: ["member", "cause"],
    registers: [this.registry],
  });
  readonly #unanswered = new Counter({
    name: "paihao_fleet_unanswered_total",
    help: "Scrapes in which a process of the fleet did not report in time; its last counters were used",
    labelNames: ["member"],
    registers: [this.registry],
  });
  /** The counters of processes that have ended, without which the sums would fall. */
  #ended: readonly ReadMetric[] = [];

  readonly #readMs: number;

  /** @param members their names */
  constructor(members: readonly string[], readMs = READ_MS) {
    this.#readMs = readMs;
    for (const member of members) {
      this.#unanswered.inc({ member }, 0);
      for (const cause of ["ended", "silent"] satisfies Cause[]) this.#restarts.inc({ member, cause }, 0);
    }
  }

  countRestart(member: string, cause: Cause): void {
    this.#restarts.inc({ member, cause });
  }

  /** Keeps the counters of a process that has ended. */
  keep(metrics: readonly ReadMetric[]): void {
    const summed = AggregatorRegistry.aggregate([this.#ended, countersOf(metrics)]);
    // The library's types lack the values that its metrics have.
    this.#ended = summed.getMetricsAsArray() as unknown as ReadMetric[];
  }

  /** The metrics of the fleet as text. Members that do not report in time contribute only their last counters. */
  async exposition(members: readonly MemberMetrics[]): Promise<string> {
    const answered = await Promise.all(members.map((member) => this.#answers(member)));
    const own = await this.registry.getMetricsAsJSON();
    const read = members.map(({ metrics }, i) => (answered[i] ? metrics : countersOf(metrics)));
    return AggregatorRegistry.aggregate([this.#ended, ...read, own]).metrics();
  }

  async #answers(member: MemberMetrics): Promise<boolean> {
    try {
      await withTimeout(this.#readMs, member.readMetrics(), () => new Error("no answer in time"));
      return true;
    } catch {
      this.#unanswered.inc({ member: member.name });
      return false;
    }
  }
}

/** Metrics that only rise while a process lives, and whose sum would fall without it. */
function countersOf(metrics: readonly ReadMetric[]): ReadMetric[] {
  return metrics.filter(({ type }) => String(type) !== "gauge");
}
