import { parseDuration } from "../config/duration.ts";
import type { State } from "../task.ts";
import { choice, text } from "./request.ts";

/** The lists of a queue, with the states of their tasks. */
export const LISTS = {
  waiting: ["waiting"],
  running: ["running"],
  scheduled: ["scheduled", "retrying"],
  dead: ["failed"],
  finished: ["succeeded", "failed", "canceled"],
} as const satisfies Readonly<Record<string, readonly State[]>>;

export type ListName = keyof typeof LISTS;

/** The schemas of the members of a filter. */
export const FILTER_FORMS = {
  idPrefix: /^[A-Za-z0-9._~:-]{1,300}$/,
  /** The names of API keys. */
  caller: /^[\x21-\x7e]{1,128}$/,
  key: /^[^\0]{0,256}$/u,
  error: /^[^\0\r\n]{1,300}$/u,
  text: /^[^\0]{1,128}$/u,
} as const;

/** The filter by state, for a list whose tasks are in these. */
export const inState = (states: readonly State[]) => choice("state", "Only tasks in this state.", states);

/** The query parameters of a filter. */
export const FILTER_PARAMETERS = {
  idPrefix: text("idPrefix", "Only tasks whose ids begin with this.", {
    pattern: FILTER_FORMS.idPrefix.source,
    form: FILTER_FORMS.idPrefix,
    expected: "1–300 characters A–Z a–z 0–9 . _ ~ : -",
  }),
  ofCaller: text("caller", "Only tasks of this caller: the name of an API key.", {
    form: FILTER_FORMS.caller,
    expected: "the name of an API key: 1–128 visible ASCII characters",
  }),
  ofKey: text("key", "Only tasks with this line key, in a fair or keyed queue.", {
    form: FILTER_FORMS.key,
    expected: "at most 256 characters without NUL",
  }),
  ofText: text("text", "Only tasks whose id, label or line key contains this; ASCII letters in either case.", {
    form: FILTER_FORMS.text,
    expected: "1–128 characters without NUL",
  }),
  withError: text("error", "Only tasks that failed with this error, as `/dead/errors` names it.", {
    form: FILTER_FORMS.error,
    expected: "a code, then perhaps a colon, a space and the first line of an error: 1–300 characters",
  }),
  inState: inState([...new Set(Object.values(LISTS).flat())]),
  olderThan: {
    ...text(
      "olderThan",
      "Only tasks submitted at least this long ago: in seconds, or a time such as `90s`, `5m`, `2h` or `3d`.",
    ),
    expected: "seconds, or a time such as 90s, 5m, 2h or 3d",
    read(age: string): number | undefined {
      const ms = parseDuration(age, "s");
      return ms === undefined ? undefined : ms / 1000;
    },
  },
} as const;
