import { isInternalQueue } from "../../handler/internal-queues.ts";
import type { Logger } from "../../log.ts";
import { SHARED } from "../../store/constants.ts";
import type { Keys } from "../../store/keys.ts";
import type { Scripts } from "../../store/library/scripts.ts";
import { type DeploymentEvent, INCIDENT_KINDS } from "../../wire/operations.ts";
import { newCall } from "../calls/calls.ts";
import { estimate } from "../estimates/estimate.ts";
import type { Queues } from "../queues.ts";
import type { Events } from "./events.ts";
import type { Histories } from "./history.ts";
import { type Fault, faultsOf, LineGrowth, pastOf, storeFull, workersLost } from "./incidents.ts";

/** A fault that is known. */
export interface KnownFault extends Fault {
  readonly sinceMs: number;
  /** When it was last there: a figure that goes to and fro at its limit is one incident. */
  readonly seenMs: number;
  /** Whether its beginning has been told. */
  readonly told: boolean;
}

/** A fault that has not been seen for this long has ended, ms. */
const CALM_MS = 30_000;
/** One that is gone sooner than this is not told of, ms: a worker that is started again is no incident. */
const TOLD_AFTER_MS = 4000;
/** What was told longer ago than this says nothing about now, ms. */
const OLD_MS = 60_000;
/** Those that the store itself tells when they begin, and when they have ended for a while. */
const AT_ONCE: ReadonlySet<Fault["kind"]> = new Set(["store-full"]);
/** How often the past of a queue is read, ms: it changes slowly. */
const PAST_MS = 60_000;
/** For how long workers are told of that were lost, ms. */
const LOST_MS = 600_000;
/** Kinds of which events of another kind tell. */
const TOLD_BY_OTHERS: ReadonlySet<Fault["kind"]> = new Set([
  ...(["store-full", "queue-full", "target-down", "workers-lost", "schedule-missed"] as const),
]);

interface IncidentParts {
  readonly scripts: Scripts;
  readonly keys: Keys;
  readonly queues: Pick<Queues, "allFigures" | "isOrphaned" | "settings">;
  readonly histories: Pick<Histories, "samples">;
  readonly events: Pick<Events, "fullStore">;
}

/**
 * What is wrong with the deployment. One process at a time looks, and keeps in the store what it has found; all others read that, so that
 * nothing is computed for a page or a probe.
 */
export class Incidents {
  readonly #parts: IncidentParts;
  readonly #process = newCall();
  readonly #sources: (() => Promise<readonly Fault[]>)[] = [];
  readonly #growth = new Map<string, LineGrowth>();
  #past = new Map<string, ReturnType<typeof pastOf>>();
  #pastAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: IncidentParts) {
    this.#parts = parts;
  }

  /** Adds what an extension finds wrong. */
  add(source: () => Promise<readonly Fault[]>): void {
    this.#sources.push(source);
  }

  /** What is wrong as of the last look, the worst first. @throws ProblemError store-unavailable */
  async read(): Promise<readonly KnownFault[]> {
    const { scripts, keys } = this.#parts;
    const { list, toldMs, nowMs } = await scripts.incidents(keys.tag(0), {});
    return nowMs - toldMs > OLD_MS ? [] : faultsIn(list).filter(({ seenMs }) => seenMs === toldMs);
  }

  /** Looks, if it is this process that does; tells what has begun and ended. @throws ProblemError store-unavailable */
  async look(log: Logger): Promise<void> {
    const { scripts, keys } = this.#parts;
    const { isWatching, list, nowMs } = await scripts.watchIncidents(keys.tag(0), { process: this.#process });
    if (!isWatching) {
      this.#growth.clear();
      return;
    }
    const known = new Map(faultsIn(list).map((fault) => [nameOf(fault), fault]));
    const now = (await this.#find(nowMs)).map((fault): KnownFault => {
      const before = known.get(nameOf(fault));
      const sinceMs = before?.sinceMs ?? nowMs;
      return {
        ...fault,
        sinceMs,
        seenMs: nowMs,
        told: before?.told === true || nowMs - sinceMs >= (AT_ONCE.has(fault.kind) ? 0 : TOLD_AFTER_MS),
      };
    });
    const begun = now.filter((fault) => fault.told && known.get(nameOf(fault))?.told !== true);
    const there = new Set(now.map(nameOf));
    const gone = [...known.values()].filter((fault) => !there.has(nameOf(fault)));
    const calming = gone.filter(({ kind, seenMs }) => !AT_ONCE.has(kind) && nowMs - seenMs < CALM_MS);
    const ended = gone.filter((fault) => fault.told && !calming.includes(fault));
    const events = [...begun.map(eventOf("incident-began")), ...ended.map(eventOf("incident-ended"))].flat();
    const isTold = await scripts.tellIncidents(keys.tag(0), {
      process: this.#process,
      lookedMs: nowMs,
      list: JSON.stringify([...now, ...calming]),
      events,
    });
    if (!isTold) return;
    for (const fault of begun) tellLog(log, fault, "begins");
    for (const fault of ended) tellLog(log, fault, "has ended");
  }

  async #find(nowMs: number): Promise<Fault[]> {
    const { scripts, keys, queues, events } = this.#parts;
    const [rows, lost, ...more] = await Promise.all([
      queues.allFigures(),
      scripts.lostWorkers(keys.tag(0), {}),
      ...this.#sources.map((source) => source()),
    ]);
    const busy = rows.filter(({ snapshot, finishedLastMinute }) => snapshot.running > 0 || finishedLastMinute > 0);
    await this.#readPast(
      busy.map(({ snapshot }) => snapshot.queue).filter((queue) => !isInternalQueue(queue)),
      nowMs,
    );
    const found: Fault[] = more.flat();
    const { fullStore } = events;
    if (fullStore !== undefined) found.push(storeFull(fullStore));
    const lately = lost.filter(({ lostMs }) => nowMs - lostMs < LOST_MS);
    if (lately.length > 0) found.push(workersLost(lately.length, LOST_MS));
    for (const row of rows) {
      const { snapshot } = row;
      const { queue } = snapshot;
      const growth = this.#growth.get(queue) ?? new LineGrowth();
      this.#growth.set(queue, growth);
      const eta = estimate(snapshot, { state: "waiting", index: row.newcomerIndex }, nowMs);
      const state = {
        row,
        isOrphaned: queues.isOrphaned(row),
        maxWaiting: queues.settings(queue).maxWaiting,
        heldBy: eta?.rate ?? null,
        past: this.#past.get(queue) ?? null,
        grownFrom: growth.add(snapshot.waiting, nowMs),
      };
      found.push(...faultsOf(state));
    }
    return found.sort((a, b) => INCIDENT_KINDS.indexOf(a.kind) - INCIDENT_KINDS.indexOf(b.kind));
  }

  /** Reads how queues did before, now and then. */
  async #readPast(queues: readonly string[], nowMs: number): Promise<void> {
    if (nowMs - this.#pastAtMs < PAST_MS) return;
    this.#pastAtMs = nowMs;
    const samples = await this.#parts.histories.samples(queues);
    this.#past = new Map([...samples].map(([queue, some]) => [queue, pastOf(some, SHARED.bucketMs, nowMs)] as const));
  }
}

/** What makes two faults the same incident. */
const nameOf = ({ kind, queue }: Fault): string => `${kind} ${queue ?? ""}`;

const faultsIn = (list: string): readonly KnownFault[] => (list === "" ? [] : JSON.parse(list));

/** The event of a fault, as it is kept; none of what somebody wants so, or of which another event tells. */
const eventOf =
  (kind: DeploymentEvent["kind"]) =>
  ({ kind: of, level, queue, text }: KnownFault): string[] =>
    level === "amber" || TOLD_BY_OTHERS.has(of)
      ? []
      : [JSON.stringify({ kind, ...(queue !== null && { queue }), detail: text })];

function tellLog(log: Logger, { kind, level, queue, text, runbook }: KnownFault, phase: string): void {
  if (level === "amber") return;
  log.warn({ incident: kind, ...(queue !== null && { queue }), text, runbook }, `incident ${phase}: ${text}`);
}
