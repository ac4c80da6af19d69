import type { Context } from "koa";
import { ProblemError } from "../../errors.ts";
import { consumesType, type Handler } from "../../handler/define.ts";
import { traceOf } from "../../trace/trace-context.ts";
import { type Parameter, readParameter, wrongParameter } from "../../wire/request.ts";
import { readSubmitOptions } from "../../wire/submission.ts";
import type { Api } from "../api.ts";
import { laterParameters, parameterRefs } from "../openapi/parameters.ts";
import { headerRefs, schemaRef } from "../openapi/responses.ts";
import { refuseCoding } from "../request/body.ts";
import { PARAMETERS, searchOf } from "../request/parameters.ts";
import { inputHandlerOf } from "../request/queue.ts";
import { type Route, SUBMIT } from "../route.ts";
import { handOver, sendParts } from "../server/response.ts";
import { assembleSubmission, withWebhook } from "../submit/submission.ts";
import { batchVerdicts, type OpenGroup } from "./batch-verdicts.ts";
import { verdictLines } from "./line-verdict.ts";

/** The media type of a batch and its response: one JSON value for each line. */
const NDJSON = "application/x-ndjson";

/** Limits of a batch. */
const BATCH_DEFAULTS = {
  lines: 10_000,
  bytes: 32 * 1024 ** 2,
  /**
   * The maximum number of bytes of verdicts waiting for the caller, enough for 10,000 usual ones: many clients read the
   * response only after writing the whole request, and with less, both sides would wait for each other.
   */
  answerBytes: 4 * 1024 ** 2,
} as const;

/** Submitting many tasks at once. */
export function batchRoutes(api: Api, openGroup: OpenGroup | undefined): readonly Route[] {
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
        ...parameterRefs("envelope", ...(openGroup ? (["group", "open"] as const) : [])),
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
      run: (ctx) => submitBatch(ctx, api, openGroup, ctx.params.queue),
    },
  ];
}

async function submitBatch(ctx: Context, api: Api, openGroup: OpenGroup | undefined, queue: string): Promise<void> {
  const handler = inputHandlerOf(api, queue);
  const search = searchOf(ctx);
  const take = <T, Absent>(parameter: Parameter<T, Absent>): T | Absent => {
    const value = readParameter(search, parameter);
    search.delete(parameter.name);
    return value;
  };
  const envelopes = take(PARAMETERS.envelope);
  const grouped = { group: take(PARAMETERS.group), staysOpen: take(PARAMETERS.open) };
  if (grouped.group !== null && !openGroup) throw wrongParameter("group", "this server has no groups");
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
      : await openGroup?.(ctx, api, { group: asked, staysOpen, options: withDefaults, settings });
  const sending = api.tracing?.sendBatch(queue);
  const trace = sending?.trace ?? traceOf(ctx.headers);
  const verdicts = batchVerdicts(ctx, {
    ...{ api, handler, settings, envelopes, group, limits: BATCH_DEFAULTS },
    // The webhook and the presence are those of the group.
    options: group ? { ...checked, webhook: null, presenceMs: null } : checked,
    assemble: (line, id, options, checked) => {
      const member = group && { group: group.id, line: group.firstLine + line };
      sending?.add();
      return assembleSubmission(ctx, api, { id, handler, options, checked, trace, member });
    },
  });
  const maxBytes = BATCH_DEFAULTS.answerBytes;
  try {
    const answer = group ? await group.answer(verdicts, maxBytes) : verdicts;
    ctx.status = 202;
    ctx.type = NDJSON;
    void sendParts(handOver(ctx), answer, verdictLines, maxBytes).finally(() => sending?.end());
  } catch (error) {
    sending?.end();
    throw error;
  }
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
