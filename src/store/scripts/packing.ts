/**
 * How the hot scripts are spoken to: each argument and each element of a reply costs the client more than Redis, so that what many
 * items have in common is told once, what is the default not at all, and verdicts come in one string.
 */
import { PRIORITY } from "../../task.ts";
import { stateOf } from "../keys.ts";
import type { CompleteVerdict, Completion, Part, Reserved, SubmitItem, Submitted, SubmitVerdict } from "./items.ts";
import { optional, text } from "./rows.ts";
import type { Argument, BytesReply } from "./script.ts";

/** How items are written as arguments. */
interface Grouping<T> {
  /** Whether two that follow one another have a head in common. */
  together(a: T, b: T): boolean;
  head(args: Argument[], first: T): void;
  item(args: Argument[], item: T): void;
}

function grouped<T>(items: readonly T[], { together, head, item }: Grouping<T>): Argument[] {
  const args: Argument[] = [0];
  let groups = 0;
  let length = 0;
  let first: T | undefined;
  for (const one of items) {
    if (first === undefined || !together(first, one)) {
      groups += 1;
      first = one;
      head(args, one);
      length = args.push(0) - 1;
    }
    args[length] = Number(args[length]) + 1;
    item(args, one);
  }
  args[0] = groups;
  return args;
}

function pushSubmission(args: Argument[], t: SubmitItem): void {
  if (isPlain(t)) {
    args.push(t.id, t.input, "");
  } else {
    args.push(t.id, t.input, "1", t.digest, t.priority, t.delayMs, t.mediaType, t.query, t.caller);
    args.push(t.maxIndex ?? "", t.dryRun ? "1" : "", t.webhook, t.undo ? "1" : "");
  }
}

/** The arguments of submit.lua. */
export function submitArguments(items: readonly SubmitItem[]): Argument[] {
  return grouped(items, {
    together: (a, b) => a.queue === b.queue && a.limit === b.limit,
    head: (args, { queue, limit }) => args.push(queue, limit),
    item: pushSubmission,
  });
}

/** The arguments of complete.lua, and the last ones of reserve.lua. */
export function completeArguments(items: readonly Completion[]): Argument[] {
  return grouped(items, {
    together: (a, b) => a.queue === b.queue && a.keepMs === b.keepMs && a.tombstoneMs === b.tombstoneMs,
    head: (args, { queue, keepMs, tombstoneMs }) => args.push(queue, keepMs, tombstoneMs),
    item: (args, { id, fence, result }) => args.push(id, fence, result),
  });
}

/** Reads what complete.lua answers. */
export function completeVerdicts(reply: string): CompleteVerdict[] {
  return reply === "" ? [] : (reply.split(" ") as CompleteVerdict[]);
}

/** Reads the tasks that reserve.lua answers: of each its facts and its input, and three more where the facts say so. */
export function reservedTasks(reply: readonly BytesReply[]): Reserved[] {
  const tasks: Reserved[] = [];
  for (let at = 0; at < reply.length; at += 2) {
    const [id = "", fence = "", attempt, losses = "", created, more] = text(reply[at]).split(" ");
    const [lost, unbegun = 0] = losses.split("/");
    let [mediaType, query, caller] = ["", "", ""];
    const input = reply[at + 1];
    if (more !== undefined) {
      [mediaType = "", query = "", caller = ""] = reply.slice(at + 2, at + 5).map(text);
      at += 3;
    }
    tasks.push({
      id,
      fence,
      attempt: Number(attempt),
      lost: Number(lost),
      unbegun: Number(unbegun),
      createdMs: Number(created),
      input: Buffer.isBuffer(input) ? input : null,
      inputBytes: typeof input === "number" ? input : 0,
      mediaType: mediaType || "application/json",
      query,
      caller,
    });
  }
  return tasks;
}

/** Reads what reserve.lua answers of a request that is remembered by itself. */
export function partOf(reply: string): Part {
  const [generation, given, replayed] = reply.split(" ");
  return { generation: Number(generation), given: Number(given), replayed: replayed === "1" };
}

/** Whether all but its id and input has its default. */
function isPlain(t: SubmitItem): boolean {
  const usual = t.priority === PRIORITY.default && t.delayMs === 0 && t.maxIndex === null && !t.dryRun && !t.undo;
  return usual && t.digest === "" && t.mediaType === "" && t.query === "" && t.caller === "" && t.webhook === "";
}

/** Reads a line of what submit.lua answers. */
export function submitted(line: string): Submitted {
  const [verdict = "", state = "", index = "", score = "", created = ""] = line.split(" ");
  return {
    verdict: verdict as SubmitVerdict,
    state: stateOf(state),
    index: optional(index),
    score,
    createdMs: Number(created),
  };
}
