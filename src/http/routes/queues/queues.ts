import { type Eta, estimate } from "../../../engine/estimates/estimate.ts";
import { slotsWanted } from "../../../engine/estimates/slots-wanted.ts";
import { inputJsonSchema } from "../../../handler/input.ts";
import { isInternalQueue } from "../../../handler/internal-queues.ts";
import type { QueueRow } from "../../../store/verbs/scripts.ts";
import { timestamp } from "../../../timestamp.ts";
import type { Api } from "../../api.ts";
import type { Endpoints } from "../../routes.ts";
import { shownQueue } from "../submit/submit.ts";

/** A queue as `/v1/queues` shows it. */
export interface QueueDocument {
  readonly name: string;
  /** It is one of the server's own, for webhooks or undo. */
  readonly own: boolean;
  /** No process has a handler for it any more: what it holds will not run. */
  readonly orphaned: boolean;
  readonly paused: boolean;
  readonly waiting: number;
  readonly scheduled: number;
  /** Of a keyed queue, how many of the waiting tasks wait for another of their key; null for any other. */
  readonly held: number | null;
  readonly running: number;
  readonly dead: number;
  readonly workers: number;
  readonly slots: number;
  readonly oldestWaitingSeconds: number | null;
  /** Seconds. */
  readonly serviceTime: { readonly mean: number | null; readonly samples: number };
  /** Per second, over the last minute. */
  readonly rate: { readonly accepted: number; readonly finished: number; readonly failed: number };
  /** The estimate for a new task; in a fair line, for one whose key has no other waiting. */
  readonly eta: Eta | null;
  /** Whether tasks of the same priority start by arrival, or keys take turns. */
  readonly order: "arrival" | "fair";
  /** A gateway whose API is down: it takes no work but a probe now and then. */
  readonly resting: { readonly since: string; readonly reason: string; readonly nextProbe: string } | null;
  /** Slots that would start a new task within the handler's `targetWait`; null without one, or if unknown. */
  readonly slotsWanted: number | null;
  readonly consumes: readonly string[];
  readonly input: Record<string, unknown> | null;
}

/** Queues and their figures. */
export function queueEndpoints(api: Api): Endpoints<"queues" | "queue"> {
  return {
    queues: async (ctx) => {
      const figures = await api.engine.allFigures();
      ctx.set("Cache-Control", "no-store");
      ctx.body = { items: figures.map((row) => documentOf(api, row)) };
    },
    queue: async (ctx) => {
      const queue = shownQueue(api, ctx.params.queue);
      ctx.set("Cache-Control", "no-store");
      ctx.body = await queueDocument(api, queue);
    },
  };
}

/** A queue as it is now. */
export async function queueDocument(api: Api, queue: string): Promise<QueueDocument | undefined> {
  const [row] = await api.engine.figures([queue]);
  return row && documentOf(api, row);
}

const thousandth = (value: number): number => Math.round(value * 1000) / 1000;

function documentOf(api: Api, row: QueueRow): QueueDocument {
  const { snapshot } = row;
  const { queue } = snapshot;
  // That of another process has its own; and an orphaned queue has none.
  const handler = api.handlers.get(queue) ?? api.ownHandlers.get(queue);
  return {
    name: queue,
    own: isInternalQueue(queue),
    orphaned: api.engine.isOrphaned(row),
    paused: snapshot.paused,
    waiting: snapshot.waiting,
    scheduled: snapshot.scheduled,
    held: snapshot.startable === undefined ? null : Math.max(0, snapshot.waiting - snapshot.startable),
    running: snapshot.running,
    dead: row.dead,
    workers: snapshot.workers,
    slots: snapshot.slots,
    oldestWaitingSeconds: row.oldestWaitingMs === null ? null : thousandth(row.oldestWaitingMs / 1000),
    serviceTime: {
      mean: snapshot.meanMs === null ? null : thousandth(snapshot.meanMs / 1000),
      samples: snapshot.samples,
    },
    rate: {
      accepted: thousandth(row.acceptedLastMinute / 60),
      finished: thousandth(row.finishedLastMinute / 60),
      failed: thousandth(row.failedLastMinute / 60),
    },
    eta: estimate(snapshot, { state: "waiting", index: row.newcomerIndex }, Date.now()),
    order: handler?.fair ? "fair" : "arrival",
    resting: row.rest && {
      since: timestamp(row.rest.sinceMs),
      reason: row.rest.reason,
      nextProbe: timestamp(row.rest.nextProbeMs),
    },
    slotsWanted: slotsWanted(row, handler?.targetWaitMs),
    consumes: handler?.consumes ?? [],
    input: handler ? inputJsonSchema(handler) : null,
  };
}
