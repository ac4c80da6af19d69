import { createHash, randomUUID } from "node:crypto";
import type { Context } from "koa";
import { ProblemError } from "../../errors.ts";
import type { BatchTally, BatchVerdicts, OpenGroup } from "../../http/batches/batch-group.ts";
import { derivedId } from "../../http/headers/request-id.ts";
import { conflict, webhooksFull } from "../../http/submit/refusal.ts";
import { accessOf } from "../../http/task/access.ts";
import { groupLinksFor } from "./group-document.ts";
import { type BatchGroup, groupsOf } from "./groups.ts";
import type { GroupOpeningVerdict } from "./verbs.ts";

/** Opens the group of a batch, or finds that to which it is added. */
export const openGroup: OpenGroup = async (ctx, { engine, idSecret }, { group, staysOpen, options, settings }) => {
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
    ...opened,
    staysOpen,
    nextId: isNamed ? nextId : () => idOfQueue(() => randomUUID()),
    answer: (of, verdicts) => answerOf(of, { ...opened, location }, verdicts),
  };
};

/**
 * Waits until it is known whether a batch is answered with its verdicts, which it then returns. One for an open group always is; one for a
 * new group once a line has become its first task, one for a closed group once a line repeats one of its tasks.
 * @throws ProblemError if no line has become a task: that of the first line that was refused for the moment, else invalid-input; id-conflict
 * if the group is closed, and nothing was repeated
 */
async function answerOf(
  ctx: Context,
  { state, id, location }: BatchGroup & { readonly location: string },
  { tally, verdicts, maxBytes }: BatchVerdicts,
): Promise<AsyncIterable<string>> {
  const isDecided = () => state === "open" || (state === "new" ? tally.accepted : tally.repeated) > 0;
  const texts = verdicts[Symbol.asyncIterator]();
  const early: string[] = [];
  let bytes = 0;
  let ended = false;
  while (!isDecided() && !ended && bytes <= maxBytes) {
    const { value, done = false } = await texts.next();
    ended = done;
    if (done) continue;
    early.push(value);
    bytes += value.length;
  }
  if (ended && !isDecided()) {
    // An empty batch closes a group, also if it is sent again.
    if (state === "closed" && tally.lines > 0) throw groupRefusal(id, "closed");
    // Lines that may have been stored have ids in their verdicts.
    if (state === "new" && tally.repeated + tally.unsure === 0) throw withoutTasks(tally);
  }
  if (state !== "new" || !ended || tally.accepted > 0) ctx.set("Location", location);
  return restOf(early, texts);
}

async function* restOf(early: readonly string[], texts: AsyncIterator<string>): AsyncGenerator<string, void, void> {
  yield* early;
  for (let next = await texts.next(); !next.done; next = await texts.next()) yield next.value;
}

/** A group has at least one task. */
function withoutTasks({ lines, problems, deferral }: BatchTally): ProblemError {
  const detail = lines === 0 ? "The batch has no lines." : "No line of the batch became a task of the group.";
  const errors = problems.map(({ line, problem }) => ({
    pointer: `#/${line}`,
    detail: problem.detail ?? problem.title,
  }));
  if (!deferral) return new ProblemError("invalid-input", detail, { extensions: { errors } });
  const { code, extensions, retryAfterS } = deferral;
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
