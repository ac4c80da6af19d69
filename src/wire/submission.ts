import { z } from "zod";
import { LONGEST_DELAY_S, PRESENCE_S, PRIORITY } from "../task.ts";
import { count, type Document, index, msOf, RFC3339_EXPECTED } from "./document.ts";
import { problem } from "./problem.ts";
import { flag, oneParameter, type Parameter, text, urgencyOf, valid, whole, wrongParameter } from "./request.ts";
import { id } from "./task.ts";

/** A way to give an option. */
interface Form<T> extends Omit<Parameter<T>, "absent" | "read"> {
  readonly in?: "query" | "header";
  /** Also a member of an envelope in a batch, of this type. */
  readonly line?: "number" | "string";
  read(text: string): T | undefined;
}

/** What a caller may ask for when submitting a task. */
interface Option<T> {
  readonly default: T;
  readonly forms: readonly Form<T>[];
  /** Whether it goes with the input: a `PUT` of another input replaces it, and `again` keeps it. Default: no. */
  readonly ofInput?: true;
  /** How two forms are combined; without it, only one may be given. */
  both?(first: T, second: T): T;
}

const option = <T>(of: Option<T>): Option<T> => of;

/** Seconds in each unit of Cancel-After and presence. */
const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600 };
/** The shortest deadline, seconds: the store checks about once a second. */
const MIN_DEADLINE_S = 1;
const DEADLINE = `${MIN_DEADLINE_S} to ${LONGEST_DELAY_S} seconds`;
const PRESENCE = `${PRESENCE_S.least} to ${PRESENCE_S.most} seconds, such as 30, 30s, 5m or 1h`;
const readPresence = (given: string) => millisecondsOf(spanOf(given), PRESENCE_S.least, PRESENCE_S.most);
/** The sooner of two times, each null for none. */
const sooner = (first: number | null, second: number | null): number | null =>
  Math.min(first ?? Number.POSITIVE_INFINITY, second ?? Number.POSITIVE_INFINITY);

/** The label of a task: how many characters it may have, and what none of them may be. */
const LABEL = { most: 64, never: /\p{Cc}/gu };

/** What a label may have of a text. */
export const labelOf = (given: string): string => [...given.replace(LABEL.never, "")].slice(0, LABEL.most).join("");

/**
 * The options of a submission: everything about an option is defined here. If a task has a field of the same name
 * (store/fields.ts), the option is stored in it.
 */
const OPTIONS = {
  priority: option<number>({
    default: PRIORITY.default,
    forms: [
      {
        in: "header",
        ...text("Priority", "`u=0` (most urgent) to `u=7`; default 3 (RFC 9218)."),
        read: urgencyOf,
      },
      {
        line: "number",
        ...whole("priority", "0 is the most urgent.", { minimum: PRIORITY.most, maximum: PRIORITY.least }),
      },
    ],
  }),
  delayMs: option<number>({
    default: 0,
    forms: [
      {
        ...{ in: "query", line: "number", name: "delay" },
        description: "Seconds before the task joins the line.",
        schema: { type: "number", minimum: 0, maximum: LONGEST_DELAY_S },
        expected: `seconds from 0 to ${LONGEST_DELAY_S}`,
        read: (given) => millisecondsOf(secondsOf(given), 0),
      },
    ],
  }),
  // By the time of Redis, with which only the store compares it.
  notBeforeMs: option<number | null>({
    default: null,
    forms: [
      {
        ...{ in: "query", name: "notBefore" },
        description: "The earliest time at which the task joins the line, instead of `delay`.",
        schema: { type: "string", format: "date-time" },
        expected: RFC3339_EXPECTED,
        read: msOf,
      },
    ],
  }),
  deadlineMs: option<number | null>({
    default: null,
    both: sooner,
    forms: [
      {
        ...{ in: "query", line: "number", name: "deadline" },
        description:
          "Cancel the task unless it has ended within this many seconds of its submission; later than `delay` and `notBefore`.",
        schema: { type: "number", minimum: MIN_DEADLINE_S, maximum: LONGEST_DELAY_S },
        expected: DEADLINE,
        read: (given) => millisecondsOf(secondsOf(given), MIN_DEADLINE_S),
      },
      {
        ...{ in: "header", name: "Cancel-After" },
        description: "The same as `deadline`: `90`, `90s`, `5m` or `1h`. If both are given, the earlier one counts.",
        schema: { type: "string" },
        expected: `${DEADLINE}, such as 90, 90s, 5m or 1h`,
        read: (given) => millisecondsOf(spanOf(given), MIN_DEADLINE_S),
      },
    ],
  }),
  presenceMs: option<number | null>({
    default: null,
    both: sooner,
    forms: [
      {
        ...{ in: "query", line: "string", name: "presence" },
        description:
          "Cancel the task when nobody has looked at it for this long: `30`, `30s`, `5m` or `1h`; 5 s to 1 h. By default that of its handler, if it has one.",
        schema: { type: "string" },
        expected: PRESENCE,
        read: readPresence,
      },
      {
        ...{ in: "header", name: "Presence" },
        description: "The same as `presence`. If both are given, the shorter counts.",
        schema: { type: "string" },
        expected: PRESENCE,
        read: readPresence,
      },
    ],
  }),
  label: option<string | null>({
    default: null,
    ofInput: true,
    forms: [
      {
        ...{ in: "query", line: "string", name: "label" },
        description: `What people call the task: up to ${LABEL.most} characters, without control characters. By default that of its handler, if it has one.`,
        schema: { type: "string" },
        expected: `at most ${LABEL.most} characters, without control characters`,
        read: (given) => (labelOf(given) === given ? given || null : undefined),
      },
    ],
  }),
  maxIndex: option<number | null>({
    default: null,
    forms: [{ in: "query", ...whole("maxIndex", "Refuse the task with 503 if its index would be greater than this.") }],
  }),
  dryRun: option<boolean>({
    default: false,
    forms: [{ in: "query", ...flag("dryRun", "Store nothing; only answer what place the task would get.") }],
  }),
  webhook: option<string | null>({
    default: null,
    forms: [{ in: "query", ...text("webhook", "URL to notify when the task has ended.", { format: "uri" }) }],
  }),
};

type Name = keyof typeof OPTIONS;

/** The options of a submission as they were read. */
export type SubmitOptions = { readonly [N in Name]: (typeof OPTIONS)[N]["default"] } & {
  /** All other parameters: those of the handler. */
  readonly query: Readonly<Record<string, string>>;
};

const FORMS = Object.entries<Option<unknown>>(OPTIONS).flatMap(([name, { forms, both }]) =>
  forms.map((form) => ({ name: name as Name, form, both, header: form.name.toLowerCase() })),
);

/** The options of a submission without any. */
export const SUBMIT_DEFAULTS: SubmitOptions = {
  ...(Object.fromEntries(Object.entries(OPTIONS).map(([name, { default: value }]) => [name, value])) as unknown as Omit<
    SubmitOptions,
    "query"
  >),
  query: {},
};

/** The options that go with the input. */
export const OF_INPUT = Object.entries<Option<unknown>>(OPTIONS).flatMap(([name, { ofInput }]) =>
  ofInput ? (name as Name) : [],
);

/** The options of a repetition: those that go with the input are the task's where none are given. */
export function repeatedOptions(given: SubmitOptions, task: object): SubmitOptions {
  const kept = OF_INPUT.filter((name) => given[name] === SUBMIT_DEFAULTS[name]);
  return { ...given, ...Object.fromEntries(kept.map((name) => [name, Reflect.get(task, name)])) };
}

/** The query parameters and headers of a submission. */
export const SUBMIT_PARAMETERS = FORMS.flatMap(({ form: { in: place, name, description, schema } }) =>
  place ? { name, in: place, description, schema } : [],
);

/** The options that a line of a batch may have. */
const LINE = FORMS.filter(({ form }) => form.line !== undefined);

/** Their schemas, by the names of the members of an envelope. */
export const LINE_MEMBERS = Object.fromEntries(LINE.map(({ form }) => [form.name, form.schema]));

/** Query parameters of the server; all others are passed to the handler. */
const OWN = new Set([...SUBMIT_PARAMETERS.map(({ name }) => name), "pending", "expires", "signature"]);
const HEADERS = FORMS.flatMap(({ form, header }) => (form.in === "header" ? header : []));

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/**
 * Reads the options of a submission.
 * @param query as in a URL, without its question mark
 * @throws ProblemError invalid-parameter that names the parameter
 */
export function readSubmitOptions(query: string, headers: Headers): SubmitOptions {
  // Most submissions have none.
  if (query === "" && HEADERS.every((name) => headers[name] === undefined)) return SUBMIT_DEFAULTS;
  const search = new URLSearchParams(query);
  const read: Partial<Record<Name, { form: Form<unknown>; value: unknown }>> = {};
  for (const { name, form, both, header } of FORMS) {
    const given = form.in === "query" ? oneParameter(search, form.name) : form.in && headers[header];
    if (given === null || given === undefined) continue;
    const value = valid(form, form.read(String(given)));
    const before = read[name];
    if (before && !both) throw wrongParameter(form.name, `${before.form.name} and ${form.name} cannot both be given`);
    read[name] = { form, value: before && both ? both(before.value, value) : value };
  }
  const given = Object.fromEntries(Object.entries(read).map(([name, { value }]) => [name, value]));
  if (read.delayMs && read.notBeforeMs) throw wrongParameter("notBefore", "delay and notBefore cannot both be given");
  const others = Object.fromEntries([...search].filter(([name]) => !OWN.has(name)));
  return { ...SUBMIT_DEFAULTS, ...given, query: others };
}

/**
 * The options of a line of a batch: those of its envelope, and the batch's for those that it leaves out.
 * @throws ProblemError invalid-parameter that names the member
 */
export function withMembers(options: SubmitOptions, members: Readonly<Record<string, unknown>>): SubmitOptions {
  const own = LINE.flatMap(({ name, form }) => {
    const given = members[form.name];
    if (given === undefined) return [];
    return [[name, valid(form, typeof given === form.line ? form.read(String(given)) : undefined)]];
  });
  return { ...options, ...(members.delay !== undefined && { notBeforeMs: null }), ...Object.fromEntries(own) };
}

/** Seconds of a decimal number. */
const secondsOf = (given: string): number => (/^\d+(\.\d+)?$/.test(given) ? Number(given) : Number.NaN);

/** Seconds of a decimal number with a unit. */
function spanOf(given: string): number {
  const [, amount, unit = "s"] = /^(\d+(?:\.\d+)?)([smh])?$/.exec(given.trim()) ?? [];
  return Number(amount) * (UNITS[unit] ?? Number.NaN);
}

const millisecondsOf = (seconds: number, min: number, max: number = LONGEST_DELAY_S): number | undefined =>
  seconds >= min && seconds <= max ? Math.round(seconds * 1000) : undefined;

const acceptedLine = z.object({
  line: count,
  id,
  href: z.string(),
  index,
  replayed: z.literal(true).exactOptional(),
  group: id
    .nullable()
    .exactOptional()
    .describe("In a batch of a group, the group of a task that is repeated, perhaps another one; null for none."),
});
/** The verdict on an accepted line of a batch. */
export type AcceptedLine = Document<typeof acceptedLine>;

/** A line of the response to a batch. */
export const verdict = z
  .xor([acceptedLine, z.object({ line: count, problem })])
  .describe("One line of the response to a batch: the task was accepted, or the problem of that line.");

/** A line of a batch with `?envelope=true`. */
export const envelope = z.strictObject({
  id: id.optional(),
  input: z.unknown(),
  ...Object.fromEntries(
    Object.entries(LINE_MEMBERS).map(([name, schema]) => [name, z.unknown().meta(schema).optional()]),
  ),
});
