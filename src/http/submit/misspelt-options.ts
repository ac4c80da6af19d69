import { nearest } from "../../config/nearest.ts";
import { SUBMIT_PARAMETERS } from "../../wire/submit-options.ts";
import type { Api } from "../api.ts";

const OPTIONS = SUBMIT_PARAMETERS.filter((parameter) => parameter.in === "query").map(({ name }) => name);

/** Names are from callers: after so many, nothing more is told. */
const MAX_TOLD = 100;

const toldBy = new WeakMap<Api, Set<string>>();

/**
 * Tells in the log that a parameter for the handler is named almost like an option, such as `delya`: once for each queue and name. It is no
 * error, since the handler may want it.
 */
export function tellMisspelt(api: Api, queue: string, query: SubmitQuery): void {
  for (const parameter of Object.keys(query)) {
    const meant = nearest(parameter, OPTIONS);
    if (meant === undefined) continue;
    const told = toldBy.get(api) ?? new Set();
    toldBy.set(api, told);
    const name = `${queue} ${parameter}`;
    if (told.has(name) || told.size >= MAX_TOLD) continue;
    told.add(name);
    const message = "a parameter of a submission went to the handler; was the option of a similar name meant?";
    api.log.warn({ queue, parameter, meant }, message);
  }
}

/** The parameters for a handler. */
type SubmitQuery = Readonly<Record<string, string>>;
