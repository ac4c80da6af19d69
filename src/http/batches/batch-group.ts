import type { Context } from "koa";
import type { Engine } from "../../engine/engine.ts";
import type { QueueSettings } from "../../engine/settings.ts";
import type { Logger } from "../../log.ts";
import type { SubmitOptions } from "../../wire/submission.ts";
import type { IdSecret } from "../headers/request-id.ts";
import type { BatchVerdicts, LineVerdict } from "./line-verdict.ts";

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
  /** The number of the first line of the batch. */
  readonly firstLine: number;
  /** The id of the task of the next line. To be called for each line that has none of its own, and with all lines in their order. */
  nextId(text: string): string;
  /**
   * Waits until it is known whether the batch is answered with its verdicts, which it then returns. When all have been read, the batch ends.
   * @param maxBytes of verdicts that are kept until then; beyond it they are sent in any case
   * @throws ProblemError if no line has become a task: that of the first line that was refused for the moment, else invalid-input; id-conflict
   * if the group is closed, and nothing was repeated
   */
  answer(
    verdicts: BatchVerdicts,
    maxBytes: number,
  ): Promise<AsyncIterable<readonly LineVerdict[]> | Iterable<readonly LineVerdict[]>>;
}

/**
 * Opens the group of a batch, or finds that to which it is added.
 * @throws ProblemError id-conflict if it belongs to another caller or queue; queue-full if too many webhooks wait
 */
export type OpenGroup = (
  ctx: Context,
  api: { readonly engine: Engine; readonly idSecret: IdSecret; readonly log: Logger },
  asked: AskedGroup,
) => Promise<OpenedGroup>;
