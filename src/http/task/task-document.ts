import type { Context } from "koa";
import { estimatedPercent } from "../../engine/estimates/estimate.ts";
import type { Inspection } from "../../engine/watch/inspect.ts";
import { errorEntries } from "../../errors.ts";
import { isInternalQueue } from "../../handler/internal-queues.ts";
import { SHARED } from "../../store/constants.ts";
import { isOutcome, mayBeChosen, type Result, type TaskAction } from "../../task.ts";
import { isTime, type LISTED, SHOWN } from "../../task-record.ts";
import { timestamp } from "../../wire/document.ts";
import type { Link, ListedTask, Progress, Task, TaskError, Turn } from "../../wire/task.ts";
import type { Api } from "../api.ts";
import { type Access, accessOf, hasScope, mayEnd, mayEndTurn } from "../request/access.ts";
import { takesInputs } from "../request/queue.ts";
import { ADMIN, SUBMIT } from "../route.ts";
import { doneLink, linksFor, pendingLinks, type TaskLinks, taskLinks } from "./links.ts";

/**
 * What is read of a failed task for its document: also its result, a problem document. Results can be large, so a longer one is not read;
 * the error is then that of the catalogue.
 */
export const WITH_PROBLEM = { result: true, maxBytes: 65_536 } as const;

/** The monitor's document of a task for the sender of a request. See {@link monitorDocument}. */
export function documentOf(ctx: Pick<Context, "state">, api: Pick<Api, "engine" | "handlers">, seen: Inspection) {
  const actions = actionsOf(accessOf(ctx), api, seen);
  // Nobody runs a turn again.
  const attempts = seen.longestMs === null ? api.engine.queues.settings(seen.queue).attempts : 1;
  const document = monitorDocument(seen, attempts, {
    at: linksFor(ctx, seen),
    actions,
    isAtDoor: api.handlers.get(seen.queue)?.turns?.all === false,
  });
  if (!document.turn || document.turn.door || !mayEndTurn(accessOf(ctx), seen)) return document;
  return { ...document, links: [...document.links, doneLink(ctx, seen)] };
}

/** Whether it is the turn of its caller now. */
export const isCalled = ({ state, longestMs }: Pick<Inspection, "state" | "longestMs">): boolean =>
  state === "running" && longestMs !== null;

function turnOf({ startedMs, presentUntilMs, longestMs, fence }: Inspection, door: boolean): Turn {
  const endsMs = startedMs !== null && longestMs ? startedMs + longestMs : null;
  return {
    since: timestamp(startedMs ?? 0),
    until: timestamp(presentUntilMs),
    endsAt: timestamp(endsMs),
    fence: Number(fence),
    door,
  };
}

/**
 * The monitor's document of a task. For a failed task `seen.result` is needed: it contains the error.
 * @param reader what depends on the reader: the links to the task, and the actions allowed
 *   `isAtDoor`: its turn is a request at the door of a gateway
 */
export function monitorDocument(
  seen: Inspection,
  maxAttempts: number,
  {
    at = taskLinks(seen.id),
    actions = [],
    isAtDoor = false,
  }: { at?: TaskLinks; actions?: readonly TaskAction[]; isAtDoor?: boolean } = {},
): Task {
  const { id, queue, state, index, snapshot } = seen;
  const { attempt, cancelRequested, ...members } = membersOf(SHOWN, seen);
  return {
    ...{ id, queue, state, status: state, index, ahead: seen.ahead },
    running: snapshot.running,
    waiting: snapshot.waiting,
    attempt,
    maxAttempts,
    cancelRequested,
    progress: progressOf(seen),
    eta: seen.eta,
    ...members,
    ...(state === "canceled" && { expiresAt: null }),
    ...(isOutcome(state) && { presentUntil: null }),
    ...(isCalled(seen) && { turn: turnOf(seen, isAtDoor) }),
    error: errorOf(seen),
    actions,
    links: linksOf(seen, at, actions),
  };
}

/** Members of a record as documents show them. */
export function membersOf<M extends typeof SHOWN | typeof LISTED>(
  members: M,
  seen: Inspection,
): Pick<Required<ListedTask>, keyof M & keyof ListedTask> {
  const shown: Record<string, unknown> = {};
  for (const [name, { form, as = name }] of Object.entries<{ form: string; as?: string }>(members)) {
    const value: unknown = seen[as as keyof Inspection];
    shown[name] = isTime(form) ? timestamp(value as number | null) : value;
  }
  return shown as ReturnType<typeof membersOf<M>>;
}

function progressOf(seen: Inspection): Progress | null {
  if (seen.state === "succeeded") return { percent: 100, message: null, estimated: false };
  // How far somebody is with work of their own, nobody knows.
  if (seen.state !== "running" || isCalled(seen)) return null;
  if (seen.progress) return { percent: seen.progress.percent, message: seen.progress.message, estimated: false };
  const percent = seen.startedMs === null ? null : estimatedPercent(seen.snapshot, seen.startedMs, seen.nowMs);
  return percent === null ? null : { percent, message: null, estimated: true };
}

/** Why a task failed or was canceled: a code and a sentence. */
export function errorOf(seen: Inspection): TaskError | null {
  if (seen.canceledBy === "deadline") {
    return { code: SHARED.deadlinePassed, message: "The task was canceled, since it had not ended by its deadline." };
  }
  if (seen.canceledBy === "abandoned") {
    return {
      code: SHARED.abandoned,
      message: "Nobody looked at the task for as long as its presence, so it was canceled.",
    };
  }
  if (seen.state === "canceled") return { code: "canceled", message: "The task was canceled." };
  if (seen.state !== "failed") return null;
  const code = seen.errorCode ?? "task-failed";
  const problem = seen.result ? problemMembers(seen.result) : {};
  const title = errorEntries.find((entry) => entry.code === code)?.title ?? "The task failed";
  const isSaid = (text: unknown): text is string => typeof text === "string" && text !== "";
  const message = [problem.detail, problem.title].find(isSaid) ?? title;
  // If the undo failed: the steps that were not undone.
  return Array.isArray(problem.steps) && isInternalQueue(seen.queue)
    ? { code, message, steps: problem.steps.map(String) }
    : { code, message };
}

/** The members of a stored problem document; none if it is not one. */
export function problemMembers(result: Result): Record<string, unknown> {
  try {
    const members: unknown = JSON.parse(Buffer.from(result.body).toString("utf8"));
    return typeof members === "object" ? { ...members } : {};
  } catch {
    return {};
  }
}

function linksOf({ state, expired }: Inspection, at: TaskLinks, actions: readonly TaskAction[]): Link[] {
  if (!isOutcome(state)) return pendingLinks(at);
  const links = [{ rel: "self", href: at.monitor, method: "GET" }];
  if (state !== "canceled" && !expired) {
    links.push({ rel: "result", href: at.result, method: "GET" }, { rel: "delete", href: at.cancel, method: "DELETE" });
  }
  if (actions.includes("again")) links.push({ rel: "again", href: at.again, method: "POST" });
  return links;
}

/** Whether the caller may send a request for each action; the state of the task decides the rest. */
const RIGHTS: Readonly<Record<TaskAction, (access: Access, api: Pick<Api, "handlers">, task: Inspection) => boolean>> =
  {
    cancel: (access, _, task) => hasScope(access, SUBMIT) && mayEnd(access, task),
    delete: (access, _, task) => hasScope(access, SUBMIT) && mayEnd(access, task),
    move: (access, _, task) => hasScope(access, SUBMIT) && mayEnd(access, task),
    place: (access, { handlers }, { queue, state }) => {
      const { fair, keyed, limit } = handlers.get(queue) ?? {};
      return access.scopes.has("admin") && state === "waiting" && !fair && !keyed && !limit;
    },
    retry: (access) => hasScope(access, ADMIN),
    again: (access, { handlers }, task) =>
      hasScope(access, SUBMIT) && mayEnd(access, task) && takesInputs(handlers.get(task.queue)),
    // The store refuses a submission under the id of another caller's task, even an operator's.
    replace: (access, { handlers }, { id, caller, queue }) =>
      hasScope(access, SUBMIT) && access.caller === caller && mayBeChosen(id) && takesInputs(handlers.get(queue)),
  };

/** What a caller can do to a task now. */
function actionsOf(access: Access, api: Pick<Api, "handlers">, task: Inspection): readonly TaskAction[] {
  const all = task.allowed.flatMap((action) => (action === "move" ? (["move", "place"] as const) : [action]));
  return all.filter((action) => RIGHTS[action](access, api, task));
}
