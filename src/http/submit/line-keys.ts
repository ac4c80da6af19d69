import type { Context } from "koa";
import type { Submission } from "../../engine/tasks/submission.ts";
import { ProblemError } from "../../errors.ts";
import type { FairOptions, Handler, KeyedOptions } from "../../handler/define.ts";
import type { Logger } from "../../log.ts";
import { senderOf } from "../request/access.ts";

/** The maximum length of a line key, in bytes. */
const MAX_KEY_BYTES = 256;

/** What a line key is derived from. */
type Derivable = Parameters<KeyedOptions["by"]>[1];

/**
 * The line key whose share of a fair line a submission takes, and its key in a keyed one, or the one that `limit` counts; null if it has
 * none.
 * @param ctx null if the server itself submits it
 * @param value the validated input
 * @throws ProblemError invalid-input if the handler's `by` gives no key
 */
export function lineKeysOf(
  ctx: Context | null,
  { fair, keyed, limit }: Handler,
  task: Derivable,
  value: unknown,
  log: Logger,
): Pick<Submission, "share" | "key"> {
  const by = limit?.by ?? keyed?.by;
  return {
    share: fair && shareOf(ctx, fair, task, value, log),
    key: by && (by === "caller" ? senderOf(ctx) : derivedKey(by, task, value, log)),
  };
}

function shareOf(
  ctx: Context | null,
  fair: NonNullable<Handler["fair"]>,
  task: Derivable,
  value: unknown,
  log: Logger,
): Submission["share"] {
  if (fair === "caller") return { key: senderOf(ctx), weight: 1 };
  const key = derivedKey(fair.by, task, value, log);
  if (key === null) throw noKey(task, log);
  return { key, weight: weightOf(fair, key, task, log) };
}

/** The line key that a handler's function derives from a submission, or null. @throws ProblemError invalid-input */
function derivedKey(by: KeyedOptions["by"], task: Derivable, value: unknown, log: Logger): string | null {
  const { id, queue, query, mediaType, caller } = task;
  let key: unknown;
  try {
    key = by(value, { id, queue, query, mediaType, caller });
  } catch (error) {
    log.warn({ err: error, id, queue }, "submission refused: the handler's key function failed");
    throw refusal();
  }
  if (key === null) return key;
  if (typeof key === "string" && Buffer.byteLength(key) <= MAX_KEY_BYTES) return key;
  // A promise is not a key either, and its rejection must not end the process.
  if (key instanceof Promise) key.catch(() => undefined);
  throw noKey(task, log);
}

function noKey({ id, queue }: Derivable, log: Logger): ProblemError {
  log.warn(
    { id, queue },
    `submission refused: the handler's key function did not return a string of at most ${MAX_KEY_BYTES} bytes`,
  );
  return refusal();
}

function refusal(): ProblemError {
  const detail = "the queue cannot derive a key from this input";
  return new ProblemError("invalid-input", `#: ${detail}`, { extensions: { errors: [{ pointer: "#", detail }] } });
}

function weightOf({ weight }: FairOptions, key: string, { id, queue }: Derivable, log: Logger): number {
  if (weight === undefined) return 1;
  try {
    return weight(key);
  } catch (error) {
    log.warn({ err: error, id, queue }, "the handler's weight function failed; weight 1 is used");
    return 1;
  }
}
