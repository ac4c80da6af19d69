import { mayBeChosen } from "../../task.ts";
import { wrongParameter } from "../../wire/request.ts";
import { LINE_MEMBERS, type SubmitOptions, withMembers } from "../../wire/submission.ts";
import { parseJson } from "../request/body.ts";

/** A line of a batch: the input, and the options of its task. */
export interface Envelope {
  /** As JSON text. */
  readonly input: string;
  /** Parsed. */
  readonly value: unknown;
  readonly id?: string;
  readonly options: SubmitOptions;
}

const MEMBERS = ["id", "input", ...Object.keys(LINE_MEMBERS)];

/**
 * Reads `{ "id"?, "input", "priority"?, "delay"?, "deadline"?, "presence"? }`. Unknown members are refused, since a misspelt one would be ignored.
 * @param defaults the options of the batch
 * @throws ProblemError malformed-json, invalid-input of a number too large, or invalid-parameter that names the member
 */
export function readEnvelope(text: string, defaults: SubmitOptions): Envelope {
  const value = parseJson(text);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw wrongParameter("envelope", 'expected an object such as {"input":{},"priority":0}');
  }
  const unknown = Object.keys(value).find((name) => !MEMBERS.includes(name));
  if (unknown !== undefined) {
    throw wrongParameter(unknown.slice(0, 64), `not a member of an envelope, expected ${MEMBERS.join(", ")}`);
  }
  const { id, input, ...members }: Partial<Record<string, unknown>> = { ...value };
  if (input === undefined) throw wrongParameter("input", "missing");
  const options = withMembers(defaults, members);
  return { input: JSON.stringify(input), value: input, options, ...(id !== undefined && { id: checkedId(id) }) };
}

/** An id that a caller has chosen. @throws ProblemError invalid-parameter */
export function checkedId(id: unknown): string {
  if (typeof id === "string" && mayBeChosen(id)) return id;
  throw wrongParameter(
    "id",
    "expected 1–128 characters A–Z a–z 0–9 . _ ~ -, the first a letter or digit, not ending as those of schedules do (~20261126T030000Z)",
  );
}
