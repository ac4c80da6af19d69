import type { AcceptedLine } from "../wire/submission.ts";
import type { Connection } from "./connection.ts";
import { linesOf } from "./event-stream.ts";
import { MAX_LENGTH, MAX_LINES, PATIENCE_MS } from "./figures.ts";
import { errorOf, type Problem } from "./problem.ts";
import { newId, requestOf, type SubmitOptions } from "./submission.ts";
import { Limit } from "./time.ts";

/** One JSON value for each line. */
const NDJSON = "application/x-ndjson";

/** The verdict on one input of a batch. */
export type Verdict = (AcceptedLine & { readonly problem?: never }) | Refusal;

/** An input that is not accepted. */
export interface Refusal {
  readonly line: number;
  readonly problem: Problem;
}

/** What all tasks of a batch share. */
export type BatchOptions = Omit<SubmitOptions, "id" | "idempotencyKey" | "type">;

/**
 * Submits many inputs as they come, and yields a verdict for each, in order. They are sent in parts, since browsers cannot
 * stream a body, and under ids chosen here, so that inputs without a verdict can be sent again without running twice.
 * @throws PaihaoError, if a whole part is refused; the signal's reason
 */
export async function* submitAll(
  connection: Connection,
  queue: string,
  inputs: Iterable<unknown> | AsyncIterable<unknown>,
  options: BatchOptions,
  more?: Readonly<Record<string, string>>,
): AsyncGenerator<Verdict, void> {
  const typed = { ...options, type: NDJSON };
  let line = 0;
  for await (const part of partsOf(inputs, options.signal)) {
    while (part[0]) {
      const request = requestOf(queue, part.join("\n"), typed, "/batches", { ...more, envelope: "true" });
      const verdicts = await connection.send(...request, verdictsOf);
      part.splice(0, verdicts.length);
      for (const verdict of verdicts) {
        yield { ...verdict, line: line++ };
      }
    }
  }
}

/** The verdicts that arrived, even if the answer then broke off. @throws if there are none */
async function verdictsOf(response: Response): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  let failure: unknown;
  try {
    for await (const text of linesOf(response)) if (text) verdicts.push(JSON.parse(text));
  } catch (error) {
    failure = error;
  }
  if (!verdicts[0]) throw failure;
  return verdicts;
}

/** The lines of the inputs, in parts that are sent when they are full, or when the next input is slow to come; one array, to be emptied. */
async function* partsOf(
  inputs: Iterable<unknown> | AsyncIterable<unknown>,
  outer: AbortSignal | undefined,
): AsyncGenerator<string[], void> {
  const iterator = (async function* () {
    yield* inputs;
  })();
  const limit = new Limit(outer);
  const { signal } = limit;
  const part: string[] = [];
  let length = 0;
  let late: ReturnType<typeof setTimeout> | undefined;
  let wake: (found?: undefined) => void;
  let next: Promise<IteratorResult<unknown>> | undefined;
  try {
    for (;;) {
      // Not Promise.race, which keeps what it has raced until the last of its promises settles: every input, until the end.
      const found = await new Promise<IteratorResult<unknown> | undefined>((resolve, reject) => {
        wake = resolve;
        signal.onabort = () => reject(signal.reason);
        signal.throwIfAborted();
        next ??= iterator.next();
        next.then(resolve, reject);
      });
      if (found) next = undefined;
      if (found?.done === false) {
        const text = JSON.stringify({ id: newId(), input: found.value ?? null });
        length += text.length;
        late ??= setTimeout(() => wake(), PATIENCE_MS);
        part.push(text);
      }
      if (part[0] && (!found || found.done || part.length >= MAX_LINES || length >= MAX_LENGTH)) {
        clearTimeout(late);
        // Its reader leaves it empty.
        yield part;
        length = 0;
        late = undefined;
      }
      if (found?.done) return;
    }
  } finally {
    limit.release();
    // A generator that waits for its next input ends only when that has come.
    iterator.return().catch(() => undefined);
  }
}

/** How a group is submitted: `query` and the other options are those of its tasks, `webhook` is that of the group. */
export interface GroupOptions extends BatchOptions {
  /** Its id; by default a new one. Inputs are added to an open group, a closed one is refused. */
  readonly id?: string;
}

/** A group that has been submitted. */
export interface SubmittedGroup {
  readonly id: string;
  /** The inputs that are not in the group. */
  readonly refused: readonly Refusal[];
}

/** Submits many inputs as a group, and closes it. @throws PaihaoError; TypeError; the signal's reason */
export async function submitGroup(
  connection: Connection,
  queue: string,
  inputs: Iterable<unknown> | AsyncIterable<unknown>,
  { id: group = newId(), ...options }: GroupOptions,
): Promise<SubmittedGroup> {
  const refused: Refusal[] = [];
  for await (const verdict of submitAll(connection, queue, inputs, options, { group, open: "true" }))
    if (verdict.problem) refused.push(verdict);
  const closing = requestOf(queue, "", { ...options, type: NDJSON }, "/batches", { group });
  await connection
    .send(...closing, async (response) => {
      const text = await response.text();
      if (text) throw errorOf(JSON.parse(text).problem);
    })
    .catch((error) => {
      // It was closed, and the answer lost.
      if (error.code !== "id-conflict") throw error;
    });
  return { id: group, refused };
}
