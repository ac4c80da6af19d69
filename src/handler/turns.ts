import { hint } from "../config/nearest.ts";
import { defineHandler, type Handler } from "./define.ts";
import { type HandlerOptions, OPTIONS } from "./options.ts";

/** The options of {@link defineTurns}. Only `queue` is required; those that handlers have, too, mean the same. */
export interface TurnsOptions<I = unknown, Q extends string = string, In = I>
  extends Pick<
    HandlerOptions<I, unknown, Q, In>,
    | "queue"
    | "description"
    | "input"
    | "label"
    | "fair"
    | "keyed"
    | "limit"
    | "presence"
    | "targetWait"
    | "resultTtl"
    | "tombstoneTtl"
  > {
  /** How many turns are taken at once, over all callers and processes; default 1. */
  slots?: number;
  /** How long one turn may last; default: any time. */
  longest?: HandlerOptions<unknown>["timeout"];
}

const LINE = [
  "description",
  "input",
  "label",
  "fair",
  "keyed",
  "limit",
  "presence",
  "targetWait",
  "resultTtl",
  "tombstoneTtl",
] as const;
/** The options of turns, in the order in which messages name them. */
export const TURNS_OPTIONS = ["queue", "slots", "longest", ...LINE] as const satisfies readonly (keyof TurnsOptions)[];

/** How long a caller may go without a look, unless the queue or the submission says otherwise. */
const PRESENCE = "30s";

/**
 * Declares a queue of turns: a line for work that is not ours to run, such as on a GPU, a staging server or a desk. Who submits to it waits
 * for a turn, works, and says when it is over. Its tasks have no handler; a caller's looks keep place and turn.
 * @throws TypeError that names the option, its value and what was expected
 */
export function defineTurns<I = unknown, Q extends string = string, In = I>(
  options: TurnsOptions<I, Q, In>,
): Handler<I, unknown, Q, In> {
  const { queue, slots = 1, longest, presence = PRESENCE, ...line } = options;
  const error = (fault: string) => new TypeError(`turns of queue ${JSON.stringify(queue)}: ${fault}`);
  for (const name of Object.keys(options)) {
    if (TURNS_OPTIONS.some((known) => known === name)) continue;
    const why = name in OPTIONS ? ", which is for handlers: turns have none" : hint(name, TURNS_OPTIONS);
    throw error(`there is no option "${name}"${why || `, expected one of ${TURNS_OPTIONS.join(", ")}`}`);
  }
  const wrong = (option: string, value: unknown, expected: string) =>
    error(`${option} is ${JSON.stringify(value)}, expected ${expected}`);
  const total = OPTIONS.concurrency.read({ each: 0, total: slots }, (value, expected) =>
    wrong("slots", value, expected),
  ).total;
  const longestMs = OPTIONS.timeout.read(longest, (value, expected) => wrong("longest", value, expected));
  const run = () => {
    throw new Error("turns are for their callers");
  };
  const handler = defineHandler<I, unknown, Q, In>({
    ...line,
    queue,
    presence,
    attempts: 1,
    concurrency: { each: 0, total: total ?? 1 },
    run,
  });
  return { ...handler, turns: { longestMs, all: true } };
}
