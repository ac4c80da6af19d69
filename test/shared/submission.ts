import type { Submission } from "../../src/engine/tasks/submission.ts";
import type { SubmitItem } from "../../src/store/task/submit.ts";
import { SUBMIT_DEFAULTS, type SubmitOptions } from "../../src/wire/submission.ts";

/** What differs from the usual submission: members and options together. */
export type GivenSubmission = Partial<Submission & SubmitOptions>;

/** A submission of JSON to a queue, with the usual options except those given. */
export function submissionOf(id: string, queue: string, input: string, given?: GivenSubmission): Submission {
  const usual = { id, queue, input, mediaType: "application/json", caller: null, options: SUBMIT_DEFAULTS };
  // Benchmarks make many, and measure what becomes of them.
  return given ? { ...usual, ...given, options: optionsIn(given) } : usual;
}

/** The same as it is sent to the store. */
export function submitItemOf(given: Partial<SubmitItem> & Partial<Omit<SubmitOptions, "query">>): SubmitItem {
  return {
    ...{
      id: "a",
      queue: "jobs",
      input: "1",
      digest: "",
      mediaType: "",
      query: "",
      caller: "",
      limit: 100,
      undo: false,
      dropInput: false,
    },
    options: optionsIn({ ...given, query: {} }),
    ...given,
  };
}

function optionsIn(given: Partial<SubmitOptions>): SubmitOptions {
  const names = Object.keys(SUBMIT_DEFAULTS) as (keyof SubmitOptions)[];
  const own = names.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]]));
  return { ...SUBMIT_DEFAULTS, ...Object.fromEntries(own) };
}
