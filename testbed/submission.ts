import type { Submission } from "../src/engine/submission/submission.ts";

/** A submission of JSON to a queue, with the usual options except those given. */
export function submissionOf(id: string, queue: string, input: string, options: Partial<Submission> = {}): Submission {
  return {
    id,
    queue,
    input,
    mediaType: "application/json",
    query: {},
    caller: null,
    priority: 3,
    delayMs: 0,
    deadlineMs: null,
    maxIndex: null,
    dryRun: false,
    webhook: null,
    ...options,
  };
}
