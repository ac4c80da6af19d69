import type { Context } from "koa";
import { ProblemError } from "../../errors.ts";
import type { Move, MoveVerdict } from "../../store/task/actions.ts";
import { msOf } from "../../wire/document.ts";
import { wrongParameter } from "../../wire/request.ts";
import { type MoveBody, moveBody } from "../../wire/task.ts";
import type { Api } from "../api.ts";
import { logAction } from "../audit-log.ts";
import { json, jsonBody } from "../openapi/responses.ts";
import { accessOf, forbidden, mayEnd } from "../request/access.ts";
import { readJson } from "../request/body.ts";
import { type Route, SUBMIT } from "../route.ts";
import { findTask } from "./find.ts";
import { TASK_PATHS } from "./links.ts";
import { unknownTask } from "./reply.ts";
import { documentOf } from "./task-document.ts";

/** Moving a task that waits. */
export function moveRoutes(api: Api): readonly Route[] {
  return [
    {
      name: "move",
      method: "PATCH",
      path: TASK_PATHS.result,
      scopes: SUBMIT,
      tag: "Submit",
      summary: "Move a task that waits: its priority, its place or its time",
      description:
        "The order of all others stays. Callers may lower the priority of their own tasks and change their times; the rest needs the scope `admin`. A place is at the start or the end of the whole line. In a fair or keyed line, or one with a `limit`, only the priority can be changed.",
      body: jsonBody("move"),
      answers: { "200": json("The task at its new place.", "Task") },
      run: (ctx) => move(ctx, api, ctx.params.id),
    },
  ];
}

/** What is said of a `notBefore` that the store finds too far ahead. */
export const FAR = "expected a time within a year";

/** What is refused although the task waits, by the verdict. */
const REFUSALS: Readonly<Partial<Record<MoveVerdict, string>>> = {
  ordered:
    "a fair or keyed line, or one with a limit, has an order of its own, in which only the priority can be changed",
  late: "expected a time before the deadline of the task",
  far: FAR,
};

async function move(ctx: Context, api: Api, id: string): Promise<void> {
  const body = await readJson(ctx.req, moveBody, api.maxBodyBytes);
  const before = await findTask(ctx, api, id, { result: false });
  await checkRights(ctx, api, before, body);
  const verdict = await api.engine.submitter.move(before, moveOf(body));
  if (verdict === "unknown") throw unknownTask(id);
  const { queue, state } = before;
  if (verdict === "not-waiting") throw new ProblemError("not-waiting", undefined, { extensions: { id, queue, state } });
  const refusal = REFUSALS[verdict];
  if (refusal !== undefined) throw wrongParameter(Object.keys(body)[0] ?? "", refusal);
  logAction(ctx, api, "move", { queue, id, to: body });
  ctx.body = documentOf(ctx, api, await findTask(ctx, api, id, { result: false }));
}

/** Callers may let others pass their own tasks; only operators may let a task pass others. @throws ProblemError forbidden */
async function checkRights(
  ctx: Context,
  { engine }: Api,
  task: Parameters<typeof mayEnd>[1] & { readonly id: string; readonly queue: string },
  { priority, place }: MoveBody,
): Promise<void> {
  const access = accessOf(ctx);
  if (access.scopes.has("admin")) return;
  if (!mayEnd(access, task) || place !== undefined) throw forbidden(["admin"]);
  if (priority === undefined) return;
  const details = await engine.call("details", { id: task.id, queue: task.queue });
  if (priority < (details?.priority ?? 0)) throw forbidden(["admin"]);
}

function moveOf({ priority, place, delay, notBefore }: MoveBody): Move {
  return {
    ...{ priority, place },
    delayMs: delay === undefined ? undefined : Math.round(delay * 1000),
    notBeforeMs: notBefore === undefined ? undefined : msOf(notBefore),
  };
}
