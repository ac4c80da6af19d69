import type { HandlerEnd } from "../../engine/tasks/attempt-end.ts";
import { answersOf, type Handler, resultOf } from "../../handler/define.ts";
import { notedOn } from "../../handler/task-context.ts";
import type { Input } from "../../task.ts";
import type { Context } from "../attempt/task-context.ts";
import { endOfThrown, PermanentError } from "./handler-end.ts";
import { isBody, toAnswer, toResult } from "./result.ts";

/** Maximum number of validation issues that are reported. */
const ISSUES = 20;

/**
 * Runs a handler on an input, from the stored bytes to the bytes to store. Never throws or rejects. Returns the end of a
 * synchronous handler without a promise: promises would cost more than everything else about a short task.
 */
export function perform(
  handler: Handler,
  input: Input,
  task: Context,
  maxResultBytes: number,
): HandlerEnd | Promise<HandlerEnd> {
  try {
    const read = readInput(handler, input);
    const answer = read instanceof Promise ? read.then((value) => handler.run(value, task)) : handler.run(read, task);
    const isThere = !isThenable(answer) && !isBody(answer) && task.settled() === undefined;
    if (!isThere) return awaited(answer, task, maxResultBytes);
    return { kind: "result", result: toAnswer(answer, maxResultBytes) };
  } catch (thrown) {
    return awaited(Promise.reject(thrown), task, maxResultBytes);
  }
}

/** One of the tasks that a handler with `batch` gets in one call. */
export interface BatchMember {
  readonly input: Input;
  readonly context: Context;
}

/**
 * Runs a handler with `batch` on several inputs; returns the end of each. If it throws, or does not return an array with a result for each,
 * all of them fail. An input that the schema refuses is not passed, and fails alone. Never rejects.
 */
export async function performBatch(
  handler: Handler,
  members: readonly BatchMember[],
  maxResultBytes: number,
): Promise<HandlerEnd[]> {
  const read = await Promise.allSettled(members.map(async ({ input }) => readInput(handler, input)));
  const inputs = read.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const tasks = members.flatMap(({ context }, n) => (read[n]?.status === "fulfilled" ? [context] : []));
  const answers = await answersTo(handler, inputs, tasks);
  let called = 0;
  const ends = members.map(({ context }, n) => {
    const one = read[n];
    if (one?.status === "rejected") return awaited(Promise.reject(one.reason), context, maxResultBytes);
    const answer = "thrown" in answers ? Promise.reject(answers.thrown) : resultOf(answers.given[called]);
    called += 1;
    return awaited(answer, context, maxResultBytes);
  });
  return await Promise.all(ends);
}

/** What the handler returned for each task, or what it threw. */
async function answersTo(
  handler: Handler,
  inputs: readonly unknown[],
  tasks: readonly Context[],
): Promise<{ readonly given: readonly unknown[] } | { readonly thrown: unknown }> {
  if (inputs.length === 0) return { given: [] };
  try {
    return { given: answersOf(await handler.runBatch?.(inputs, tasks), inputs.length) };
  } catch (thrown) {
    return { thrown };
  }
}

/** Waits for the handler's answer, for steps that still run, and until its output is stored. */
async function awaited(pending: unknown, task: Context, maxResultBytes: number): Promise<HandlerEnd> {
  const end = await endOf(pending, task, maxResultBytes);
  const noted = notedOn(task);
  return noted === undefined ? end : { ...end, noted };
}

async function endOf(pending: unknown, task: Context, maxResultBytes: number): Promise<HandlerEnd> {
  try {
    const answer = await pending;
    const unsettled = task.settled();
    if (unsettled !== undefined) await unsettled;
    const result = toResult(answer, maxResultBytes, task);
    return { kind: "result", result: result instanceof Promise ? await result : result };
  } catch (thrown) {
    await task.settled();
    return endOfThrown(thrown, maxResultBytes);
  }
}

/** Whether `await` would wait for it. */
function isThenable(value: unknown): boolean {
  if (value === null || (typeof value !== "object" && typeof value !== "function")) return false;
  return "then" in value && typeof value.then === "function";
}

/** The input for the handler: parsed and validated JSON, or bytes. A promise only if the schema is asynchronous. */
function readInput(handler: Handler, { bytes, mediaType }: Input): unknown {
  if (mediaType !== "application/json") return new Uint8Array(bytes);
  // Bytes from another process arrive as a plain Uint8Array.
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const value: unknown = JSON.parse(buffer.toString("utf8"));
  return handler.schema ? validated(handler.schema, value) : value;
}

/** Validated again after submission, since the schema may add defaults, or may have changed in a new version. */
async function validated(schema: NonNullable<Handler["schema"]>, value: unknown): Promise<unknown> {
  const checked = await schema["~standard"].validate(value);
  if (checked.issues)
    throw new PermanentError(
      checked.issues
        .slice(0, ISSUES)
        .map((issue) => issue.message)
        .join("; "),
    );
  return checked.value;
}
