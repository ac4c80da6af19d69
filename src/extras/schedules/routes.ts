import { randomUUID } from "node:crypto";
import type { Context } from "koa";
import { z } from "zod";
import type { Engine } from "../../engine/engine.ts";
import { ProblemError } from "../../errors.ts";
import type { Api } from "../../http/api.ts";
import { logAction } from "../../http/audit-log.ts";
import { requestId } from "../../http/headers/request-id.ts";
import { parameterRefs } from "../../http/openapi/parameters.ts";
import { empty, json, jsonBody, responseRef } from "../../http/openapi/responses.ts";
import { accessOf } from "../../http/request/access.ts";
import { readJson } from "../../http/request/body.ts";
import { linkTo } from "../../http/request/forwarded.ts";
import { PARAMETERS, searchOf } from "../../http/request/parameters.ts";
import { ADMIN, pathTo, READ, type Route } from "../../http/route.ts";
import { checkAccepted, send } from "../../http/submit/submit.ts";
import { findTask } from "../../http/task/find.ts";
import { checkTag, preconditionFailed, readPreconditions } from "../../http/task/preconditions.ts";
import { pendingTask, replyPending, storedTask } from "../../http/task/reply.ts";
import { Portions } from "../../portions.ts";
import { timestamp } from "../../wire/document.ts";
import { oneParameter, readParameter, wrongParameter } from "../../wire/request.ts";
import { type Definition, isScheduleId, readDefinition, SCHEDULE_ID, taskIdOf } from "./definition.ts";
import { DueTimes } from "./due-times.ts";
import type { Schedules } from "./schedules.ts";
import type { PastTime, ScheduleRow } from "./verbs.ts";
import type { Schedule, Schedules as SchedulePage } from "./wire.ts";

const PATH = "/v1/schedules/:id";
const schedulePath = pathTo(PATH);

/** How many of the next due times are shown. */
const SHOWN = 5;

const body = z.record(z.string(), z.unknown());

/** Schedules: tasks that are submitted by the clock. @param wake called when one has changed */
export function scheduleRoutes(api: Api, schedules: Schedules, wake: () => void): readonly Route[] {
  const tag = "Schedules";
  return [
    {
      name: "schedules",
      method: "GET",
      path: "/v1/schedules",
      scopes: READ,
      tag,
      summary: "All schedules, by their ids",
      parameters: parameterRefs("limit", "cursor"),
      answers: { "200": json("A page of them.", "Schedules") },
      run: (ctx) => list(ctx, api, schedules),
    },
    {
      name: "schedule",
      method: "GET",
      path: PATH,
      scopes: READ,
      tag,
      summary: "One schedule: its next due times, and what became of the last one",
      answers: { "200": json("The schedule.", "Schedule", "ETag") },
      run: (ctx) => reply(ctx, api, schedules, idOf(ctx)),
    },
    {
      name: "putSchedule",
      method: "PUT",
      path: PATH,
      scopes: ADMIN,
      tag,
      summary: "Make or change a schedule",
      description:
        "Either `cron` or `every`. The queue has to accept the input. One that a handler declares can only be paused and resumed: with the same members otherwise.",
      parameters: parameterRefs("If-Match", "If-None-Match-write"),
      body: jsonBody("ScheduleBody"),
      answers: {
        "200": json("It is changed.", "Schedule", "ETag"),
        "201": json("It is new.", "Schedule", "ETag", "Location"),
      },
      run: (ctx) => put(ctx, api, schedules, wake),
    },
    {
      name: "deleteSchedule",
      method: "DELETE",
      path: PATH,
      scopes: ADMIN,
      tag,
      summary: "Delete a schedule; its tasks stay",
      parameters: parameterRefs("If-Match"),
      answers: { "204": empty("It is deleted.") },
      run: (ctx) => remove(ctx, api, schedules),
    },
    {
      name: "runSchedule",
      method: "POST",
      path: `${PATH}/run`,
      scopes: ADMIN,
      submits: "under the caller's key",
      tag,
      summary: "Submit a task of a schedule now, beside its due times",
      parameters: parameterRefs("X-Request-Id"),
      answers: { "202": responseRef("Accepted") },
      run: (ctx) => runNow(ctx, api, schedules),
    },
  ];
}

/** @throws ProblemError invalid-parameter */
function idOf(ctx: Context): string {
  const id = String(ctx.params.id);
  if (!isScheduleId(id)) throw wrongParameter("id", `expected ${SCHEDULE_ID}`);
  return id;
}

/** Of what was set: its next and last times change without it. */
const tagOf = ({ revision }: ScheduleRow): string => `W/"${revision}"`;
const CHANGED = "It was changed meanwhile.";

const unknownSchedule = (id: string) => new ProblemError("unknown", "No schedule has this id.", { extensions: { id } });
const declaredSchedule = (id: string) => new ProblemError("declared", undefined, { extensions: { id } });

/** @throws ProblemError unknown */
async function find(schedules: Schedules, id: string): Promise<{ readonly nowMs: number; readonly row: ScheduleRow }> {
  const { nowMs, row } = await schedules.find(id);
  if (!row) throw unknownSchedule(id);
  return { nowMs, row };
}

async function list(ctx: Context, { engine }: Api, schedules: Schedules): Promise<void> {
  const search = searchOf(ctx);
  const limit = readParameter(search, PARAMETERS.limit);
  const after = oneParameter(search, "cursor");
  if (after !== null && !isScheduleId(after)) throw wrongParameter("cursor", "expected the `next` of another page");
  const { nowMs, more, rows } = await schedules.page(after, limit);
  const next = more ? (rows.at(-1)?.id ?? null) : null;
  const lasts = await Promise.all(rows.map((row) => lastOf(engine, row)));
  const items: Schedule[] = [];
  const portions = new Portions();
  for (const [n, row] of rows.entries()) {
    items.push(scheduleDocument(row, lasts[n] ?? null, nowMs));
    await portions.pause();
  }
  ctx.body = { items, next } satisfies SchedulePage;
}

async function reply(ctx: Context, { engine }: Api, schedules: Schedules, id: string): Promise<void> {
  const { nowMs, row } = await find(schedules, id);
  ctx.set("ETag", tagOf(row));
  ctx.body = scheduleDocument(row, await lastOf(engine, row), nowMs);
}

async function put(ctx: Context, api: Api, schedules: Schedules, wake: () => void): Promise<void> {
  const id = idOf(ctx);
  const { paused = false, ...given } = await readJson(ctx.req, body, api.maxBodyBytes);
  if (typeof paused !== "boolean") throw wrongParameter("paused", "expected true or false");
  const definition = readDefinition(given);
  await check(schedules, definition);
  const conditions = readPreconditions(ctx);
  const { row } = conditions ? await schedules.find(id) : {};
  if (conditions) checkTag(id, conditions, row ? tagOf(row) : null);
  const revision = conditions && (row?.revision ?? 0);
  const verdict = await schedules.put(id, definition, { paused, revision });
  if (verdict === "declared") throw declaredSchedule(id);
  if (verdict === "stale") throw preconditionFailed(id, CHANGED);
  if (verdict !== "same") {
    await tell(ctx, api, "set schedule", definition.queue, id);
    wake();
  }
  await reply(ctx, api, schedules, id);
  if (verdict !== "new") return;
  ctx.status = 201;
  ctx.set("Location", linkTo(ctx, schedulePath(id)));
}

/** Checks its input as that of a submission. @throws ProblemError invalid-parameter for an unknown queue; invalid-input */
async function check(schedules: Schedules, definition: Definition): Promise<void> {
  try {
    await schedules.submissionOf(randomUUID(), definition);
  } catch (error) {
    if (error instanceof ProblemError && error.code === "unknown-queue") throw wrongParameter("queue", error.message);
    throw error;
  }
}

async function remove(ctx: Context, api: Api, schedules: Schedules): Promise<void> {
  const id = idOf(ctx);
  const { row } = await find(schedules, id);
  const conditions = readPreconditions(ctx);
  if (conditions) checkTag(id, conditions, tagOf(row));
  const verdict = await schedules.delete(id, conditions && row.revision);
  if (verdict === "declared") throw declaredSchedule(id);
  if (verdict === "stale") throw preconditionFailed(id, CHANGED);
  if (verdict === "unknown") throw unknownSchedule(id);
  const { queue } = JSON.parse(row.definition) as Definition;
  await tell(ctx, api, "delete schedule", queue, id);
  ctx.status = 204;
}

/** Notes what an operator has done to a schedule. */
async function tell(ctx: Context, api: Api, action: string, queue: string, schedule: string): Promise<void> {
  logAction(ctx, api, action, { queue, schedule });
  const { caller } = accessOf(ctx);
  const detail = `${action} ${schedule}`;
  await api.engine.events.note({ kind: "settings-changed", queue, ...(caller !== null && { by: caller }), detail });
}

async function runNow(ctx: Context, api: Api, schedules: Schedules): Promise<void> {
  const { row } = await find(schedules, idOf(ctx));
  const submission = await schedules.submissionOf(requestId(ctx), JSON.parse(row.definition) as Definition);
  const verdict = await send(ctx, api, submission);
  checkAccepted(ctx, submission, verdict);
  const { id, queue } = submission;
  logAction(ctx, api, "run schedule", { queue, schedule: row.id, id });
  if (verdict.verdict === "new") return replyPending(ctx, storedTask(submission, verdict), 202);
  ctx.set("Idempotent-Replayed", "true");
  replyPending(ctx, pendingTask(await findTask(ctx, api, id, { result: false })), 202);
}

/** A schedule as it is shown. */
export function scheduleDocument(row: ScheduleRow, last: Schedule["last"], nowMs: number): Schedule {
  const { id, declared, orphan, paused, createdMs, afterMs } = row;
  const definition = JSON.parse(row.definition) as Definition;
  const times = new DueTimes(definition, createdMs);
  const next = paused || orphan ? [] : times.between(Math.max(nowMs, afterMs), Number.POSITIVE_INFINITY, SHOWN);
  const shown = { declared, orphan, next: next.map((ms) => timestamp(ms)), last };
  return { id, ...definition, paused, ...shown, history: row.history.map((past) => pastTime(id, past)) };
}

function pastTime(id: string, { atMs, state }: PastTime): Schedule["history"][number] {
  return { id: taskIdOf(id, atMs), at: timestamp(atMs), state: state === "submitted" ? null : state };
}

/** The latest due time of a schedule, and what became of it. */
export async function lastOf(engine: Engine, { id, last }: ScheduleRow): Promise<Schedule["last"]> {
  if (!last) return null;
  const task = taskIdOf(id, last.atMs);
  const { state } = last;
  const shown = state === "submitted" ? (await engine.inspector.inspect(task, { result: false }))?.state : state;
  return { id: task, at: timestamp(last.atMs), state: shown ?? null };
}
