import { beforeMember, resultJson } from "../../engine/tasks/result.ts";
import type { Inspection } from "../../engine/watch/inspect.ts";
import type { OutputPage } from "../../engine/watch/output.ts";
import type { Watch } from "../../engine/watch/watch.ts";
import { isOutcome } from "../../task.ts";
import type { Api } from "../api.ts";
import { versionId } from "../request/etag.ts";
import type { Sender } from "../request/forwarded.ts";
import { eventText } from "../server/streams.ts";
import { observeEnd } from "../task/find.ts";
import { outcomeProblem } from "../task/reply.ts";
import { documentOf } from "../task/task-document.ts";
import { type FollowedTask, OutputReader, type OutputSource } from "./task-output.ts";

/** What the events of a task are built from. */
interface EventsParts {
  readonly ctx: Sender;
  readonly api: Api;
  readonly source: OutputSource;
  readonly task: FollowedTask;
  /** The id of the last event that the client has; "" for none. */
  readonly known: string;
  /** Begins to watch it. */
  begin(): Promise<Watch>;
}

/**
 * The events of one task: `status` at once and on every change, `output` for its values, `done`. A client that reads slowly gets the latest
 * state when it is ready again. The id of each says where to resume: the version of the task that the client has seen last and, once it has
 * seen output, a point and the number of the next value. The id of `done` is the version alone.
 */
export async function* taskEvents(parts: EventsParts): AsyncGenerator<string, void, void> {
  const { ctx, api, source, task, known } = parts;
  const watch = await parts.begin();
  const reader = new OutputReader(source, watch, task, nextOf(known));
  const statusOf = (seen: Inspection) => JSON.stringify(documentOf(ctx, api, seen));
  /** The version that was sent last, so that no version is sent twice. */
  let version = "";
  const outputOf = (page: OutputPage) => page.textOf(version, eventsOf(version));
  try {
    do {
      const { seen } = watch;
      // The task is unknown, deleted, or another one with the same id: a client that reconnects gets the right answer.
      if (!seen || seen.deleted || seen.createdMs !== task.createdMs) return;
      const current = versionId(seen);
      if (isOutcome(seen.state)) {
        // The remaining output, then the last state and `done`; the state first for a client that has had none. It has no id, so that a
        // client disconnected before `done` gets both again.
        const end = await observeEnd(ctx, api, seen.id);
        const status = eventText({ name: "status", data: statusOf(end) });
        const isFirst = version === "";
        if (isFirst) yield status;
        if (isFirst) version = versionId(end);
        for await (const page of reader.rest()) yield outputOf(page);
        const done = eventText({ name: "done", id: versionId(end), data: doneDocument(ctx, end, statusOf(end)) });
        yield isFirst ? done : status + done;
        return;
      }
      if (current !== version) {
        version = current;
        yield eventText({ name: "status", id: idOf(version, reader.next), data: statusOf(seen) });
      }
      const page = await reader.page();
      if (page) {
        yield outputOf(page);
        watch.wake();
      }
    } while (await watch.next());
  } finally {
    reader.stop();
    watch.stop();
  }
}
/** The id of an event, with the number of the value that follows it. */
function idOf(version: string, next: number): string {
  return next === 0 ? version : `${version}.${next}`;
}

/** The number of the first value after the event with this id. */
function nextOf(id: string): number {
  const next = /\.(\d{1,15})$/.exec(id)?.[1];
  return next === undefined ? 0 : Number(next);
}

/** Writes values as events. */
function eventsOf(version: string): (values: readonly string[], from: OutputPage["from"]) => string {
  return (values, from) =>
    values.map((data, n) => eventText({ name: "output", id: idOf(version, from + n + 1), data })).join("");
}

/**
 * The document of the event `done`: the monitor's, with the result if it is short JSON, or the problem that collecting it would
 * answer.
 * @param seen the task, with its result
 * @param document the monitor's document of it, as JSON
 */
export function doneDocument(sender: Sender, seen: Inspection, document: string): string {
  // A result that was not read is too long, but exists.
  const isLong = seen.result === null && !seen.expired && seen.state !== "canceled";
  const problem = isLong ? null : outcomeProblem(sender, seen);
  const json = problem ? JSON.stringify(problem.document) : seen.result && resultJson(seen.result);
  if (!json) return document;
  return `${beforeMember(document, problem ? "problem" : "result")}${json.replace(/[\r\n]+/g, " ")}}`;
}
