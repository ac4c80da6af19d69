import type { HandlerEnd } from "../../engine/attempt-end.ts";
import type { Handler } from "../../handler/define.ts";
import type { Input } from "../../task.ts";
import type { Context } from "../task-context.ts";
import { endOfThrown, Unfit } from "./handler-end.ts";
import { toResult } from "./result.ts";

/** Most issues of an input that are told. */
const ISSUES = 20;

/** Runs a handler on an input, from the bytes stored to the bytes to store. Never rejects. */
export async function perform(
  handler: Handler,
  input: Input,
  task: Context,
  maxResultBytes: number,
): Promise<HandlerEnd> {
  try {
    // Most inputs and answers are there at once: a promise for each would cost more than all else about a short task.
    const read = readInput(handler, input);
    const answer = await handler.run(read instanceof Promise ? await read : read, task);
    const steps = task.stepsSettled();
    if (steps !== undefined) await steps;
    const result = toResult(answer, maxResultBytes, task);
    return { kind: "result", result: result instanceof Promise ? await result : result };
  } catch (thrown) {
    await task.stepsSettled();
    return endOfThrown(thrown, maxResultBytes);
  }
}

/** The input as the handler takes it: parsed and checked JSON, or bytes. Only a schema may take its time. */
function readInput(handler: Handler, { bytes, mediaType }: Input): unknown {
  if (mediaType !== "application/json") return new Uint8Array(bytes);
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  const value: unknown = JSON.parse(text);
  return handler.schema ? validated(handler.schema, value) : value;
}

/** Checked when it was submitted; once more since the schema may fill in defaults, or have changed with a new version. */
async function validated(schema: NonNullable<Handler["schema"]>, value: unknown): Promise<unknown> {
  const checked = await schema["~standard"].validate(value);
  if (checked.issues)
    throw new Unfit(
      checked.issues
        .slice(0, ISSUES)
        .map((issue) => issue.message)
        .join("; "),
    );
  return checked.value;
}
