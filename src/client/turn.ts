import type { Turn as Called } from "../wire/task.ts";
import type { Connection } from "./connection.ts";
import { follow, type Target, targetOf } from "./follow.ts";
import { errorOf, ownProblem, type PaihaoError, type Problem } from "./problem.ts";
import { hasEnded, type Status } from "./status.ts";
import type { SubmitOptions } from "./submission.ts";
import { Limit, rejection } from "./time.ts";
import { whileWanted } from "./wanted.ts";

/** A turn that has come. `until` is as of then: each look moves it, and the client looks for as long as the work lasts. */
export interface Turn extends Called {
  /** Of its task. */
  readonly id: string;
  /** Fires when the turn is lost, with the error as its reason, and when the signal of the options does. */
  readonly signal: AbortSignal;
}

/** How a turn is taken: as a task is submitted, but without a key that others may have, too. */
export interface TurnOptions<I = unknown> extends Omit<SubmitOptions, "idempotencyKey"> {
  /** What the queue takes as input; none by default. */
  readonly input?: I;
  /** Called with every change: place in line, state. */
  readonly onUpdate?: (status: Status) => void;
}

/**
 * See {@link PaihaoClient.turn}.
 * @param watching for what follows the submission
 */
export async function takeTurn<T>(
  connection: Connection,
  queue: string,
  work: (turn: Turn) => T | Promise<T>,
  options: TurnOptions,
  watching = connection,
): Promise<T> {
  const limit = new Limit(options.signal);
  return whileWanted(connection, queue, options.input, { ...options, limit }, async ({ id }) => {
    const task = targetOf(watching, id);
    const looking = new AbortController();
    const turn = new AbortController();
    let isMine = false;
    const events = follow(task, { signal: looking.signal, isPatient: () => isMine });
    /** Looks until this is so. */
    const until = async (is: (status: Status) => unknown): Promise<Status> => {
      for (;;) {
        const { value } = await events.next();
        const status = value?.data as Status;
        options.onUpdate?.(status);
        if (is(status)) return status;
      }
    };
    try {
      const called = until((status) => status.state === "running" || hasEnded(status));
      const status = await Promise.race([called, rejection(limit.signal)]);
      isMine = true;
      // It may have fired since.
      limit.signal.throwIfAborted();
      if (!status.turn) throw await overOf(task, status);
      limit.signal.onabort = () => turn.abort(limit.signal.reason);
      let isWorking = true;
      const over = until(hasEnded).then((ended) => overOf(task, ended));
      // When the work has ended, the answer to that decides.
      void over.catch((error) => error).then((reason) => isWorking && turn.abort(reason));
      const value = await work({ id, ...status.turn, signal: turn.signal });
      turn.signal.throwIfAborted();
      isWorking = false;
      const body = JSON.stringify(value);
      const given = rejection(limit.signal);
      try {
        await Promise.race([
          watching.send(
            `${task.path}/done?turn=${status.turn.fence}`,
            {
              method: "POST",
              ...(body && { body, headers: { "Content-Type": "application/json" } }),
            },
            (response) => response.text(),
          ),
          given,
        ]);
      } catch (error) {
        throw (error as Partial<PaihaoError>).code === "not-running" ? await Promise.race([over, given]) : error;
      }
      return value;
    } catch (error) {
      const reason = turn.signal.aborted ? turn.signal.reason : error;
      if (isMine) limit.abort(reason);
      throw reason;
    } finally {
      looking.abort();
    }
  });
}

/** Why a turn has ended, or never came. */
async function overOf({ connection, path }: Target, status: Status): Promise<PaihaoError> {
  let { problem } = status as { problem?: Problem };
  // A poll does not tell it.
  if (!problem && status.error) problem = await connection.json<Problem>(path, {});
  return errorOf(problem ?? ownProblem("There is no turn", 0, `${path} is ${status.state} without one`));
}
