import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { hint } from "../config/nearest.ts";
import { isGiveUp, isRetryLater } from "./intents.ts";
import { isInternalQueue, RESERVED_PREFIX } from "./internal-queues.ts";
import {
  type BatchHandlerOptions,
  type HandlerOptions,
  type HandlerResult,
  OPTIONS,
  type ReadOptions,
} from "./options.ts";
import type { TaskContext } from "./task-context.ts";

export type {
  BatchHandlerOptions,
  BatchOptions,
  FairOptions,
  HandlerOptions,
  HandlerResult,
  KeyedOptions,
  LimitOptions,
  ScheduleOptions,
} from "./options.ts";

/** Marks handlers across copies of this module, since a handler file may load another copy than the server. */
const HANDLER = Symbol.for("paihao.handler");

/**
 * A handler as the server uses it: checked, with durations in ms, and omitted options undefined. Its functions are called only
 * with its own inputs and tasks.
 */
export interface Handler<I = unknown, R = HandlerResult, Q extends string = string, In = I>
  extends Omit<ReadOptions, "queue" | "schema" | "run"> {
  readonly [HANDLER]: true;
  readonly queue: Q;
  /** Set if only a route of its own makes its tasks: the path. Nobody else can submit them, or run them again. */
  readonly entrance?: string;
  /** A gate decides beside the line when work is taken. */
  readonly gated?: true;
  /**
   * Set if turns of callers who work themselves stand in its line: for how long one may last, undefined for any time; and whether all its
   * tasks are turns, or only those that come in by a door, while workers run the others.
   */
  readonly turns?: { readonly longestMs: number | undefined; readonly all: boolean } | undefined;
  /** Never set: tells the compiler what `paihao/client` sends and receives. */
  readonly types?: { readonly input: In; readonly result: R };
  readonly schema: StandardSchemaV1<unknown, I> | undefined;
  /** Of a handler with `batch`: a call for one task alone. */
  run(input: I, task: TaskContext): Promise<R> | R;
  /** Only of a handler with `batch`: what `run` of its options returns, which need not be an array. */
  runBatch?(inputs: readonly unknown[], tasks: readonly TaskContext[]): unknown;
}

const internal = new WeakSet<object>();

/** Declares a handler of the server's own, whose queue has a reserved name. */
export function defineInternalHandler<I>(options: HandlerOptions<I>): Handler<I> {
  internal.add(options);
  return defineHandler(options);
}

/**
 * Declares the handler of a queue. Its types are inferred: the input that callers send (`In`) and `run` gets (`I`), the result
 * (`R`) and the queue's name (`Q`), so that a client can be typed by it.
 * @throws TypeError that names the option, its value and what was expected
 */
export function defineHandler<I = unknown, R = HandlerResult, Q extends string = string, In = I>(
  options: HandlerOptions<I, R, Q, In>,
): Handler<I, R, Q, In>;
/** The same with `batch`: `run` gets arrays and returns one. Callers send one input and get one result, as ever. */
export function defineHandler<I = unknown, R = HandlerResult, Q extends string = string, In = I>(
  options: BatchHandlerOptions<I, R, Q, In>,
): Handler<I, Exclude<R, Error>, Q, In>;
export function defineHandler<I, R, Q extends string, In>(
  options: HandlerOptions<I, R, Q, In> | BatchHandlerOptions<I, R, Q, In>,
): Handler<I, R, Q, In> {
  const { queue } = options;
  const error = (fault: string) => new TypeError(`handler of queue ${JSON.stringify(queue)}: ${fault}`);
  const wrong = (option: string, value: unknown, expected: string) => {
    const given = typeof value === "function" ? "a function" : JSON.stringify(value);
    return error(`${option} is ${given}, expected ${expected}`);
  };
  // Other names are the handler's own members, which `run` can use through `this`.
  const refuseMisspelt = (given: object, names: readonly string[], above = "") => {
    for (const name of Object.keys(given)) {
      const meant = names.includes(name) ? "" : hint(name, names);
      if (meant !== "") throw error(`there is no option "${above}${name}"${meant}`);
    }
  };

  refuseMisspelt(options, Object.keys(OPTIONS));
  const handler: Record<PropertyKey, unknown> = { [HANDLER]: true };
  for (const [name, { as, read, members }] of Object.entries(OPTIONS)) {
    const given: unknown = Reflect.get(options, name);
    if (typeof given === "object" && given !== null && members.length > 0) refuseMisspelt(given, members, `${name}.`);
    // Each option refuses values that `HandlerOptions` does not allow.
    handler[as] = read(given as never, (value, expected, member = "") => wrong(`${name}${member}`, value, expected));
  }
  if (isInternalQueue(queue) && !internal.has(options))
    throw wrong("queue", queue, `a name that does not start with "${RESERVED_PREFIX}"`);
  if (options.keyed !== undefined && options.limit !== undefined) {
    throw error("limit cannot be combined with keyed: a task has one line key");
  }
  if (options.batch === undefined) handler.run = (input: I, task: TaskContext) => options.run(input, task);
  else {
    if (handler.isolate !== undefined)
      throw error("isolate cannot be combined with batch: a child process runs one task at a time");
    const runBatch = (inputs: I[], tasks: TaskContext[]) => options.run(inputs, tasks);
    handler.runBatch = runBatch;
    handler.run = async (input: I, task: TaskContext) => resultOf(answersOf(await runBatch([input], [task]), 1)[0]);
  }
  // It has every member, since `ReadOptions` follows from the same table.
  return handler as unknown as Handler<I, R, Q, In>;
}

/** Whether a value was made by {@link defineHandler}, of this copy of the module or another. */
export function isHandler(value: unknown): value is Handler {
  return typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[HANDLER] === true;
}

/**
 * What a handler with `batch` returned, an answer for each of its tasks.
 * @throws TypeError if there are not as many
 */
export function answersOf(returned: unknown, tasks: number): readonly unknown[] {
  if (Array.isArray(returned) && returned.length === tasks) return returned;
  const given = Array.isArray(returned) ? `an array of ${returned.length}` : typeof returned;
  throw new TypeError(
    `a handler with batch returns an array with a result for each of its tasks: expected ${tasks}, got ${given}`,
  );
}

/**
 * The result of one task of a batch.
 * @throws the answer if it says that the task has failed: an error, or an intent of any copy of this module
 */
export async function resultOf(answer: unknown): Promise<unknown> {
  const awaited = await answer;
  if (awaited instanceof Error || isGiveUp(awaited) || isRetryLater(awaited)) throw awaited;
  return awaited;
}

/** Of each handler, since a schema library takes long to make one. */
const SCHEMAS = new WeakMap<Handler, Record<string, unknown> | null>();

/** The JSON Schema (2020-12) of the input of a handler; null if its schema library cannot generate one. */
export function inputJsonSchema(handler: Handler): Record<string, unknown> | null {
  const known = SCHEMAS.get(handler);
  if (known !== undefined) return known;
  const schema = readJsonSchema(handler);
  SCHEMAS.set(handler, schema);
  return schema;
}

function readJsonSchema(handler: Handler): Record<string, unknown> | null {
  const standard = handler.schema?.["~standard"] as Partial<StandardJSONSchemaV1["~standard"]> | undefined;
  try {
    return standard?.jsonSchema?.input({ target: "draft-2020-12" }) ?? null;
  } catch {
    // Some schemas (a transform, a custom check) have no JSON Schema, although they validate.
    return null;
  }
}

/** Whether a handler takes a media type (without parameters, in lower case). */
export function consumesType(handler: Handler, mediaType: string): boolean {
  return handler.consumes.some(
    (range) =>
      range === "*/*" || range === mediaType || (range.endsWith("/*") && mediaType.startsWith(range.slice(0, -1))),
  );
}
