import { ProblemError } from "../../errors.ts";
import type { ProblemDocument } from "../problems/problem.ts";
import type { LineVerdict } from "./gathered-lines.ts";

/** How many problems of lines a batch without any task is told. */
const TOLD = 10;

/** What has become of the lines of a batch so far. */
export class Tally {
  lines = 0;
  /** New tasks. */
  accepted = 0;
  /** Tasks that existed before. */
  repeated = 0;
  /** Refused for the moment: they may be sent again. */
  deferred = 0;
  /** Those of them that may have been stored, under the id that their problem names. */
  unsure = 0;
  /** Why the first of them was refused. */
  deferral: ProblemError | undefined;
  /** The first problems. */
  readonly problems: { readonly line: number; readonly problem: ProblemDocument }[] = [];

  /** @param error why the line was refused */
  count(line: number, verdict: LineVerdict, error: unknown): void {
    this.lines += 1;
    if (!("problem" in verdict)) {
      if (verdict.replayed) this.repeated += 1;
      else this.accepted += 1;
      return;
    }
    const { problem } = verdict;
    if ((problem.status === 429 || problem.status === 503) && error instanceof ProblemError) {
      this.deferred += 1;
      this.deferral ??= error;
      if (problem.id !== undefined) this.unsure += 1;
    }
    if (this.problems.length < TOLD) this.problems.push({ line, problem });
  }
}
