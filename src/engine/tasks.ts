import type { Keys } from "../store/keys.ts";
import type { Attendance, AttendVerdict } from "../store/verbs/attend.ts";
import type { Cancellation, CancelVerdict } from "../store/verbs/cancel.ts";
import type { RetryVerdict } from "../store/verbs/dead.ts";
import type { TaskDetails } from "../store/verbs/details.ts";
import type { Move, MoveVerdict } from "../store/verbs/move.ts";
import type { ReservedTask } from "../store/verbs/reserve.ts";
import type { Scripts } from "../store/verbs/scripts.ts";
import type { UpdateVerdict } from "../store/verbs/update.ts";
import type { Body } from "../task.ts";
import type { BatchedVerbs } from "./calls/batched-verbs.ts";
import { newCall } from "./calls/new-call.ts";
import type { LargeValues } from "./large-values/large-values.ts";
import type { Maintenance } from "./maintenance/maintenance.ts";
import type { Inspection, InspectOptions, Inspector } from "./reading/inspect.ts";
import { type QueueSettings, retentionOf } from "./settings.ts";
import { move } from "./submission/move.ts";
import type { Original, Submission } from "./submission/submission.ts";
import type { SubmissionVerdict, Submitter } from "./submission/submit.ts";
import { update } from "./submission/update.ts";
import type { Notices } from "./watching/notices.ts";
import { Wait } from "./watching/wait.ts";

/** The dependencies of {@link Tasks}. */
export interface TasksParts {
  readonly scripts: Scripts;
  readonly keys: Keys;
  readonly notices: Notices;
  readonly submitter: Submitter;
  readonly inspector: Inspector;
  readonly values: LargeValues;
  readonly batched: BatchedVerbs;
  /** How submissions reach the store. */
  readonly submissions: { readonly scripts: Scripts; readonly large: Scripts; readonly keys: Keys };
  readonly noteDue: Maintenance["noteDue"];
  settings(queue: string): QueueSettings;
}

/** The input of a task as it was read with it: null if it is long. */
type StoredInput = Pick<ReservedTask, "id" | "input" | "inputBytes">;

/** The verbs of callers. */
export class Tasks {
  readonly #parts: TasksParts;

  constructor(parts: TasksParts) {
    this.#parts = parts;
  }

  /**
   * Stores a task and puts it in line, or returns why not. Submissions of one turn of the event loop are sent together.
   * @param listen notify this process of the end, even if the task already exists: for a {@link wait} that has begun
   * @param trace the trace that goes with it, known only once a span has begun: copying the submission would cost more than the span
   * @throws ProblemError store-unavailable (it may have been stored anyway: submit again under the same id), store-full
   */
  submit(
    submission: Submission,
    settings: QueueSettings,
    listen = false,
    trace = submission.trace,
  ): Promise<SubmissionVerdict> {
    return this.#parts.submitter.submit(submission, settings, listen, trace);
  }

  /** Stores tasks of a queue in their order, as {@link submit} does; never rejects. */
  submitAll(
    submissions: readonly Submission[],
    settings: QueueSettings,
  ): Promise<readonly PromiseSettledResult<SubmissionVerdict>[]> {
    return this.#parts.submitter.submitAll(submissions, settings);
  }

  /** Whether these, submitted together, join the line before all that is submitted after them. */
  isInOrder(submissions: readonly Submission[]): boolean {
    return this.#parts.submitter.isInOrder(submissions);
  }

  /**
   * Replaces the input of a waiting or scheduled task, which keeps its place.
   * @param revision how often it must have been replaced before; default: any number
   * @throws ProblemError store-unavailable
   */
  update(submission: Submission, settings: QueueSettings, revision?: number): Promise<UpdateVerdict> {
    return update(this.#parts.submissions, submission, settings, revision);
  }

  /** Moves a waiting or scheduled task of a queue; the order of all others stays. @throws ProblemError store-unavailable */
  move(task: Pick<Submission, "id" | "queue">, to: Move): Promise<MoveVerdict> {
    return move(this.#parts, task, to);
  }

  /** Notes that the input of a task was submitted again. @throws ProblemError store-unavailable */
  async noteAgain({ id, queue, createdMs }: Original, again: string): Promise<void> {
    const { scripts, keys } = this.#parts;
    await scripts.again(keys.tagOfQueue(queue), { id, createdMs, again });
  }

  /** The task, or null if it is unknown. @throws ProblemError store-unavailable */
  inspect(id: string, options: InspectOptions): Promise<Inspection | null> {
    return this.#parts.inspector.inspect(id, options);
  }

  /** Counts as a look at a task with a presence. @throws ProblemError store-unavailable */
  attend(task: Attendance & Pick<Inspection, "group">): Promise<AttendVerdict> {
    return this.#parts.batched.attend(task);
  }

  /** Details of a task that few callers need; null if it is unknown. @throws ProblemError store-unavailable */
  details(id: string, queue: string): Promise<TaskDetails | null> {
    const { scripts, keys } = this.#parts;
    return scripts.details(keys.tagOfQueue(queue), id);
  }

  /** Begins to listen for the end of a task that is then submitted with `listen`. The caller must stop the wait. */
  wait(task: Pick<Submission, "id" | "queue">): Wait {
    return new Wait(task, this.#parts.inspector, this.#parts.notices);
  }

  /** The input of a task, which was read with it if it is short; null if it is no longer in the store. @throws ProblemError store-unavailable */
  async inputOf({ id, input, inputBytes }: StoredInput, queue: string): Promise<Buffer | null> {
    const { values, keys } = this.#parts;
    return input ?? (await values.read("input", id, inputBytes, keys.partitionOfQueue(queue)));
  }

  /** The same, but the rest of a long input is read only as it is taken. */
  async inputInPieces({ id, input, inputBytes }: StoredInput, queue: string): Promise<Body | null> {
    if (input) return { body: input };
    const { values, keys } = this.#parts;
    const begun = await values.begin("input", id, inputBytes, keys.partitionOfQueue(queue));
    return begun && { body: begun.start, rest: begun.rest };
  }

  /** Cancels a task, or deletes the result of a finished one; with `only`, one of the two. */
  cancel(id: string, queue: string, only?: Cancellation["only"]): Promise<CancelVerdict> {
    const { batched, settings } = this.#parts;
    return batched.cancel({ id, queue, call: newCall(), only, ...retentionOf(settings(queue)) });
  }

  /** Runs a dead task again, at the end of the line and with all its attempts. */
  retry(id: string, queue: string): Promise<RetryVerdict> {
    return this.#parts.batched.retry({ id, queue, call: newCall() });
  }
}
