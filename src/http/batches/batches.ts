import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import type { Context } from "koa";
import type { QueueSettings } from "../../engine/settings.ts";
import type { Submission } from "../../engine/submission/submission.ts";
import { ProblemError } from "../../errors.ts";
import type { Handler } from "../../handler/define.ts";
import { consumesType } from "../../handler/input.ts";
import { traceOf } from "../../trace/trace-context.ts";
import { type Parameter, readParameter, wrongParameter } from "../../wire/parameter.ts";
import { readSubmitOptions, type SubmitOptions } from "../../wire/submit-options.ts";
import type { Api } from "../api.ts";
import { type CheckedInput, checkJson, parseJson, refuseCoding } from "../input/body.ts";
import { PARAMETERS, searchOf } from "../input/parameters.ts";
import { headerRefs } from "../openapi/headers.ts";
import { laterParameters, parameterRefs } from "../openapi/parameters.ts";
import { schemaRef } from "../openapi/responses.ts";
import { problemDocument, shownProblem } from "../problems/problem.ts";
import { inputHandlerOf } from "../queues/named-queue.ts";
import { type Route, SUBMIT } from "../route.ts";
import { handOver, whenClosed } from "../server/response.ts";
import { assembleSubmission, withWebhook } from "../submit/submission.ts";
import type { OwnedTask } from "../task/access.ts";
import { linksFor, type TaskLinks } from "../task/links.ts";
import type { OpenedGroup } from "./batch-group.ts";
import { type Envelope, readEnvelope } from "./envelope.ts";
import { GatheredLines, type LineVerdict, lineProblem, verdictLine } from "./gathered-lines.ts";
import { Resequencer } from "./resequencer.ts";
import { sendTexts } from "./send-texts.ts";
import { BatchTooLarge, type BodyLine, LineSplitter } from "./split-lines.ts";
import { Tally } from "./tally.ts";

/** The media type of a batch and its response: one JSON value for each line. */
const NDJSON = "application/x-ndjson";

/** Limits of a batch. */
const BATCH_DEFAULTS = {
  lines: 10_000,
  bytes: 32 * 1024 ** 2,
  /** The maximum number of lines whose verdict has not been sent: the body is read only as fast as the verdicts are. */
  inFlight: 500,
  /**
   * The maximum number of bytes of verdicts waiting for the caller, enough for 10,000 usual ones: many clients read the
   * response only after writing the whole request, and with less, both sides would wait for each other.
   */
  answerBytes: 4 * 1024 ** 2,
} as const;

/** What all lines of a batch share. */
interface BatchRequest {
  readonly api: Api;
  readonly handler: Handler;
  readonly settings: QueueSettings;
  readonly envelopes: boolean;
  /** Options that a line does not set itself. */
  readonly options: SubmitOptions;
  readonly group: OpenedGroup | undefined;
  readonly tally: Tally;
  /** Makes the submission of a line. @throws ProblemError invalid-input if the handler's `by` gives no key */
  assemble(line: number, id: string, options: SubmitOptions, checked: CheckedInput): Submission;
  /** Counts a verdict, and places it. @param error why the line was refused */
  tell(place: (text: string) => void, line: number, verdict: LineVerdict, error?: unknown): void;
  linksTo(task: OwnedTask): TaskLinks;
}

/** Submitting many tasks at once. */
export function batchRoutes(api: Api): readonly Route[] {
  return [
    {
      name: "submitBatch",
      method: "POST",
      path: "/v1/queues/:queue/batches",
      scopes: SUBMIT,
      tag: "Submit",
      summary: "Submit many tasks",
      description:
        `One JSON value on each line, at most ${BATCH_DEFAULTS.lines} lines and ${BATCH_DEFAULTS.bytes / 1024 ** 2} MiB. ` +
        "Read and answered as a stream: one verdict for each line, in order; empty lines are counted but get no verdict. A bad " +
        "line does not affect the others. The query and the headers Priority and Cancel-After are the defaults of every line, but with `group` a webhook is that of the group.",
      parameters: [
        ...parameterRefs("envelope", ...(api.openGroup ? (["group", "open"] as const) : [])),
        ...laterParameters(api),
      ],
      body: {
        required: true,
        content: {
          [NDJSON]: {
            schema: { type: "string", description: "Each line is an input, or an Envelope with `?envelope=true`." },
            example: '{"seconds":1}\n{"seconds":2}\n',
          },
        },
      },
      answers: {
        "202": {
          description: "A BatchVerdict for each line. With `group`, the group is at Location once it has a task.",
          headers: headerRefs("Location"),
          content: {
            [NDJSON]: { schema: schemaRef("BatchVerdict"), example: '{"line":0,"id":"…","href":"…","index":0}\n' },
          },
        },
      },
      run: (ctx) => submitBatch(ctx, api, ctx.params.queue),
    },
  ];
}

async function submitBatch(ctx: Context, api: Api, queue: string): Promise<void> {
  const handler = inputHandlerOf(api, queue);
  const search = searchOf(ctx);
  const take = <T, Absent>(parameter: Parameter<T, Absent>): T | Absent => {
    const value = readParameter(search, parameter);
    search.delete(parameter.name);
    return value;
  };
  const envelopes = take(PARAMETERS.envelope);
  const grouped = { group: take(PARAMETERS.group), staysOpen: take(PARAMETERS.open) };
  if (grouped.group !== null && !api.openGroup) throw wrongParameter("group", "this server has no groups");
  if (grouped.staysOpen && grouped.group === null) throw wrongParameter("open", "expected only with group");
  const given = readSubmitOptions(search.toString(), ctx.headers);
  if (given.dryRun) throw wrongParameter("dryRun", "not supported for batches");
  checkType(ctx, handler);
  checkLength(ctx);
  const settings = api.engine.queues.settings(queue);
  const checked = await withWebhook(api, given);
  const { group: asked, staysOpen } = grouped;
  const withDefaults = { ...checked, presenceMs: checked.presenceMs ?? handler.presenceMs ?? null };
  const group =
    asked === null
      ? undefined
      : await api.openGroup?.(ctx, api, { group: asked, staysOpen, options: withDefaults, settings });
  const sending = api.tracing?.sendBatch(queue);
  const trace = sending?.trace ?? traceOf(ctx.headers);
  const request: BatchRequest = {
    api,
    handler,
    settings,
    envelopes,
    group,
    tally: new Tally(),
    // The webhook and the presence are those of the group.
    options: group ? { ...checked, webhook: null, presenceMs: null } : checked,
    assemble: (line, id, options, checked) => {
      const member = group && { group: group.id, line: group.firstLine + line };
      sending?.add();
      return assembleSubmission(ctx, api, { id, handler, options, checked, trace, member });
    },
    tell: (place, line, verdict, error) => {
      request.tally.count(line, verdict, error);
      place(verdictLine(line, "problem" in verdict ? { problem: shownProblem(ctx, verdict.problem) } : verdict));
    },
    linksTo: (task) => linksFor(ctx, task),
  };
  const verdicts = new Resequencer(BATCH_DEFAULTS.inFlight);
  whenClosed(ctx.res, () => verdicts.abandon());
  void readBatch(ctx, request, verdicts).finally(() => sending?.end());
  const { tally } = request;
  const maxBytes = BATCH_DEFAULTS.answerBytes;
  const answer = group ? await group.answer(ctx, { tally, verdicts, maxBytes }) : verdicts;
  ctx.status = 202;
  ctx.type = NDJSON;
  void sendTexts(handOver(ctx), answer, maxBytes);
}

/** @throws ProblemError unsupported-media-type */
function checkType(ctx: Context, handler: Handler): void {
  const refuse = (detail: string) =>
    new ProblemError("unsupported-media-type", detail, {
      headers: { Accept: NDJSON },
      extensions: { accepts: [NDJSON] },
    });
  if (!consumesType(handler, "application/json")) {
    throw refuse(
      `The queue ${handler.queue} accepts ${handler.consumes.join(", ")}; a batch is sent as JSON, one value per line.`,
    );
  }
  if (!/^application\/x-ndjson[ \t]*(;|$)/i.test(ctx.get("Content-Type"))) throw refuse(`A batch is ${NDJSON}.`);
  refuseCoding(ctx.req);
}

/** @throws ProblemError payload-too-large */
function checkLength(ctx: Context): void {
  if (Number(ctx.get("Content-Length")) > BATCH_DEFAULTS.bytes) {
    throw new ProblemError("payload-too-large", `A batch has at most ${BATCH_DEFAULTS.bytes} bytes.`);
  }
}

/** Reads the body line by line and stores each line; never fails. */
async function readBatch(ctx: Context, request: BatchRequest, verdicts: Resequencer): Promise<void> {
  const { api, group, tally } = request;
  // A batch that broke off leaves its group open, for the lines that are missing.
  let complete = true;
  const gathered = new GatheredLines(request);
  // Without `destroyOnReturn`, since the connection must stay open for the response if reading stops early.
  const chunks: AsyncIterable<Buffer> = ctx.req.iterator({ destroyOnReturn: false });
  const splitter = new LineSplitter({
    lineBytes: api.maxBodyBytes,
    bodyBytes: BATCH_DEFAULTS.bytes,
    lines: BATCH_DEFAULTS.lines,
  });
  try {
    for await (const chunk of chunks) {
      complete = await readLines(request, splitter.take(chunk), gathered, verdicts);
      if (!complete) break;
    }
    const rest = splitter.rest();
    if (rest && complete) complete = await readLines(request, [rest], gathered, verdicts);
  } catch (error) {
    gathered.store();
    // Any other read error means that the connection has ended, so there is no response.
    if (error instanceof BatchTooLarge) {
      const problem = problemDocument("payload-too-large", error.message);
      request.tell(verdicts.place(), error.line, { problem });
    } else {
      complete = false;
      if (!ctx.req.destroyed)
        api.log.error({ err: error }, "batches: unexpected error; the rest of the batch is not read");
    }
  }
  // The rest is read and discarded: many clients read nothing of the response before they have sent everything.
  ctx.req.resume();
  if (group && complete) {
    await gathered.settled();
    const lines = tally.accepted > 0 ? group.firstLine + splitter.next : 0;
    const closes = !group.staysOpen && tally.deferred === 0;
    await group.endBatch({ lines, closes }).catch((error: unknown) => {
      request.tell(verdicts.place(), splitter.next, lineProblem(error, api.log));
    });
  }
  verdicts.end();
}

/** Stores each line; false if nobody reads the verdicts any more. */
async function readLines(
  request: BatchRequest,
  lines: Iterable<BodyLine>,
  gathered: GatheredLines,
  verdicts: Resequencer,
): Promise<boolean> {
  for (const line of lines) {
    const place = verdicts.place();
    try {
      // Lines are checked one after the other and stored together, so that tasks join the queue in the order of the batch.
      const checked = checkLine(request, line);
      if (checked instanceof Promise) gathered.store();
      gathered.add({ line: line.number, submission: checked instanceof Promise ? await checked : checked, place });
    } catch (error) {
      request.tell(place, line.number, lineProblem(error, request.api.log), error);
    }
    // Awaited only if there is no room: a promise for each line would cost more than the line.
    const room = verdicts.room();
    if (room === true) continue;
    gathered.store();
    if (!(await room)) return false;
  }
  gathered.store();
  return true;
}

/**
 * Checks a line; returns its submission. @throws ProblemError payload-too-large, malformed-json, invalid-input,
 * invalid-parameter
 */
function checkLine(request: BatchRequest, line: BodyLine): Submission | Promise<Submission> {
  const { api, handler, envelopes, group } = request;
  if (line.bytes === null) {
    throw new ProblemError("payload-too-large", `The line is longer than ${api.maxBodyBytes} bytes.`);
  }
  if (!isUtf8(line.bytes)) throw new ProblemError("malformed-json", "The line is not UTF-8.");
  const text = line.bytes.toString("utf8");
  const { keys } = api.engine;
  const made = group?.nextId(text) ?? keys.idIn(keys.partitionOfQueue(handler.queue), () => randomUUID());
  const {
    input,
    value,
    id = made,
    options,
  }: Envelope = envelopes
    ? readEnvelope(text, request.options)
    : { input: text, value: parseJson(text), options: request.options };
  if (group && options.presenceMs !== null)
    throw wrongParameter("presence", "of all lines of a group: a parameter of the batch");
  const checked = checkJson(input, value, handler);
  const assemble = (ready: CheckedInput) => request.assemble(line.number, id, options, ready);
  return checked instanceof Promise ? checked.then(assemble) : assemble(checked);
}
