import type { Engine } from "../../engine/engine.ts";
import type { Submission } from "../../engine/tasks/submission.ts";
import { messageOf, ProblemError, StartError } from "../../errors.ts";
import { consumesType, type Handler } from "../../handler/define.ts";
import { checkJson } from "../../http/request/body.ts";
import { inputHandlerOf, takesInputs } from "../../http/request/queue.ts";
import { assembleSubmission } from "../../http/submit/submission.ts";
import type { Logger } from "../../log.ts";
import type { CallsOf } from "../../store/library/scripts.ts";
import { wrongParameter } from "../../wire/request.ts";
import { type Definition, isScheduleId, optionsOf, readDefinition, SCHEDULE_ID, timesOf } from "./definition.ts";
import * as VERBS from "./verbs.ts";

/** What they need. */
export interface ScheduleParts {
  readonly engine: Engine;
  readonly handlers: ReadonlyMap<string, Handler>;
  readonly log: Logger;
}

/** The schedules in the store, and those that the handlers of this process declare. */
export class Schedules {
  readonly #parts: ScheduleParts;
  readonly verbs: CallsOf<typeof VERBS>;
  readonly #declared: ReadonlyMap<string, Definition>;
  /** Those to which this process can submit. */
  readonly #queues: readonly string[];

  /** @throws StartError if a handler declares a schedule that cannot be read */
  constructor(parts: ScheduleParts) {
    this.#parts = parts;
    this.verbs = parts.engine.scripts.of(VERBS);
    this.#declared = new Map([...parts.handlers.values()].flatMap(declaredBy));
    this.#queues = [...parts.handlers.values()].filter(takesInputs).map(({ queue }) => queue);
  }

  /** That of partition 0. */
  get #tag(): string {
    return this.#parts.engine.keys.tag(0);
  }

  /** Those that handlers declare. */
  get declared(): readonly string[] {
    return [...this.#declared.keys()];
  }

  /** Stores those that handlers declare. @throws StartError if a queue does not accept its input */
  async synchronize(ids: Iterable<string> = this.#declared.keys()): Promise<void> {
    for (const id of ids) {
      const definition = this.#declared.get(id);
      if (!definition) continue;
      await this.submissionOf(id, definition).catch((error: unknown) => {
        throw cannotUse(id, error);
      });
      await this.put(id, definition, { declared: true });
    }
  }

  /** Stores a schedule. `revision`: only in place of that one, 0 for none. */
  put(
    id: string,
    definition: Definition,
    {
      paused = false,
      declared = false,
      revision,
    }: { paused?: boolean; declared?: boolean; revision?: number | undefined } = {},
  ) {
    const { queue } = definition;
    const texts = { definition: JSON.stringify(definition), times: timesOf(definition) };
    return this.verbs.putSchedule(this.#tag, { id, queue, ...texts, paused, declared, revision });
  }

  /** A schedule, and the time. */
  async find(id: string): Promise<{ readonly nowMs: number; readonly row: VERBS.ScheduleRow | undefined }> {
    const { nowMs, rows } = await this.verbs.schedules(this.#tag, { min: `[${id}`, max: `[${id}`, limit: 1 });
    return { nowMs, row: rows[0] };
  }

  /** Schedules in the order of their ids, those behind one; fewer if they are long. */
  page(after: string | null, limit: number) {
    return this.verbs.schedules(this.#tag, { min: after === null ? "-" : `(${after}`, max: "+", limit });
  }

  /** @param revision see {@link put} */
  delete(id: string, revision?: number) {
    return this.verbs.deleteSchedule(this.#tag, { id, revision });
  }

  tick(given: Omit<VERBS.TickArgs, "queues" | "declared">) {
    return this.verbs.tickSchedules(this.#tag, { ...given, queues: this.#queues, declared: this.declared });
  }

  /** Takes some due times whose tasks may have ended. */
  openRuns(limit: number) {
    return this.verbs.openRuns(this.#tag, { limit });
  }

  /** Notes how the task of a due time has ended. */
  endRun(run: Parameters<typeof VERBS.endRun.write>[0]) {
    return this.verbs.endRun(this.#tag, run);
  }

  /** Those whose latest due times were missed or refused in the last hour. */
  missed() {
    return this.verbs.missedSchedules(this.#tag, {});
  }

  step(step: Parameters<typeof VERBS.stepSchedule.write>[0]) {
    return this.verbs.stepSchedule(this.#tag, step);
  }

  /**
   * A task of a schedule, checked as any submission; it has no caller.
   * @param identity what identifies a repetition; default: the input
   * @throws ProblemError unknown-queue, invalid-parameter of a queue that does not take JSON, invalid-input
   */
  async submissionOf(id: string, definition: Definition, identity?: string): Promise<Submission> {
    const { log } = this.#parts;
    const handler = inputHandlerOf(this.#parts, definition.queue);
    if (handler.turns?.all)
      throw wrongParameter("queue", "its tasks are turns: nobody would be there for those of a schedule");
    if (!consumesType(handler, "application/json")) {
      throw wrongParameter("queue", `expected one that accepts application/json, not ${handler.consumes.join(", ")}`);
    }
    const checked = await checkJson(JSON.stringify(definition.input), definition.input, handler);
    return assembleSubmission(null, { log }, { id, identity, handler, options: optionsOf(definition), checked });
  }
}

/** The schedules that a handler declares, by their ids. @throws StartError */
function declaredBy({ queue, schedules = {} }: Handler): [string, Definition][] {
  return Object.entries(schedules).map(([name, given]) => {
    const id = `${queue}.${name}`;
    try {
      if (!isScheduleId(id)) throw new Error(`its id is its queue, a dot and its name: expected ${SCHEDULE_ID}`);
      return [id, readDefinition({ ...given, queue })];
    } catch (error) {
      throw cannotUse(id, error);
    }
  });
}

function cannotUse(id: string, error: unknown): Error {
  if (error instanceof ProblemError && error.status >= 500) return error;
  return new StartError(`the schedule ${id}, which a handler declares, cannot be used: ${messageOf(error)}`, {
    cause: error,
  });
}
