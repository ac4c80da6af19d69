import type { Watch } from "../../engine/watch/watch.ts";
import { ProblemError } from "../../errors.ts";
import { isOutcome } from "../../task.ts";
import { type FollowedTask, OutputReader, type OutputSource } from "./output-reader.ts";

/** What the output of a task is read from. */
interface OutputParts {
  readonly source: OutputSource;
  readonly watch: Watch;
  readonly task: FollowedTask;
  /** The number of the first value. */
  readonly from: number;
  /** Whether it ends now, with the values that exist, although the task goes on. */
  readonly limit: { readonly isOver: boolean };
}

/** The output of one task as lines of JSON, until it ends. @throws ProblemError store-unavailable; unknown if the task no longer exists */
export async function* outputLines(parts: OutputParts): AsyncGenerator<string, void, void> {
  const { source, watch, task, from, limit } = parts;
  const reader = new OutputReader(source, watch, task, from);
  try {
    do {
      const { seen } = watch;
      // The task is unknown, deleted, or another one with the same id: a client that asks again gets the right answer.
      if (!seen || seen.deleted || seen.createdMs !== task.createdMs) throw new ProblemError("unknown");
      if (limit.isOver || isOutcome(seen.state)) {
        for await (const page of reader.rest()) yield page.textOf("lines", lines);
        return;
      }
      const page = await reader.page();
      if (page) {
        yield page.textOf("lines", lines);
        watch.wake();
      }
    } while (await watch.next());
  } finally {
    reader.stop();
  }
}

function lines(values: readonly string[]): string {
  return `${values.join("\n")}\n`;
}
