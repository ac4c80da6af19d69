import type { Context } from "koa";
import { PaihaoError } from "../../errors.ts";

const NOTHING = new URLSearchParams();

/** The query of a request. Not `ctx.URL`, which is empty if the Host header is invalid. */
export function searchOf(ctx: Context): URLSearchParams {
  const { querystring } = ctx;
  return querystring === "" ? NOTHING : new URLSearchParams(querystring);
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
