import { createHash, randomUUID } from "node:crypto";
import type { Context } from "koa";
import { ProblemError } from "../../errors.ts";
import type { OpenGroup } from "../../http/batches/batch-verdicts.ts";
import {
  type BatchVerdicts,
  type LineVerdict,
  mayBeStored,
  type RefusedLine,
  refusedLine,
  verdictLines,
} from "../../http/batches/line-verdict.ts";
import { derivedId } from "../../http/headers/request-id.ts";
import { accessOf } from "../../http/request/access.ts";
import { conflict, webhooksFull } from "../../http/submit/refusal.ts";
import type { Logger } from "../../log.ts";
import { groupLinksFor } from "./group-document.ts";
import { type BatchGroup, groupsOf } from "./groups.ts";
import type { GroupOpeningVerdict } from "./verbs.ts";

/** How many problems of lines a batch without any task is told. */
const TOLD = 10;

/** A batch that is added to a group. */
interface BatchOf {
  readonly ctx: Context;
  readonly log: Logger;
  readonly group: BatchGroup;
  /** Whether the group stays open after the batch. */
  readonly staysOpen: boolean;
  readonly location: string;
}

/** Opens the group of a batch, or finds that to which it is added. */
export const openGroup: OpenGroup = async (ctx, { engine, idSecret, log }, { group, staysOpen, options, settings }) => {
  const { caller } = accessOf(ctx);
  const { webhook, presenceMs, query } = options;
  if (presenceMs !== null) ctx.set("Presence", String(presenceMs / 1000));
  const isNamed = group !== "true";
  const opened = await groupsOf(engine).open({ id: isNamed ? group : null, caller, webhook, presenceMs }, settings);
  if (typeof opened === "string") throw groupRefusal(group, opened);
  const { id, createdMs } = opened;
  // All lines so far, so that a batch that is sent again makes the same ids, and equal lines in one batch make different ones.
  const lines = createHash("sha256").update(JSON.stringify([caller, settings.queue, id, createdMs, query]));
  const idOfQueue = (make: (n: number) => string) =>
    engine.keys.idIn(engine.keys.partitionOfQueue(settings.queue), make);
  const nextId = (text: string): string => {
    lines.update(`${text}\n`);
    const digest = lines.copy().digest("base64url");
    return idOfQueue((n) => derivedId(`member ${digest}`, idSecret.value, n));
  };
  const location = groupLinksFor(ctx, { id, caller, createdMs }).group;
  return {
    id,
    firstLine: opened.firstLine,
    nextId: isNamed ? nextId : () => idOfQueue(() => randomUUID()),
    answer: (verdicts, maxBytes) => answerOf({ ctx, log, group: opened, staysOpen, location }, verdicts, maxBytes),
  };
};

/** The verdicts of a batch, after which it ends; if that fails, the last one says so. A batch that broke off leaves its group open, for the lines that are missing. */
async function* untilEnd(of: BatchOf, verdicts: BatchVerdicts): AsyncGenerator<readonly LineVerdict[], void, void> {
  const { ctx, log, group, staysOpen } = of;
  let [hasTasks, mayGoOn] = [false, staysOpen];
  let next = await verdicts.next();
  for (; !next.done; next = await verdicts.next()) {
    hasTasks ||= next.value.some(isNew);
    mayGoOn ||= next.value.some(isDeferred);
    yield next.value;
  }
  const lines = next.value;
  if (lines === null) return;
  try {
    await group.endBatch({ lines: hasTasks ? group.firstLine + lines : 0, closes: !mayGoOn });
  } catch (error) {
    yield [refusedLine(ctx, log, lines, error)];
  }
}

/**
 * Waits until it is known whether a batch is answered with its verdicts, which it then returns. One for an open group always is; one for a
 * new group once a line has become its first task, one for a closed group once a line repeats one of its tasks.
 * @throws ProblemError if no line has become a task: that of the first line that was refused for the moment, else invalid-input; id-conflict
 * if the group is closed, and nothing was repeated
 */
async function answerOf(of: BatchOf, verdicts: BatchVerdicts, maxBytes: number) {
  const { ctx, location, group } = of;
  const { state, id } = group;
  const all = untilEnd(of, verdicts);
  const early: (readonly LineVerdict[])[] = [];
  let bytes = 0;
  for (let isDecided = state === "open"; !isDecided && bytes <= maxBytes; ) {
    const next = await all.next();
    if (next.done) {
      const told = early.flat();
      // An empty batch closes a group, also if it is sent again.
      if (state === "closed" && told.length > 0) throw groupRefusal(id, "closed");
      // Lines that may have been stored have ids in their verdicts.
      if (state === "new" && !told.some((verdict) => isRepeated(verdict) || isUnsure(verdict)))
        throw withoutTasks(told);
      if (state === "closed") ctx.set("Location", location);
      return early.values();
    }
    early.push(next.value);
    bytes += verdictLines(next.value).length;
    isDecided = next.value.some(state === "new" ? isNew : isRepeated);
  }
  ctx.set("Location", location);
  return restOf(early, all);
}
async function* restOf<T>(early: readonly T[], rest: AsyncIterable<T>): AsyncGenerator<T, void, void> {
  yield* early;
  yield* rest;
}

const isNew = (verdict: LineVerdict): boolean => "id" in verdict && !verdict.replayed;
const isRepeated = (verdict: LineVerdict): boolean => "id" in verdict && verdict.replayed === true;
/** It may be sent again. */
const isDeferred = (verdict: LineVerdict): verdict is RefusedLine =>
  "error" in verdict && (verdict.error.status === 429 || verdict.error.status === 503);
/** It may have been stored. */
const isUnsure = (verdict: LineVerdict): boolean =>
  "error" in verdict && mayBeStored(verdict.error) && verdict.problem.id !== undefined;

/** A group has at least one task. */
function withoutTasks(verdicts: readonly LineVerdict[]): ProblemError {
  const detail = verdicts.length === 0 ? "The batch has no lines." : "No line of the batch became a task of the group.";
  const refused = verdicts.filter((verdict) => "problem" in verdict).slice(0, TOLD);
  const errors = refused.map(({ line, problem }) => ({
    pointer: `#/${line}`,
    detail: problem.detail ?? problem.title,
  }));
  const deferred = verdicts.find(isDeferred);
  if (!deferred) return new ProblemError("invalid-input", detail, { extensions: { errors } });
  const { code, extensions, retryAfterS } = deferred.error;
  return new ProblemError(code, detail, {
    extensions: { ...extensions, errors },
    ...(retryAfterS !== undefined && { retryAfterS }),
  });
}

/** Why a batch is not added to a group. */
export function groupRefusal(id: string, verdict: Exclude<GroupOpeningVerdict, "new" | "open">): ProblemError {
  if (verdict === "webhooks-full") return webhooksFull();
  // The response does not even reveal whether the group is open.
  if (verdict === "foreign") return new ProblemError("id-conflict");
  if (verdict === "elsewhere") return conflict(id, "The group is one of another queue.");
  return conflict(id, "The group takes no more tasks.");
}
