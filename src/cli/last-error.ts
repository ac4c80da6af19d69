import { pathTo, type Target } from "../client/follow.ts";
import { PaihaoError } from "../client/problem.ts";
import type { Status } from "../client/status.ts";
import { CommandError, failureOf } from "./exit.ts";
import { ask } from "./server.ts";
import { plain } from "./terminal/print.ts";

/** What happened to a task, as the server tells it. */
export interface Timeline {
  readonly task: Status;
  readonly attempts: readonly {
    readonly number: number;
    readonly startedAt: string;
    readonly endedAt: string | null;
    readonly outcome: string;
    readonly worker: string | null;
    /** For whoever may read all tasks. */
    readonly error: string | null;
  }[];
  readonly attemptsOmitted: boolean;
  readonly steps: readonly { readonly name: string; readonly state: string }[];
  readonly undo: { readonly state: string; readonly error: string | null } | null;
  readonly webhooks: readonly { readonly url: string; readonly state: string; readonly attempt: number }[];
}

/** What the handler of a task threw last; null if it threw nothing, or this caller may not know. */
export async function lastErrorOf(task: Target, state: Status["state"]): Promise<string | null> {
  // A signed link does not lead to it.
  if (!["failed", "retrying"].includes(state) || task.query !== "") return null;
  try {
    const { attempts } = await ask<Timeline>(task.connection, pathTo(task, "/timeline"));
    return attempts.findLast(({ error }) => error !== null)?.error ?? null;
  } catch (error) {
    // It is an extra.
    if (error instanceof PaihaoError) return null;
    throw error;
  }
}

/** Work on a task, whose failure is told to a person with what the handler threw last. @throws CommandError; what the work throws */
export async function withLastError<T>(task: Target, json: boolean | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (json || !(error instanceof PaihaoError) || error.kind !== "failed") throw error;
    const last = await lastErrorOf(task, "failed");
    const { exitCode, message = "" } = failureOf(error);
    if (last === null || message.includes(plain(last))) throw error;
    throw new CommandError(exitCode, `${message} (last error: ${last})`, { cause: error });
  }
}
