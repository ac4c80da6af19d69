import { SHARED } from "../constants.ts";

const FENCES_A_MS = 10 ** SHARED.fenceDigits;

/** The facts about the last run of a task. */
interface Run {
  /** How many attempts have begun. */
  readonly attempts: number;
  /** When the last one began; null if none has, or if it was handed back. */
  readonly startedMs: number | null;
  /** The end of the name of its worker; "" if it has none and had none last. */
  readonly worker: string;
}

/** Reads the field `run`, see task/run.lua; "" if the task was never reserved. */
export function runOf(run: string): Run {
  const [fence, late = "-", attempts, _place, worker = ""] = run.split(" ");
  const startedMs = SHARED.epochMs + Math.floor(Number(fence) / FENCES_A_MS) + Number(late);
  return { attempts: Number(attempts) || 0, startedMs: Number.isFinite(startedMs) ? startedMs : null, worker };
}

/** The part of a worker's name that the record of a task has. */
export function workerEnd(worker: string): string {
  return Buffer.from(worker).subarray(-SHARED.workerBytes).toString();
}
