import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { Context } from "koa";
import type { Engine } from "../../engine/engine.ts";
import type { QueueSettings } from "../../engine/settings.ts";
import type { Submission } from "../../engine/tasks/submission.ts";
import type { SubmissionVerdict } from "../../engine/tasks/submit.ts";
import { ProblemError } from "../../errors.ts";
import type { Handler } from "../../handler/define.ts";
import type { Logger } from "../../log.ts";
import { wrongParameter } from "../../wire/request.ts";
import { LINE_MEMBERS, type SubmitOptions, withMembers } from "../../wire/submission.ts";
import type { Api } from "../api.ts";
import { checkedId, type IdSecret } from "../headers/request-id.ts";
import type { OwnedTask } from "../request/access.ts";
import { type CheckedInput, checkJson, parseJson } from "../request/body.ts";
import { refusalOf } from "../submit/refusal.ts";
import { linksFor } from "../task/links.ts";
import { type BatchVerdicts, type LineVerdict, type RefusedLine, refusedLine } from "./line-verdict.ts";
import { type BodyLine, LF, LineSplitter } from "./split-lines.ts";

/** The maximum number of lines that are stored together: the body is read on when their verdicts have been sent. */
const TOGETHER = 500;

/** What all lines of a batch share. */
export interface Batch {
  readonly api: Api;
  readonly handler: Handler;
  readonly settings: QueueSettings;
  readonly envelopes: boolean;
  /** Options that a line does not set itself. */
  readonly options: SubmitOptions;
  readonly group: OpenedGroup | undefined;
  readonly limits: { readonly lines: number; readonly bytes: number };
  /** Makes the submission of a line. @throws ProblemError invalid-input if the handler's `by` gives no key */
  assemble(line: number, id: string, options: SubmitOptions, checked: CheckedInput): Submission;
}

/** A line that can be stored. */
interface CheckedLine {
  readonly line: number;
  readonly submission: Submission;
}

/** Reads the body of a batch and stores its lines in their order, those of a chunk together; never fails. Reads on when a verdict is asked for. */
export async function* batchVerdicts(ctx: Context, batch: Batch): BatchVerdicts {
  const { api, limits } = batch;
  const { req } = ctx;
  const splitter = new LineSplitter({ ...limits, lineBytes: api.maxBodyBytes });
  const store = lineStore(ctx, batch);
  try {
    for await (const lines of linesOf(ctx, splitter)) {
      let checked: (CheckedLine | RefusedLine)[] = [];
      for (const line of lines) {
        const one = checkLine(ctx, batch, line);
        // A schema may take its time: the lines before it do not wait for that, and no line for those behind it.
        if ((one instanceof Promise && checked.length > 0) || checked.length >= TOGETHER) {
          yield await store(checked);
          checked = [];
        }
        checked.push(one instanceof Promise ? await one : one);
      }
      if (checked.length > 0) yield await store(checked);
    }
    return splitter.next;
  } catch (error) {
    // An error of reading means that the connection has ended, so there is no response.
    if (!req.destroyed) api.log.error({ err: error }, "batches: unexpected error; the rest of the batch is not read");
    return null;
  } finally {
    // The rest is read and discarded: many clients read nothing of the response before they have sent everything.
    req.resume();
  }
}

/** The lines of a body, those that end in a chunk together, until there are too many. */
async function* linesOf({ req }: Context, splitter: LineSplitter): AsyncGenerator<Iterable<BodyLine>, void, void> {
  // Without `destroyOnReturn`, since the connection must stay open for the response if reading stops early.
  const chunks: AsyncIterable<Buffer> = req.iterator({ destroyOnReturn: false });
  for await (const chunk of chunks) {
    // The last line may lack its newline: it is stored with those before it, not one round trip later. Node says when the turn is over that
    // the body ends.
    if (chunk.at(-1) !== LF) await setImmediate();
    yield splitter.take(chunk, req.complete && req.readableLength === 0);
    if (splitter.isFull) return;
  }
  yield splitter.rest();
}

/** Stores lines of a batch. */
function lineStore(ctx: Context, batch: Batch) {
  const { api, settings } = batch;
  /** The store did not answer in time: further lines are refused, since each would wait as long. */
  let isAway = false;
  return async (lines: readonly (CheckedLine | RefusedLine)[]): Promise<readonly LineVerdict[]> => {
    const submissions = lines.flatMap((line) => ("submission" in line ? [line.submission] : []));
    const ends = isAway ? [] : await api.engine.submitter.submitAll(submissions, settings);
    let next = 0;
    const verdicts = lines.map((line): LineVerdict => {
      if (!("submission" in line)) return line;
      const end = ends[next++];
      if (end?.status === "fulfilled") return verdictOf(ctx, batch, line, end.value);
      return refusedLine(ctx, api.log, line.line, end?.reason ?? notTried(), line.submission.id);
    });
    isAway ||= verdicts.some((verdict) => "error" in verdict && verdict.error.code === "store-unavailable");
    return verdicts;
  };
}

function notTried(): ProblemError {
  return new ProblemError("store-unavailable", "Not tried: the store did not answer before.");
}

function verdictOf(ctx: Context, batch: Batch, one: CheckedLine, submitted: SubmissionVerdict): LineVerdict {
  const { line, submission } = one;
  const linksTo = (task: OwnedTask) => linksFor(ctx, task);
  const refusal = refusalOf(submission, submitted, { byKey: false, linksTo });
  const { id, caller } = submission;
  if (refusal) return refusedLine(ctx, batch.api.log, line, refusal, id);
  const { verdict, index, createdMs, group = null } = submitted;
  const href = linksTo({ id, caller, createdMs }).result;
  if (verdict !== "replay") return { line, id, href, index };
  return { line, id, href, index, replayed: true, ...(batch.group && { group }) };
}

/** Checks a line; never fails. */
function checkLine(
  ctx: Context,
  batch: Batch,
  line: BodyLine,
): CheckedLine | RefusedLine | Promise<CheckedLine | RefusedLine> {
  const { number } = line;
  const refuse = (error: unknown) => refusedLine(ctx, batch.api.log, number, error);
  try {
    const submission = submissionOf(batch, line);
    if (!(submission instanceof Promise)) return { line: number, submission };
    return submission.then((submission) => ({ line: number, submission }), refuse);
  } catch (error) {
    return refuse(error);
  }
}

/** @throws ProblemError payload-too-large, malformed-json, invalid-input, invalid-parameter */
function submissionOf(batch: Batch, { number, bytes }: BodyLine): Submission | Promise<Submission> {
  const { api, handler, envelopes, group } = batch;
  if (typeof bytes === "string") throw new ProblemError("payload-too-large", bytes);
  if (!isUtf8(bytes)) throw new ProblemError("malformed-json", "The line is not UTF-8.");
  const text = bytes.toString("utf8");
  const { keys } = api.engine;
  const made = group?.nextId(text) ?? keys.idIn(keys.partitionOfQueue(handler.queue), () => randomUUID());
  const {
    input,
    value,
    id = made,
    options,
  }: Envelope = envelopes
    ? readEnvelope(text, batch.options)
    : { input: text, value: parseJson(text), options: batch.options };
  if (group && options.presenceMs !== null)
    throw wrongParameter("presence", "of all lines of a group: a parameter of the batch");
  const checked = checkJson(input, value, handler);
  const assemble = (ready: CheckedInput) => batch.assemble(number, id, options, ready);
  return checked instanceof Promise ? checked.then(assemble) : assemble(checked);
}

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

/** A line of a batch: the input, and the options of its task. */
interface Envelope {
  /** As JSON text. */
  readonly input: string;
  /** Parsed. */
  readonly value: unknown;
  readonly id?: string;
  readonly options: SubmitOptions;
}

const MEMBERS = ["id", "input", ...Object.keys(LINE_MEMBERS)];

/**
 * Reads `{ "id"?, "input", "priority"?, "delay"?, "deadline"?, "presence"? }`. Unknown members are refused, since a misspelt one would be ignored.
 * @param defaults the options of the batch
 * @throws ProblemError malformed-json, invalid-input of a number too large, or invalid-parameter that names the member
 */
function readEnvelope(text: string, defaults: SubmitOptions): Envelope {
  const value = parseJson(text);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw wrongParameter("envelope", 'expected an object such as {"input":{},"priority":0}');
  }
  const unknown = Object.keys(value).find((name) => !MEMBERS.includes(name));
  if (unknown !== undefined) {
    throw wrongParameter(unknown.slice(0, 64), `not a member of an envelope, expected ${MEMBERS.join(", ")}`);
  }
  const { id, input, ...members }: Partial<Record<string, unknown>> = { ...value };
  if (input === undefined) throw wrongParameter("input", "missing");
  const options = withMembers(defaults, members);
  return { input: JSON.stringify(input), value: input, options, ...(id !== undefined && { id: checkedId(id) }) };
}
