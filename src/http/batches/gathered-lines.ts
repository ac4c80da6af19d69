import type { QueueSettings } from "../../engine/settings.ts";
import type { Submission } from "../../engine/submission/submission.ts";
import type { SubmissionVerdict } from "../../engine/submission/submit.ts";
import { ProblemError } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import type { AcceptedLine } from "../../wire/batch.ts";
import type { Api } from "../api.ts";
import { type ProblemDocument, problemOf } from "../problems/problem.ts";
import { refusalOf } from "../submit/refusal.ts";
import type { OwnedTask } from "../task/access.ts";
import type { TaskLinks } from "../task/links.ts";

/** Maximum number of errors reported for the input of one line. */
const MAX_FIELD_ERRORS = 10;

/** How many lines are stored together: a promise for each would cost more than storing it. */
const TOGETHER = 32;

/** A line of the response to a batch, without its number. */
export type LineVerdict = { readonly problem: ProblemDocument } | Omit<AcceptedLine, "line">;

/** A checked line of a batch. */
interface CheckedLine {
  readonly line: number;
  readonly submission: Submission;
  /** Called with its line of the response. */
  place(text: string): void;
}

/** What all lines of a batch share. */
interface LineContext {
  readonly api: Pick<Api, "engine" | "log">;
  readonly settings: QueueSettings;
  /** The batch has a group: what repeats a task names the group of that. */
  readonly group: object | undefined;
  /** Counts a verdict, and places it. @param error why the line was refused */
  tell(place: (text: string) => void, line: number, verdict: LineVerdict, error?: unknown): void;
  linksTo(task: OwnedTask): TaskLinks;
}

/** Lines of a batch that are stored together, in their order. */
export class GatheredLines {
  readonly #context: LineContext;
  #lines: CheckedLine[] = [];
  /** The store did not answer in time: further lines are refused, since each would wait as long. */
  #storeAway = false;
  /** Resolves when the lines sent last have been answered. */
  #stored: Promise<void> = Promise.resolve();
  /** Resolves when all lines that were sent have been answered. */
  #all: Promise<unknown> = Promise.resolve();
  /** Sends lines once those before them have been answered. */
  #inTurn = false;

  constructor(context: LineContext) {
    this.#context = context;
  }

  add(line: CheckedLine): void {
    this.#lines.push(line);
    if (this.#lines.length >= TOGETHER) this.store();
  }

  /** Stores the lines that were added and reports their verdicts; never fails. */
  store(): void {
    const lines = this.#lines;
    if (lines.length === 0) return;
    this.#lines = [];
    // No line may overtake another.
    this.#inTurn ||= !this.#context.api.engine.submitter.isInOrder(lines.map(({ submission }) => submission));
    this.#stored = this.#inTurn ? this.#stored.then(() => this.#send(lines)) : this.#send(lines);
    this.#all = Promise.all([this.#all, this.#stored]);
  }

  /** Resolves when all lines that were added have been answered; never fails. */
  async settled(): Promise<void> {
    this.store();
    await this.#all;
  }

  #send(lines: readonly CheckedLine[]): Promise<void> {
    const refuse = (error: unknown) => {
      for (const one of lines) this.#refuse(one, error);
    };
    if (this.#storeAway) {
      refuse(new ProblemError("store-unavailable", "Not tried: the store did not answer before."));
      return Promise.resolve();
    }
    const { api, settings } = this.#context;
    const submissions = lines.map(({ submission }) => submission);
    return api.engine.submitter.submitAll(submissions, settings).then((ends) => {
      for (const [n, one] of lines.entries()) {
        const end = ends[n] ?? { status: "rejected", reason: new ProblemError("internal") };
        if (end.status === "fulfilled") this.#answered(one, end.value);
        else this.#refuse(one, end.reason);
      }
    }, refuse);
  }

  #answered(one: CheckedLine, submitted: SubmissionVerdict): void {
    const { submission, line, place } = one;
    const { tell, linksTo, group: asked } = this.#context;
    const refusal = refusalOf(submission, submitted, { byKey: false, linksTo });
    if (refusal) return this.#refuse(one, refusal);
    const { id, caller } = submission;
    const { verdict, index, createdMs, group = null } = submitted;
    const href = linksTo({ id, caller, createdMs }).result;
    if (verdict !== "replay") return tell(place, line, { id, href, index });
    tell(place, line, { id, href, index, replayed: true, ...(asked && { group }) });
  }

  #refuse({ line, place, submission: { id } }: CheckedLine, error: unknown): void {
    const { problem } = lineProblem(error, this.#context.api.log);
    const code = error instanceof ProblemError ? error.code : undefined;
    if (code === "store-unavailable") this.#storeAway = true;
    // It may have been stored anyway: with this id it can be submitted again without running twice.
    const isUnsure = code === "store-unavailable" || code === "not-durable";
    this.#context.tell(place, line, { problem: isUnsure ? { ...problem, id: problem.id ?? id } : problem }, error);
  }
}

/** A line of the response. */
export function verdictLine(line: number, verdict: LineVerdict): string {
  return `${JSON.stringify({ line, ...verdict })}\n`;
}

/** Why a line was refused; of many errors in its input the first. */
export function lineProblem(error: unknown, log: Logger): { problem: ProblemDocument } {
  const problem = problemOf(error, log);
  const { errors } = problem;
  if (!Array.isArray(errors) || errors.length <= MAX_FIELD_ERRORS) return { problem };
  const told = errors.slice(0, MAX_FIELD_ERRORS);
  const moreErrors = Number(problem.moreErrors ?? 0) + errors.length - told.length;
  return { problem: { ...problem, errors: told, moreErrors } };
}
