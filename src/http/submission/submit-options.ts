import { LONGEST_DELAY_S, PRIORITY } from "../../task.ts";
import { urgencyOf } from "../headers/priority.ts";
import { booleanParameter, oneParameter, wholeParameter, wrongParameter } from "../input/parameters.ts";

/** The options in the query and headers of a submission. */
export interface SubmitOptions {
  readonly priority: number;
  readonly delayMs: number;
  /** Null for no deadline. */
  readonly deadlineMs: number | null;
  readonly maxIndex: number | null;
  readonly dryRun: boolean;
  /** All other parameters: those of the handler. */
  readonly query: Readonly<Record<string, string>>;
}

const NO_OPTIONS: SubmitOptions = {
  priority: PRIORITY.default,
  delayMs: 0,
  deadlineMs: null,
  maxIndex: null,
  dryRun: false,
  query: {},
};

/** Query parameters of the server; all others are passed to the handler. */
const OWN = new Set([
  ...["delay", "notBefore", "deadline", "maxIndex", "dryRun", "webhook"],
  ...["pending", "expires", "signature"],
]);
/** Seconds in each unit of Cancel-After. */
const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600 };
/** The shortest deadline, seconds: the store looks about once a second. */
const LEAST_DEADLINE_S = 1;
const RFC3339 =
  /^(\d{4})-(0[1-9]|1[0-2])-(\d\d)[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/**
 * Reads the options of a submission.
 * @throws PaihaoError invalid-parameter that names the parameter
 */
export function readSubmitOptions(search: URLSearchParams, headers: Headers, nowMs: number): SubmitOptions {
  // Most have none.
  if (search.size === 0 && headers.priority === undefined && headers["cancel-after"] === undefined) return NO_OPTIONS;
  const delayMs = delayOf(search, nowMs);
  const deadlineMs = deadlineOf(search, headers);
  checkDeadline(delayMs, deadlineMs);
  return {
    priority: urgencyOf(String(headers.priority ?? "")),
    delayMs,
    deadlineMs,
    maxIndex: wholeParameter(search, "maxIndex"),
    dryRun: booleanParameter(search, "dryRun"),
    query: Object.fromEntries([...search].filter(([name]) => !OWN.has(name))),
  };
}

function delayOf(search: URLSearchParams, nowMs: number): number {
  const delay = oneParameter(search, "delay");
  const notBefore = oneParameter(search, "notBefore");
  if (delay !== null && notBefore !== null) {
    throw wrongParameter("notBefore", "delay and notBefore cannot both be given");
  }
  if (delay !== null) {
    const seconds = /^\d+(\.\d+)?$/.test(delay) ? Number(delay) : Number.NaN;
    if (!(seconds <= LONGEST_DELAY_S)) throw wrongParameter("delay", `expected seconds from 0 to ${LONGEST_DELAY_S}`);
    return Math.round(seconds * 1000);
  }
  if (notBefore !== null) {
    // An unescaped "+" in the offset is decoded as a space.
    const at = instantOf(notBefore.replace(" ", "+"));
    if (at === undefined) {
      throw wrongParameter("notBefore", "expected an RFC 3339 time such as 2030-01-31T12:00:00Z");
    }
    if (at - nowMs > LONGEST_DELAY_S * 1000) throw wrongParameter("notBefore", "expected a time within a year");
    return Math.max(0, at - nowMs);
  }
  return 0;
}

/** The sooner of both forms. */
function deadlineOf(search: URLSearchParams, headers: Headers): number | null {
  const deadline = oneParameter(search, "deadline");
  const after = cancelAfterOf(headers);
  if (deadline === null) return after;
  const ms = checkedDeadline(/^\d+(\.\d+)?$/.test(deadline) ? Number(deadline) : Number.NaN, "deadline");
  return after === null ? ms : Math.min(ms, after);
}

/** Milliseconds of a Cancel-After header: `90`, `90s`, `5m`, `1h`; null where there is none. @throws PaihaoError invalid-parameter */
export function cancelAfterOf(headers: Headers): number | null {
  const value = headers["cancel-after"];
  if (value === undefined) return null;
  const [, amount, unit = "s"] = /^(\d+(?:\.\d+)?)([smh])?$/.exec(String(value).trim()) ?? [];
  return checkedDeadline(Number(amount) * (UNITS[unit] ?? Number.NaN), "Cancel-After");
}

/** Milliseconds of a deadline in seconds. @throws PaihaoError invalid-parameter */
export function checkedDeadline(seconds: number, name: string): number {
  if (seconds >= LEAST_DEADLINE_S && seconds <= LONGEST_DELAY_S) return Math.round(seconds * 1000);
  const form = name === "deadline" ? "" : ", such as 90, 90s, 5m or 1h";
  throw wrongParameter(name, `expected ${LEAST_DEADLINE_S} to ${LONGEST_DELAY_S} seconds${form}`);
}

/** @throws PaihaoError invalid-parameter for a deadline that the task could not meet, since it is not due before */
export function checkDeadline(delayMs: number, deadlineMs: number | null): void {
  if (deadlineMs !== null && deadlineMs <= delayMs) {
    throw wrongParameter("deadline", "expected a later time than that of delay or notBefore");
  }
}

/** Milliseconds of an RFC 3339 time; undefined if invalid, such as 30 February, which Date.parse reads as March. */
function instantOf(text: string): number | undefined {
  const [, year, month, day] = RFC3339.exec(text) ?? [];
  if (day === undefined || Number(day) < 1) return undefined;
  const daysOfMonth = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  return Number(day) <= daysOfMonth ? Date.parse(text.toUpperCase()) : undefined;
}
