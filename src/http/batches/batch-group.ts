import type { Context } from "koa";
import type { Engine } from "../../engine/engine.ts";
import type { QueueSettings } from "../../engine/settings.ts";
import type { ProblemError } from "../../errors.ts";
import type { SubmitOptions } from "../../wire/submit-options.ts";
import type { IdSecret } from "../headers/request-id.ts";
import type { ProblemDocument } from "../problems/problem.ts";

/** What a request says of the group of its batch. */
export interface AskedGroup {
  /** `true` for a new one. */
  readonly group: string;
  /** Whether it stays open after the batch. */
  readonly staysOpen: boolean;
  readonly options: SubmitOptions;
  readonly settings: QueueSettings;
}

/** The group of a batch. */
export interface OpenedGroup {
  readonly id: string;
  readonly staysOpen: boolean;
  /** The number of the first line of the batch. */
  readonly firstLine: number;
  /** The id of the task of the next line. To be called for each line that has none of its own, and with all lines in their order. */
  nextId(text: string): string;
  /** Ends the batch, after which the group has had so many lines. @throws ProblemError store-unavailable */
  endBatch(end: { readonly lines: number; readonly closes: boolean }): Promise<unknown>;
  /**
   * Waits until it is known whether the batch is answered with its verdicts, which it then returns.
   * @throws ProblemError if no line has become a task: that of the first line that was refused for the moment, else invalid-input; id-conflict
   * if the group is closed, and nothing was repeated
   */
  answer(ctx: Context, verdicts: BatchVerdicts): Promise<AsyncIterable<string>>;
}

/** How many lines of a batch there were so far. */
export interface BatchTally {
  readonly lines: number;
  /** New tasks; tasks that existed before; lines that may be sent again. */
  readonly accepted: number;
  readonly repeated: number;
  readonly deferred: number;
  /** Those of them that may have been stored, and why the first was refused. */
  readonly unsure: number;
  readonly deferral: ProblemError | undefined;
  /** The first problems of lines. */
  readonly problems: readonly { readonly line: number; readonly problem: ProblemDocument }[];
}

/** The verdicts of a batch. */
export interface BatchVerdicts {
  readonly tally: BatchTally;
  readonly verdicts: AsyncIterable<string>;
  /** Of verdicts that are kept until the answer is decided; beyond it they are sent in any case. */
  readonly maxBytes: number;
}

/**
 * Opens the group of a batch, or finds that to which it is added.
 * @throws ProblemError id-conflict if it belongs to another caller or queue; queue-full if too many webhooks wait
 */
export type OpenGroup = (
  ctx: Context,
  api: { readonly engine: Engine; readonly idSecret: IdSecret },
  asked: AskedGroup,
) => Promise<OpenedGroup>;
