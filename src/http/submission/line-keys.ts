import type { Context } from "koa";
import type { Share, Submission } from "../../engine/submission/submission.ts";
import { PaihaoError } from "../../errors.ts";
import type { FairOptions, Handler, KeyedOptions } from "../../handler/define.ts";
import type { Logger } from "../../log.ts";
import { senderOf } from "../security/sender.ts";

/** Most bytes of a key that a handler derives from a submission. */
const MOST_KEY_BYTES = 256;

/** What a key is derived from. */
type Derivable = Pick<Submission, "id" | "queue" | "query" | "mediaType" | "caller">;

/**
 * Whose share of the line a submission takes; undefined if the line is not fair.
 * @param value the validated input
 * @throws PaihaoError invalid-input if the handler's `by` gives no key
 */
export function shareOf(
  ctx: Context,
  handler: Handler,
  task: Derivable,
  value: unknown,
  log: Logger,
): Share | undefined {
  const { fair } = handler;
  if (fair === undefined) return undefined;
  if (fair === "caller") return { key: senderOf(ctx), weight: 1 };
  const key = derivedKey(fair.by, task, value, log);
  if (key === null) throw noKey(task, log);
  return { key, weight: weightOf(fair, key, task, log) };
}

/**
 * The key of a submission in a keyed line, null if it has none; undefined if the line is not keyed.
 * @param value the validated input
 * @throws PaihaoError invalid-input if the handler's `by` gives neither a key nor null
 */
export function keyOf(handler: Handler, task: Derivable, value: unknown, log: Logger): string | null | undefined {
  return handler.keyed && derivedKey(handler.keyed.by, task, value, log);
}

/** The key that a function of the handler derives from a submission, or null. @throws PaihaoError invalid-input */
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
  if (typeof key === "string" && Buffer.byteLength(key) <= MOST_KEY_BYTES) return key;
  // A promise is no key either; its rejection must not end the process.
  if (key instanceof Promise) key.catch(() => undefined);
  throw noKey(task, log);
}

function noKey({ id, queue }: Derivable, log: Logger): PaihaoError {
  log.warn(
    { id, queue },
    `submission refused: the handler's key function gave no string of at most ${MOST_KEY_BYTES} bytes`,
  );
  return refusal();
}

function refusal(): PaihaoError {
  const detail = "the queue cannot derive a key from this input";
  return new PaihaoError("invalid-input", `#: ${detail}`, { extensions: { errors: [{ pointer: "#", detail }] } });
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
