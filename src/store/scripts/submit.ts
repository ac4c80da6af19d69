import { PRIORITY, type State } from "../../task.ts";
import type { Confirmation } from "../durability.ts";
import { stateOf } from "../letters.ts";
import { grouped } from "./grouped.ts";
import { type KeyTurn, keyTurn } from "./key-turn.ts";
import { list, optional, text } from "./reply.ts";
import type { Argument, Script } from "./script.ts";
import { type QueueSnapshot, snapshotOf } from "./snapshot.ts";

/** A task for submit.lua. */
export interface SubmitItem {
  readonly id: string;
  readonly queue: string;
  /** 0 most urgent … 7. */
  readonly priority: number;
  readonly delayMs: number;
  readonly input: string | Buffer;
  /** 16 bytes as 32 hex digits if the input is not stored in the hash, else "". */
  readonly digest: string;
  /** "" for application/json. */
  readonly mediaType: string;
  /** JSON; "" if empty. */
  readonly query: string;
  readonly caller: string;
  /** Maximum of waiting and scheduled tasks. */
  readonly limit: number;
  readonly maxIndex: number | null;
  readonly dryRun: boolean;
  /** URL to notify of the task's end; "" for none. */
  readonly webhook: string;
  /** Whether the task can be undone. */
  readonly undo: boolean;
  /** The process to notify of its end; left out or "" for none. */
  readonly listener?: string;
  /** Canceled unless it has ended within this time; null for none. */
  readonly deadlineMs: number | null;
  /** "weight key" in a fair line; left out in any other. */
  readonly share?: string | undefined;
  /** "limit key" in a keyed line, "limit" if it has no key; left out in any other. */
  readonly key?: string | undefined;
  /** The trace context of the submitter, see the field in fields.ts; "" or undefined for none. */
  readonly trace?: string | undefined;
}

/** The verdict, see submit.lua. */
export type SubmitVerdict =
  | "new"
  | "replay"
  | "conflict"
  | "elsewhere"
  | "moved"
  | "foreign"
  | "full"
  | "untold"
  | "long"
  | "dry";

/** The reply of submit.lua for a task. */
export interface Submitted {
  readonly verdict: SubmitVerdict;
  readonly state: State | null;
  readonly index: number | null;
  /** The score in the line, for counting in other partitions. */
  readonly score: string;
  /** When the task was stored, possibly by an earlier submission; 0 if there is none. */
  readonly createdMs: number;
  /** Of a new task in a keyed line. */
  readonly turn: KeyTurn | null;
}

/** The reply of submit.lua for all tasks. */
interface SubmittedBatch {
  readonly snapshots: readonly QueueSnapshot[];
  readonly verdicts: readonly Submitted[];
  /** Whether all of it has the requested durability. */
  readonly durable: boolean;
}

/** Stores tasks and adds them to the line. */
export const submit =
  (script: Script, confirmation: Confirmation) =>
  async (tag: string, items: readonly SubmitItem[]): Promise<SubmittedBatch> => {
    const { reply, node } = await script.served(tag, submitArguments(items));
    const durable = await confirmation.confirm(node);
    const [snapshots, verdicts] = list(reply);
    return { durable, snapshots: list(snapshots).map(snapshotOf), verdicts: text(verdicts).split("\n").map(submitted) };
  };

function submitArguments(items: readonly SubmitItem[]): Argument[] {
  return grouped(items, { together: isOfGroup, head: pushGroup, item: pushSubmission });
}

function isOfGroup(a: SubmitItem, b: SubmitItem): boolean {
  return a.queue === b.queue && a.limit === b.limit && a.listener === b.listener && haveSameOptions(a, b);
}

function pushGroup(args: Argument[], t: SubmitItem): void {
  args.push(t.queue, t.limit, t.listener ?? "");
  if (haveSameOptions(t, DEFAULTS)) {
    args.push("");
  } else {
    args.push("1", t.priority, t.delayMs, t.mediaType, t.query, t.caller, t.maxIndex ?? "", t.dryRun ? "1" : "");
    args.push(t.webhook, t.undo ? "1" : "", t.deadlineMs ?? "");
  }
}

function pushSubmission(args: Argument[], t: SubmitItem): void {
  const trace = t.trace ?? "";
  const more =
    (t.digest === "" ? 0 : 1) +
    (t.share === undefined ? 0 : 2) +
    (t.key === undefined ? 0 : 4) +
    (trace === "" ? 0 : 8);
  args.push(t.id, t.input, more || "");
  if (t.digest !== "") args.push(t.digest);
  if (t.share !== undefined) args.push(t.share);
  if (t.key !== undefined) args.push(t.key);
  if (trace !== "") args.push(trace);
}

/** What tasks that are submitted together mostly have in common. */
type Options = Pick<
  SubmitItem,
  "priority" | "delayMs" | "mediaType" | "query" | "caller" | "maxIndex" | "dryRun" | "webhook" | "undo" | "deadlineMs"
>;

const DEFAULTS: Options = {
  ...{ priority: PRIORITY.default, delayMs: 0, mediaType: "", query: "", caller: "", maxIndex: null },
  ...{ dryRun: false, webhook: "", undo: false, deadlineMs: null },
};

/** Member by member: this is done for every task. */
function haveSameOptions(a: Options, b: Options): boolean {
  const sameTimes = a.priority === b.priority && a.delayMs === b.delayMs && a.deadlineMs === b.deadlineMs;
  const sameTexts = a.mediaType === b.mediaType && a.query === b.query && a.webhook === b.webhook;
  return (
    sameTimes &&
    sameTexts &&
    a.caller === b.caller &&
    a.maxIndex === b.maxIndex &&
    a.dryRun === b.dryRun &&
    a.undo === b.undo
  );
}

function submitted(snapshot: string): Submitted {
  const words = snapshot.split(" ");
  const [verdict = "", state = "", index = "", score = "", created = ""] = words;
  return {
    verdict: verdict as SubmitVerdict,
    state: stateOf(state),
    index: optional(index),
    score,
    createdMs: Number(created),
    turn: words.length > 5 ? keyTurn(words.slice(5)) : null,
  };
}
