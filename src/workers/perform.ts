import type { Handler, TaskContext } from "../handler.ts";
import type { Input } from "../task.ts";
import { toResult } from "./answer.ts";
import { type Outcome, outcomeOf, Unfit } from "./outcome.ts";

/** Runs a handler on an input, from the bytes stored to the bytes to store. Never rejects. */
export async function perform(
  handler: Handler,
  input: Input,
  task: TaskContext,
  maxResultBytes: number,
): Promise<Outcome> {
  try {
    const answer = await handler.run(await readInput(handler, input), task);
    return { kind: "result", result: await toResult(answer, maxResultBytes) };
  } catch (thrown) {
    return outcomeOf(thrown);
  }
}

/** The input as the handler takes it: parsed and checked JSON, or bytes. */
async function readInput(handler: Handler, { bytes, mediaType }: Input): Promise<unknown> {
  if (mediaType !== "application/json") return new Uint8Array(bytes);
  const value: unknown = JSON.parse(Buffer.from(bytes).toString("utf8"));
  if (!handler.schema) return value;
  // Checked when it was submitted; once more since the schema may fill in defaults, or have changed with a new version.
  const checked = await handler.schema["~standard"].validate(value);
  if (checked.issues) throw new Unfit(checked.issues.map((issue) => issue.message).join("; "));
  return checked.value;
}
