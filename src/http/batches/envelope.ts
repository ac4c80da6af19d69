import type { Submission } from "../../engine/submission/submission.ts";
import { isId, LONGEST_DELAY_S, PRIORITY } from "../../task.ts";
import { parseJson } from "../input/json.ts";
import { wrongParameter } from "../input/parameters.ts";
import { checkedDeadline } from "../submission/submit-options.ts";

/** A line of a batch with an envelope: the input as JSON text, and the options of its task. */
export type Envelope = Pick<Submission, "input"> & { input: string } & Partial<
    Pick<Submission, "id" | "priority" | "delayMs" | "deadlineMs">
  >;

const MEMBERS = new Set(["id", "input", "priority", "delay", "deadline"]);

/**
 * Reads `{ "id"?, "input", "priority"?, "delay"?, "deadline"? }`. Unknown members are refused, since a misspelt one would be ignored.
 * @throws PaihaoError malformed-json, invalid-input of a number too large, or invalid-parameter that names the member
 */
export function readEnvelope(text: string): Envelope {
  const value = parseJson(text);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw wrongParameter("envelope", 'expected an object such as {"input":{},"priority":0}');
  }
  const unknown = Object.keys(value).find((name) => !MEMBERS.has(name));
  if (unknown !== undefined) {
    throw wrongParameter(unknown.slice(0, 64), `not a member of an envelope, expected ${[...MEMBERS].join(", ")}`);
  }
  const { id, input, priority, delay, deadline }: Partial<Record<string, unknown>> = { ...value };
  if (input === undefined) throw wrongParameter("input", "missing");
  return {
    input: JSON.stringify(input),
    ...(id === undefined ? {} : { id: checkedId(id) }),
    ...(priority === undefined ? {} : { priority: checkedPriority(priority) }),
    ...(delay === undefined ? {} : { delayMs: checkedDelay(delay) }),
    ...(deadline === undefined ? {} : { deadlineMs: checkedDeadline(asNumber(deadline), "deadline") }),
  };
}

const asNumber = (value: unknown): number => (typeof value === "number" ? value : Number.NaN);

function checkedId(id: unknown): string {
  if (typeof id === "string" && isId(id)) return id;
  throw wrongParameter("id", "expected 1–128 characters A–Z a–z 0–9 . _ ~ -, the first a letter or digit");
}

function checkedPriority(priority: unknown): number {
  const { most, least } = PRIORITY;
  if (Number.isInteger(priority) && Number(priority) >= most && Number(priority) <= least) return Number(priority);
  throw wrongParameter("priority", `expected a whole number from ${most} to ${least}`);
}

function checkedDelay(delay: unknown): number {
  if (typeof delay === "number" && delay >= 0 && delay <= LONGEST_DELAY_S) return Math.round(delay * 1000);
  throw wrongParameter("delay", `expected seconds from 0 to ${LONGEST_DELAY_S}`);
}
