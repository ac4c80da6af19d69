import { createHash } from "node:crypto";
import { INLINE_BYTES } from "../../store/fields.ts";
import type { TaskRecord } from "../../store/task/record.ts";
import type { SubmitItem } from "../../store/task/submit.ts";
import { SUBMIT_DEFAULTS, type SubmitOptions } from "../../wire/submission.ts";
import { isLarge } from "../calls/large-values.ts";
import type { QueueSettings } from "../settings.ts";

/** A task to be submitted: checked, but not stored yet. */
export interface Submission {
  readonly id: string;
  readonly queue: string;
  /** JSON text, or bytes of another media type. */
  readonly input: string | Buffer;
  readonly mediaType: string;
  /** What identifies a repetition of the submission; default: the whole input. */
  readonly identity?: string | undefined;
  readonly caller: string | null;
  readonly options: SubmitOptions;
  /** The share that it takes in a fair line; undefined in any other line. */
  readonly share?: Share | undefined;
  /** Its key in a keyed line, or for the `limit` of its handler; null for none; undefined in any other line. */
  readonly key?: string | null | undefined;
  /** The task whose input is submitted again. */
  readonly original?: Original | undefined;
  /** The trace context of the submitter: traceparent, then perhaps a space and tracestate. */
  readonly trace?: string | undefined;
  /** Whether it is a turn of a caller that has come in by a door. In a queue of turns, every task is one. */
  readonly byDoor?: boolean;
  /** The group that it joins, which is open, and the line of its batch. */
  readonly member?: { readonly group: string; readonly line: number } | undefined;
}

/** A task whose input is submitted again. */
export type Original = Pick<TaskRecord, "createdMs" | "queue"> & Pick<SubmitItem, "id">;

/** A share of a fair line. */
export interface Share {
  readonly key: string;
  readonly weight: number;
}

/** The arguments of the scripts for a submission. */
export interface Item extends SubmitItem {
  /** Whether they use the connection for large values. */
  readonly large: boolean;
}

/**
 * Makes these arguments.
 * @param listener the process that is notified of its end, "" for none
 */
export function itemOf(
  s: Submission,
  settings: QueueSettings,
  {
    listener = "",
    large = isLarge(s.input),
    trace = s.trace,
  }: { listener?: string; large?: boolean; trace?: string | undefined } = {},
): Item {
  const { query } = s.options;
  const turn = isTurn(s, settings) ? (settings.turns?.longestMs ?? 0) : undefined;
  const dropInput = settings.dropInput && turn === undefined;
  return {
    id: s.id,
    queue: s.queue,
    input: s.input,
    // What is dropped before the record leaves its digest there, by which repetitions are known.
    digest:
      Buffer.byteLength(s.input) > INLINE_BYTES || s.identity !== undefined || dropInput
        ? digestOf(s.identity ?? s.input)
        : "",
    mediaType: s.mediaType === "application/json" ? "" : s.mediaType,
    query: s.options === SUBMIT_DEFAULTS || Object.keys(query).length === 0 ? "" : JSON.stringify(query),
    caller: s.caller ?? "",
    limit: settings.maxWaiting,
    undo: settings.undo,
    dropInput,
    original: s.original?.id,
    group: s.member?.group,
    line: s.member && String(s.member.line),
    turn,
    listener,
    options: s.options,
    share: s.share && storedShare(s.share),
    key: s.key === undefined ? undefined : storedKey(s.key, settings),
    trace,
    large,
  };
}

/** Whether its caller works, when it is their turn; otherwise a worker does. */
export function isTurn({ byDoor }: Pick<Submission, "byDoor">, { turns }: Pick<QueueSettings, "turns">): boolean {
  return turns !== undefined && (turns.all || byDoor === true);
}

/** Weights beyond these count as these: a single task must not use up the span of the virtual time. */
const WEIGHTS = { min: 0.001, max: 1000 } as const;
/** A longer key is stored as its digest, so that a task's hash keeps its compact encoding. */
const KEY_BYTES = 36;

function storedShare({ key, weight }: Share): string {
  const known = Number.isFinite(weight) && weight > 0 ? weight : 1;
  return `${Math.min(WEIGHTS.max, Math.max(WEIGHTS.min, known))} ${nameOf(key)}`;
}

function storedKey(key: string | null, { keyedConcurrency = 1, keyedWaiting }: QueueSettings): string {
  const most = Number.isFinite(keyedWaiting) ? `/${keyedWaiting}` : "";
  return key === null ? `${keyedConcurrency}${most}` : `${keyedConcurrency}${most} ${nameOf(key)}`;
}

/** A key as it is stored. */
export function nameOf(key: string): string {
  return Buffer.byteLength(key) < KEY_BYTES ? `=${key}` : `#${digestOf(key)}`;
}

function digestOf(identity: string | Buffer): string {
  return createHash("sha256").update(identity).digest("hex").slice(0, 32);
}
