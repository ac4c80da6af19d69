import type { Context } from "koa";
import type { Inspection } from "../../engine/watch/inspect.ts";
import { DETAILS_LIMITS, type PastAttempt, type StepRecord, type TaskDetails } from "../../store/task/inspect.ts";
import { HEADED_TYPE, isJsonType, isOutcome } from "../../task.ts";
import { timestamp } from "../../wire/document.ts";
import type { Attempt, AttemptRecord, Shown, Step, Timeline } from "../../wire/task.ts";
import type { Api } from "../api.ts";
import { json } from "../openapi/responses.ts";
import { accessOf } from "../request/access.ts";
import { type Route, WATCH } from "../route.ts";
import { observe } from "./find.ts";
import { unknownTask } from "./reply.ts";
import { documentOf } from "./task-document.ts";

/** The task of a timeline. */
export interface TimelineSubject {
  readonly seen: Inspection;
  readonly details: TaskDetails;
  /** Whether its reader may see workers and raw errors. */
  readonly all: boolean;
}

/** Members of a timeline that the core does not know. */
export interface TimelineMembers extends Partial<Pick<Timeline, "undo" | "webhooks">> {
  /** When its steps were undone. */
  readonly undoneAt?: string | null;
}

/** Adds to timelines what the core does not know. */
export interface TimelineSource {
  timeline?(api: Api, of: TimelineSubject): Promise<TimelineMembers>;
}

/** What happened to a task. */
export function timelineRoutes(api: Api, sources: readonly TimelineSource[]): readonly Route[] {
  return [
    {
      name: "timeline",
      method: "GET",
      path: "/v1/requests/:id/timeline",
      scopes: WATCH,
      tag: "Watch",
      summary: "What happened to a task: attempts, steps, undo, webhooks, input and result",
      description:
        "Workers, and the errors, stacks and logs of attempts, are shown only to API keys with the scope `read`.",
      answers: { "200": json("Its timeline.", "Timeline") },
      run: async (ctx) => {
        const id: string = ctx.params.id ?? "";
        const seen = await observe(ctx, api, id);
        const details = await api.engine.call("details", { id, queue: seen.queue });
        if (!details) throw unknownTask(id.slice(0, 128));
        // Workers, raw errors, stacks and logs are for operators.
        const of = { seen, details, all: accessOf(ctx).scopes.has("read") };
        const others = Promise.all(sources.map((source) => source.timeline?.(api, of)));
        ctx.body = await timelineDocument(ctx, api, of, others);
      },
    },
  ];
}

async function timelineDocument(
  ctx: Context,
  api: Api,
  { seen, details, all }: TimelineSubject,
  others: Promise<readonly (TimelineMembers | undefined)[]>,
): Promise<Timeline> {
  const { attempts, omitted } = attemptsOf(seen, details, all);
  const [result, added] = await Promise.all([resultOf(api, seen), others]);
  const { undoneAt = null, ...members }: TimelineMembers = Object.assign({}, ...added);
  const { input, mediaType, query, steps, stepCount } = details;
  const short = input instanceof Buffer ? input : null;
  const length = typeof input === "number" ? input : null;
  return {
    task: documentOf(ctx, api, seen),
    caller: seen.caller,
    priority: details.priority,
    key: seen.key,
    dueAt: timestamp(seen.dueMs),
    query: query === "" ? {} : (JSON.parse(query) as Timeline["query"]),
    attempts,
    attemptsOmitted: omitted,
    steps: steps.map((step) => stepDocument(step, undoneAt)),
    stepsOmitted: Math.max(0, stepCount - steps.length),
    undo: null,
    webhooks: [],
    ...members,
    input: input === null || seen.expired ? null : shown(mediaType, short, length),
    result,
  };
}

/** The result of a task; if it failed, the problem that its caller collects. */
async function resultOf(api: Api, { id, state, expired }: Inspection): Promise<Timeline["result"]> {
  if ((state !== "succeeded" && state !== "failed") || expired) return null;
  const read = await api.engine.inspector.inspect(id, { result: true, maxBytes: DETAILS_LIMITS.bytes + 4096 });
  if (!read?.result) return { mediaType: "application/octet-stream", bytes: null, truncated: true, status: 200 };
  const { status, contentType, body } = read.result;
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  return { ...shown(contentType ?? "application/octet-stream", bytes, null), status };
}

/** Maximum number of past attempts, see store/task/attempt.lua: if there are this many, earlier ones may have been left out. */
const MAX_PAST = 10;

/**
 * The attempts of a task, the oldest first.
 * @param all whether to include workers, errors, stacks and logs, which are for operators
 */
export function attemptsOf(
  seen: Inspection,
  { past, logs }: TaskDetails,
  all: boolean,
): { attempts: Attempt[]; omitted: boolean } {
  /** What an attempt has left. */
  const recordOf = (number: number, beganMs: number): Pick<Attempt, "stack" | "log"> => {
    const kept = all && logs.find((log) => log.number === number && log.beganMs === beganMs);
    const { stack = null, log = [] } = kept ? (JSON.parse(kept.log) as AttemptRecord) : {};
    return { stack, log };
  };
  const attempts = past.map((attempt) => ({
    ...pastAttempt(attempt, all),
    ...recordOf(attempt.number, attempt.beganMs),
  }));
  const { state, startedMs, attempts: number, worker } = seen;
  // A task that waits for another attempt, or was canceled meanwhile, still has the run of the previous attempt.
  const isOver = past.some((attempt) => attempt.beganMs === startedMs && attempt.number === number);
  if (startedMs !== null && !isOver && (state === "running" || isOutcome(state))) {
    attempts.push({
      number,
      startedAt: timestamp(startedMs),
      endedAt: timestamp(seen.finishedMs),
      outcome: state,
      worker: all ? worker : null,
      error: (all && state === "failed" && seen.errors[0]) || null,
      ...recordOf(number, startedMs),
    });
  }
  return { attempts, omitted: past.length >= MAX_PAST };
}

function pastAttempt(
  { number, beganMs, endedMs, outcome, worker, error }: PastAttempt,
  all: boolean,
): Omit<Attempt, "stack" | "log"> {
  return {
    number,
    startedAt: timestamp(beganMs),
    endedAt: timestamp(endedMs),
    outcome: outcome as Attempt["outcome"],
    worker: (all && worker) || null,
    error: (all && error) || null,
  };
}

/**
 * A step with its value, if that is short.
 * @param undoneAt when all steps of the task had been undone; null if they have not
 */
export function stepDocument({ value, ...step }: StepRecord, undoneAt: string | null): Step {
  return {
    ...step,
    undoneAt: step.state === "undone" ? undoneAt : null,
    value: value === null ? null : jsonOf(value),
    truncated: value === null && step.bytes > 0,
  };
}

/** An input or a result, which is `null` if it is too long. */
export function shown(mediaType: string, bytes: Uint8Array | null, length: number | null): Shown {
  const [type = ""] = mediaType.toLowerCase().split(";");
  const known = {
    mediaType,
    bytes: bytes?.length ?? length,
    truncated: bytes === null || bytes.length > DETAILS_LIMITS.bytes,
  };
  if (bytes === null || known.truncated) return known;
  if (type === HEADED_TYPE) return { ...known, json: headOf(Buffer.from(bytes)) };
  const text = Buffer.from(bytes).toString("utf8");
  if (isJsonType(mediaType)) return { ...known, json: jsonOf(text) };
  return type.startsWith("text/") || type === "application/x-ndjson" ? { ...known, text } : known;
}

/** What the first line of a value says, and how much follows it. */
function headOf(bytes: Buffer): unknown {
  const end = bytes.indexOf("\n");
  const head = jsonOf(bytes.toString("utf8", 0, end));
  return typeof head === "object" ? { ...head, bodyBytes: bytes.length - end - 1 } : head;
}

/** A JSON value; text that is not JSON stays text. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
