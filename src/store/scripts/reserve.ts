import { type Completed, type Completion, completeArguments, completed } from "./complete.ts";
import { list, number, text } from "./reply.ts";
import { BATCH_LIMIT, type BytesReply, type Script } from "./script.ts";

/** How a request asks that may be sent again while it is underway: see lua/lib/request.lua. */
export interface Asking {
  /** Tells those who send the same request from one another. */
  readonly holder: string;
  /** The generation that the first partition named; 0 asks for the next one. */
  readonly generation: number;
  /** The last generation that is known to be empty. */
  readonly after: number;
}

/** What a worker asks for. */
export interface Reservation {
  readonly queue: string;
  readonly worker: string;
  /** Of a worker's requests for the queue, of which one may be underway at a time in each lane: 0, the usual one, or 1. */
  readonly lane?: number;
  /** In place of a lane: the request is remembered by itself, however many are underway. */
  readonly asked?: Asking;
  /** Unique to this request; sent again before another in its lane, it is answered with the same tasks. */
  readonly reservation: string;
  readonly count: number;
  readonly leaseMs: number;
  /** Most starts within a span, over all workers; undefined for any number. */
  readonly rate: { readonly max: number; readonly perMs: number } | undefined;
  /**
   * How long the worker has a suspect, a task that has lost a worker before, until it says that its handler begins, ms; left out, the
   * reservation counts as the beginning.
   */
  readonly suspectLeaseMs?: number;
}

/** A task that a worker has taken. */
export interface Reserved {
  readonly id: string;
  readonly fence: string;
  readonly attempt: number;
  readonly lost: number;
  /** How often it was reserved in vain since its last loss: its handler did not begin. */
  readonly unbegun: number;
  readonly createdMs: number;
  /** Null where it is long: it is read apart, see `inputOf` of the engine. */
  readonly input: Buffer | null;
  /** Its length where it is null; 0 where the store has none. */
  readonly inputBytes: number;
  readonly mediaType: string;
  readonly query: string;
  readonly caller: string;
}

/** What a partition has decided for such a request. */
export interface Part {
  readonly generation: number;
  /** How many tasks it gave, also where they are held no more. */
  readonly given: number;
  /** It had been decided before. */
  readonly replayed: boolean;
}

/** What reserve.lua answers, and what became of the completions that went along. */
export interface ReservedPart extends Completed {
  readonly tasks: readonly Reserved[];
  /** Null while the queue is paused. */
  readonly waiting: number | null;
  /** For how long the rate allows no more. */
  readonly pauseMs: number;

  /** Null but for a request that is remembered by itself. */
  readonly part: Part | null;
}

/** While a cluster is changing: a worker has other partitions to turn to. */
const PATIENCE_MS = 500;

/**
 * Takes tasks, and finishes others on the way.
 * @param process the name of this process in records
 */
export const reserve =
  (script: Script) =>
  async (
    tag: string,
    request: Reservation,
    completions: readonly Completion[] = [],
    process = "",
  ): Promise<ReservedPart> => {
    const { queue, worker, asked, reservation, count, leaseMs, rate, suspectLeaseMs } = request;
    const lane = asked ? `${asked.holder} ${asked.generation} ${asked.after}` : (request.lane ?? 0);
    const args = [
      ...[queue, worker, lane, reservation, Math.min(count, BATCH_LIMIT), leaseMs],
      ...[rate?.max ?? 0, rate?.perMs ?? 0, suspectLeaseMs ?? 0],
      ...completeArguments(process, completions),
    ];
    const [tasks, waiting, pause, verdicts, part] = list(await script.bytes(tag, args, PATIENCE_MS));
    return {
      part: asked ? partOf(text(part)) : null,
      tasks: reservedTasks(list(tasks)),
      waiting: number(waiting) < 0 ? null : number(waiting),
      pauseMs: number(pause),
      ...completed(text(verdicts)),
    };
  };

/** Reads the tasks that reserve.lua answers: of each its facts and its input, and three more where the facts say so. */
function reservedTasks(reply: readonly BytesReply[]): Reserved[] {
  const tasks: Reserved[] = [];
  for (let at = 0; at < reply.length; at += 2) {
    const [id = "", fence = "", attempt, losses = "", created, more] = text(reply[at]).split(" ");
    const [lost, unbegun = 0] = losses.split("/");
    let [mediaType, query, caller] = ["", "", ""];
    const input = reply[at + 1];
    if (more !== undefined) {
      [mediaType = "", query = "", caller = ""] = reply.slice(at + 2, at + 5).map(text);
      at += 3;
    }
    tasks.push({
      id,
      fence,
      attempt: Number(attempt),
      lost: Number(lost),
      unbegun: Number(unbegun),
      createdMs: Number(created),
      input: Buffer.isBuffer(input) ? input : null,
      inputBytes: typeof input === "number" ? input : 0,
      mediaType: mediaType || "application/json",
      query,
      caller,
    });
  }
  return tasks;
}

/** Reads what reserve.lua answers of a request that is remembered by itself. */
function partOf(reply: string): Part {
  const [generation, given, replayed] = reply.split(" ");
  return { generation: Number(generation), given: Number(given), replayed: replayed === "1" };
}
