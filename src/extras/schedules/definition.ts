import { type Duration, durationWithin, parseDuration } from "../../config/duration.ts";
import { hint } from "../../config/nearest.ts";
import { ID_FORM, MISSED, OVERLAP } from "../../task.ts";
import { msOf, RFC3339_EXPECTED } from "../../wire/document.ts";
import { wrongParameter } from "../../wire/request.ts";
import { SUBMIT_DEFAULTS, type SubmitOptions, withMembers } from "../../wire/submission.ts";
import { isCron, isTimeZone } from "./due-times.ts";
import type { ScheduleBody } from "./wire.ts";

/** What a schedule submits and when, as it is stored and shown: what was sent, with defaults. */
export type Definition = Omit<ScheduleBody, "paused" | "timeZone" | "missed" | "overlap"> &
  Required<Pick<ScheduleBody, "timeZone" | "missed" | "overlap">>;

/** The longest id: the one of a task has the due time behind it. */
const MAX_ID = 64;

/** Bounds of `every`, ms. */
const EVERY = { min: 1000, max: 366 * 86_400_000 } as const;

/** How a member is read. */
type Reader = readonly [valid: (given: unknown) => boolean, expected: string];

const text = (valid: (given: string) => boolean, expected: string): Reader => [
  (given) => typeof given === "string" && valid(given),
  expected,
];
const time = text((given) => msOf(given) !== undefined, RFC3339_EXPECTED);
const oneOf = (words: readonly string[]) => text((given) => words.includes(given), words.join(" or "));

/** The members that are about time; those of a submission are read as in a batch. */
const READERS: Readonly<Record<string, Reader>> = {
  queue: text(() => true, "the name of a queue"),
  input: [(given) => given !== undefined, "the input of its tasks"],
  cron: text(
    isCron,
    "a pattern of five or six fields that matches some time, or @hourly, @daily, @weekly, @monthly, @yearly",
  ),
  every: text(isInterval, `whole seconds: ${durationWithin(EVERY.min, EVERY.max)}`),
  timeZone: text(isTimeZone, "a time zone such as Europe/Berlin"),
  startAt: time,
  endAt: time,
  missed: oneOf(MISSED),
  overlap: oneOf(OVERLAP),
};
const OF_TASKS = ["priority", "deadline", "label"];
const MEMBERS = [...Object.keys(READERS), ...OF_TASKS];

function isInterval(given: Duration): boolean {
  const ms = parseDuration(given) ?? Number.NaN;
  return ms >= EVERY.min && ms <= EVERY.max && ms % 1000 === 0;
}

/** Reads what a schedule submits and when. @throws ProblemError invalid-parameter that names the member */
export function readDefinition(given: Readonly<Record<string, unknown>>): Definition {
  const unknown = Object.keys(given).find((name) => !MEMBERS.includes(name));
  if (unknown !== undefined)
    throw wrongParameter(unknown.slice(0, 64), `not a member of a schedule${hint(unknown, MEMBERS)}`);
  for (const name of ["queue", "input"]) if (given[name] === undefined) throw wrongParameter(name, "missing");
  for (const [name, [valid, expected]] of Object.entries(READERS)) {
    if (given[name] !== undefined && !valid(given[name])) throw wrongParameter(name, `expected ${expected}`);
  }
  if ((given.cron === undefined) === (given.every === undefined))
    throw wrongParameter(given.cron === undefined ? "cron" : "every", "expected either cron or every");
  const defaults = { timeZone: "UTC", missed: MISSED[0], overlap: OVERLAP[0] };
  const whole: Readonly<Record<string, unknown>> = { ...defaults, ...given };
  // In one order, so that the same definition is the same text.
  const definition = Object.fromEntries(
    MEMBERS.flatMap((name) => (whole[name] === undefined ? [] : [[name, whole[name]]])),
  );
  // The readers have checked it.
  const read = definition as unknown as Definition;
  optionsOf(read);
  return read;
}

/** The options of its tasks. @throws ProblemError invalid-parameter that names the member */
export function optionsOf({ priority, deadline, label }: Definition): SubmitOptions {
  return withMembers(SUBMIT_DEFAULTS, { priority, deadline, label });
}

/** The part from which its due times follow, as text. */
export const timesOf = ({ cron, every, timeZone, startAt, endAt }: Definition): string =>
  JSON.stringify([cron, every, timeZone, startAt, endAt]);

/** Whether a text can be the id of a schedule. */
export const isScheduleId = (id: string): boolean => ID_FORM.test(id) && id.length <= MAX_ID;

/** What is expected of it. */
export const SCHEDULE_ID = `1–${MAX_ID} characters A–Z a–z 0–9 . _ ~ -, the first a letter or digit`;

/** The id of the task of a due time: the same whoever submits it. */
export const taskIdOf = (schedule: string, atMs: number): string =>
  `${schedule}~${new Date(atMs).toISOString().slice(0, 19).replace(/[-:]/g, "")}Z`;
