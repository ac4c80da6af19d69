import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import type { Context } from "koa";
import type { QueueSettings } from "../../engine/settings.ts";
import type { Submission } from "../../engine/submission.ts";
import { PaihaoError } from "../../errors.ts";
import { consumesType, type Handler } from "../../handler/define.ts";
import type { Api } from "../api.ts";
import { type Envelope, readEnvelope } from "../batches/envelope.ts";
import { Resequencer } from "../batches/resequencer.ts";
import { BatchTooLarge, type BodyLine, splitLines } from "../batches/split-lines.ts";
import { refuseCoding } from "../headers/content-coding.ts";
import { checkJson } from "../input/body.ts";
import { type ProblemDocument, problemDocument, problemOf } from "../problems/problem.ts";
import type { Endpoints } from "../routes.ts";
import { callerOf, signatureOf } from "../task/access.ts";
import { paths } from "../task/links.ts";
import { refusalOf } from "../task/refusal.ts";
import { booleanParameter, readSubmitOptions, searchOf, wrongParameter } from "../task/submit-options.ts";
import { readWebhook } from "../task/webhook-option.ts";
import { inputHandlerOf } from "./submit.ts";

/** The media type of a batch and of its answer: a JSON value a line. */
export const NDJSON = "application/x-ndjson";

/** How much one batch may be. */
export const BATCH_DEFAULTS = {
  lines: 10_000,
  bytes: 32 * 1024 ** 2,
  /** Lines read but not yet answered: more of the body is read only as verdicts are taken. */
  inFlight: 500,
  /**
   * Bytes of verdicts that may wait for the caller. Enough for 10,000 usual ones: many clients read nothing of an answer before
   * all of the request is written, and would wait for the server as it waits for them.
   */
  answerBytes: 4 * 1024 ** 2,
  /** Most places of one line's input that are named as wrong. */
  fieldErrors: 10,
} as const;

/** What holds for every line of a batch. */
interface BatchRequest {
  readonly api: Api;
  readonly handler: Handler;
  readonly settings: QueueSettings;
  readonly envelopes: boolean;
  /** What a line does not say itself: priority, delay, query … */
  readonly defaults: Omit<Submission, "id" | "input">;
  /** The query that makes a link to a task good without a key; "" where links are not signed. */
  signature(task: Parameters<typeof signatureOf>[1]): string;
  /** The store did not answer in time: to try line after line would take as long for each. */
  storeAway: boolean;
}

/** What a line of the answer says beside its number. */
type Verdict =
  | { readonly problem: ProblemDocument }
  | { readonly id: string; readonly href: string; readonly index: number | null; readonly replayed?: boolean };

/** Submitting many tasks at once. */
export function batchEndpoints(api: Api): Endpoints<"submitBatch"> {
  return { submitBatch: (ctx) => submitBatch(ctx, api, ctx.params.queue) };
}

async function submitBatch(ctx: Context, api: Api, queue: string): Promise<void> {
  const handler = inputHandlerOf(api, queue);
  const search = searchOf(ctx);
  const envelopes = booleanParameter(search, "envelope");
  search.delete("envelope");
  const options = readSubmitOptions(search, ctx.headers, Date.now());
  if (options.dryRun) throw wrongParameter("dryRun", "a batch cannot be tried without being submitted");
  checkType(ctx, handler);
  checkLength(ctx);
  const webhook = await readWebhook(search, api);
  const request: BatchRequest = {
    api,
    handler,
    settings: api.engine.settings(queue),
    envelopes,
    defaults: { ...options, queue, mediaType: "application/json", caller: callerOf(ctx), webhook },
    signature: (task) => signatureOf(ctx, task),
    storeAway: false,
  };
  const verdicts = new Resequencer(BATCH_DEFAULTS.inFlight);
  ctx.res.once("close", () => verdicts.abandon());
  void readBatch(ctx, request, verdicts);
  ctx.status = 202;
  ctx.type = NDJSON;
  ctx.set("Cache-Control", "no-store");
  ctx.body = Readable.from(verdicts, { objectMode: false, highWaterMark: BATCH_DEFAULTS.answerBytes });
}

/** @throws PaihaoError unsupported-media-type */
function checkType(ctx: Context, handler: Handler): void {
  const refuse = (detail: string) =>
    new PaihaoError("unsupported-media-type", detail, {
      headers: { Accept: NDJSON },
      extensions: { accepts: [NDJSON] },
    });
  if (!consumesType(handler, "application/json")) {
    throw refuse(`The queue ${handler.queue} accepts ${handler.consumes.join(", ")}: a batch is JSON, a value a line.`);
  }
  if (!/^application\/x-ndjson[ \t]*(;|$)/i.test(ctx.get("Content-Type"))) throw refuse(`A batch is ${NDJSON}.`);
  refuseCoding(ctx.req);
}

/** @throws PaihaoError payload-too-large */
function checkLength(ctx: Context): void {
  if (Number(ctx.get("Content-Length")) > BATCH_DEFAULTS.bytes) {
    throw new PaihaoError("payload-too-large", `A batch is ${BATCH_DEFAULTS.bytes} bytes at most.`);
  }
}

/** Reads the body line by line and has each stored; never fails. */
async function readBatch(ctx: Context, request: BatchRequest, verdicts: Resequencer): Promise<void> {
  const { api } = request;
  // Left before its end the body is not destroyed with its connection: the answer still goes over it.
  const chunks: AsyncIterable<Buffer> = ctx.req.iterator({ destroyOnReturn: false });
  const bounds = { lineBytes: api.maxBodyBytes, bodyBytes: BATCH_DEFAULTS.bytes, lines: BATCH_DEFAULTS.lines };
  try {
    for await (const line of splitLines(chunks, bounds)) {
      // One after the other, and stored together: tasks join the line in the order of their lines.
      const checked = await checkLine(request, line).catch((error: unknown) => lineProblem(error, api));
      const verdict = "problem" in checked ? Promise.resolve(checked) : store(request, checked);
      if (!(await verdicts.add(verdict.then((v) => `${JSON.stringify({ line: line.number, ...v })}\n`)))) break;
    }
  } catch (error) {
    // Whatever else ends the reading is the end of the connection: there is nobody left to tell.
    if (error instanceof BatchTooLarge) {
      const problem = problemDocument("payload-too-large", error.message);
      await verdicts.add(Promise.resolve(`${JSON.stringify({ line: error.line, problem })}\n`));
    } else if (!ctx.req.destroyed) {
      api.log.error({ err: error }, "batches: unexpected error; the rest of the batch is not read");
    }
  }
  // What is left is thrown away: a connection closed with unread bytes is reset, and the answer with it.
  ctx.req.resume();
  verdicts.end();
}

/** A line as it will be submitted. @throws PaihaoError payload-too-large, malformed-json, invalid-input, invalid-parameter */
async function checkLine({ api, handler, envelopes, defaults }: BatchRequest, line: BodyLine): Promise<Submission> {
  if (line.bytes === null) {
    throw new PaihaoError("payload-too-large", `The line is longer than ${api.maxBodyBytes} bytes.`);
  }
  if (!isUtf8(line.bytes)) throw new PaihaoError("malformed-json", "The line is not UTF-8.");
  const text = line.bytes.toString("utf8");
  const envelope: Envelope = envelopes ? readEnvelope(text) : { input: text };
  await checkJson(envelope.input, handler);
  return { id: randomUUID(), ...defaults, ...envelope };
}

/** Submits a line that has been checked; never fails. */
async function store(request: BatchRequest, submission: Submission): Promise<Verdict> {
  const { api, settings } = request;
  const { id } = submission;
  try {
    if (request.storeAway) throw new PaihaoError("store-unavailable", "Not tried: the store did not answer before.");
    const verdict = await api.engine.submit(submission, settings);
    const refusal = refusalOf(submission, verdict, { byKey: false });
    if (refusal) throw refusal;
    if (!verdict.durable) throw new PaihaoError("not-durable", "The task is stored and may run.");
    const replayed = verdict.verdict === "replay" ? { replayed: true } : {};
    const { index, createdMs } = verdict;
    const href = paths.result(id, request.signature({ id, caller: submission.caller, createdMs }));
    return { id, href, index, ...replayed };
  } catch (error) {
    const problem = lineProblem(error, api).problem;
    const code = error instanceof PaihaoError ? error.code : undefined;
    if (code === "store-unavailable") request.storeAway = true;
    // It may have been stored all the same: under this id it can be submitted again without being run twice.
    if (code === "store-unavailable" || code === "not-durable") problem.id ??= id;
    return { problem };
  }
}

function lineProblem(error: unknown, api: Api): { problem: ProblemDocument } {
  const problem = problemOf(error, api.log);
  const { errors } = problem;
  if (!Array.isArray(errors) || errors.length <= BATCH_DEFAULTS.fieldErrors) return { problem };
  const told = errors.slice(0, BATCH_DEFAULTS.fieldErrors);
  const moreErrors = Number(problem.moreErrors ?? 0) + errors.length - told.length;
  return { problem: { ...problem, errors: told, moreErrors } };
}
