import type { Context } from "koa";
import { PaihaoError } from "../../errors.ts";
import { LONGEST_DELAY_S, PRIORITY } from "../../task.ts";
import { urgencyOf } from "../headers/priority.ts";

/** The options in the query and headers of a submission. */
export interface SubmitOptions {
  readonly priority: number;
  readonly delayMs: number;
  readonly maxIndex: number | null;
  readonly dryRun: boolean;
  /** All other parameters: those of the handler. */
  readonly query: Readonly<Record<string, string>>;
}

const NO_OPTIONS: SubmitOptions = { priority: PRIORITY.default, delayMs: 0, maxIndex: null, dryRun: false, query: {} };

/** Query parameters of the server; all others are passed to the handler. */
const OWN = new Set(["delay", "notBefore", "maxIndex", "dryRun", "pending", "webhook", "expires", "signature"]);
const RFC3339 =
  /^(\d{4})-(0[1-9]|1[0-2])-(\d\d)[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

const NOTHING = new URLSearchParams();

/** The query of a request. Not `ctx.URL`, which is empty if the Host header is invalid. */
export function searchOf(ctx: Context): URLSearchParams {
  const { querystring } = ctx;
  return querystring === "" ? NOTHING : new URLSearchParams(querystring);
}

/**
 * Reads the options of a submission.
 * @throws PaihaoError invalid-parameter that names the parameter
 */
export function readSubmitOptions(
  search: URLSearchParams,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  nowMs: number,
): SubmitOptions {
  // Most have none.
  if (search.size === 0 && headers.priority === undefined) return NO_OPTIONS;
  return {
    priority: urgencyOf(String(headers.priority ?? "")),
    delayMs: delayOf(search, nowMs),
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

/** Milliseconds of an RFC 3339 time; undefined if invalid, such as 30 February, which Date.parse reads as March. */
function instantOf(text: string): number | undefined {
  const [, year, month, day] = RFC3339.exec(text) ?? [];
  if (day === undefined || Number(day) < 1) return undefined;
  const daysOfMonth = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  return Number(day) <= daysOfMonth ? Date.parse(text.toUpperCase()) : undefined;
}

/** A whole number ≥ 0; null if absent. @throws PaihaoError invalid-parameter */
export function wholeParameter(search: URLSearchParams, name: string): number | null {
  const value = oneParameter(search, name);
  if (value === null) return null;
  if (!/^\d{1,15}$/.test(value)) throw wrongParameter(name, "expected a whole number from 0");
  return Number(value);
}

/** `true` or `false`; false if absent. @throws PaihaoError invalid-parameter */
export function booleanParameter(search: URLSearchParams, name: string): boolean {
  const value = oneParameter(search, name);
  if (value !== null && value !== "true" && value !== "false") throw wrongParameter(name, "expected true or false");
  return value === "true";
}

/** The error for an invalid value of a parameter. */
export function wrongParameter(name: string, expected: string): PaihaoError {
  return new PaihaoError("invalid-parameter", `${name}: ${expected}`, { extensions: { parameter: name } });
}

/** The value of a parameter; null if absent. @throws PaihaoError invalid-parameter if it is repeated */
export function oneParameter(search: URLSearchParams, name: string): string | null {
  const [first, second] = search.getAll(name);
  if (second !== undefined) throw wrongParameter(name, "given more than once");
  return first ?? null;
}
