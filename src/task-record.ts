/**
 * What the record of a task says, each member once. The store reads it from this (`decodeTask` in store/task/record.ts, and the Lua that
 * answers), documents and OpenAPI show it by this (wire/task.ts), commands and pages put its title before it.
 */
interface Member {
  /** The field of the task's hash that has it, see TASK_FIELDS in store/fields.ts; without one, task/inspect.lua finds it out. */
  readonly field?: string;
  /** How it is decoded from there and shown: see FORMS in store/task/record.ts and in wire/task.ts. */
  readonly form: string;
  /** Its name in the server, if that is not its name in documents. */
  readonly as?: string;
  /** What OpenAPI says of it. */
  readonly description?: string;
  /** What stands before it in lists of facts; without one it is not among them. */
  readonly title?: string;
  /** The only time when it is a fact for people: before the end of the task, or after. */
  readonly fact?: "pending" | "ended";
  /** Whether lists of tasks have a column for it. */
  readonly column?: true;
}

/** The members that the document of every task has. */
export const SHOWN = {
  queue: { field: "queue", form: "word" },
  state: { field: "state", form: "state" },
  index: { form: "index" },
  attempt: {
    field: "run",
    form: "attempts",
    as: "attempts",
    description: "The number of the latest attempt; 0 before the first.",
  },
  label: { field: "label", form: "text", title: "Label", column: true, description: "What people call the task." },
  cancelRequested: { field: "cancel", form: "flag" },
  createdAt: { field: "created", form: "instant", as: "createdMs", title: "Submitted" },
  startedAt: { field: "run", form: "started", as: "startedMs", title: "Started" },
  finishedAt: { field: "ended", form: "time", as: "finishedMs", title: "Ended" },
  expiresAt: { field: "expires", form: "time", as: "expiresMs", title: "Result kept until", fact: "ended" },
  deadlineAt: {
    field: "deadline",
    form: "time",
    as: "deadlineMs",
    title: "Deadline",
    fact: "pending",
    description: "When the task is canceled unless it has ended.",
  },
  presentUntil: {
    form: "time",
    as: "presentUntilMs",
    title: "Kept without a look until",
    description: "When the task is canceled unless somebody looks at it before, or it ends; null without `presence`.",
  },
  held: {
    form: "flag",
    description:
      "The line key of the task is at its limit: the task cannot start before another with the same key has ended.",
  },
  original: {
    field: "original",
    form: "text",
    title: "Run again from",
    description: "The task whose input was submitted again as this one.",
  },
  again: {
    field: "again",
    form: "text",
    title: "Run again as",
    description: "The last task that was submitted with its input.",
  },
} as const satisfies Readonly<Record<string, Member>>;

/** Those that it has besides in lists, which are for operators. */
export const LISTED = {
  caller: { field: "caller", form: "text", title: "Caller", column: true },
  key: {
    form: "key",
    title: "Key",
    column: true,
    description:
      "Its line key: whose share of a fair line it takes, or what it waits for in a keyed one. For a long key: `#` and a digest.",
  },
  worker: {
    field: "run",
    form: "worker",
    description: "The last 20 characters of the name of the worker that has it, or had it last.",
  },
  dueAt: { form: "time", as: "dueMs", description: "When a scheduled or retrying task is due." },
  lost: { field: "lost", form: "count", description: "How many workers it has lost." },
} as const satisfies Readonly<Record<string, Member>>;

/** What only the server needs. */
const INTERNAL = {
  /** The actions that its state allows to anyone, see task/actions.lua. */
  allowed: { form: "actions" },
  /** How many times its input was replaced. */
  revision: { field: "revision", form: "count" },
  /** Finished, and the result was deleted. */
  deleted: { field: "deleted", form: "flag" },
  errorCode: { field: "errorCode", form: "text" },
  /** What the handler has reported. */
  progress: { field: "progress", form: "pace" },
  /** After how long without a look it is canceled, ms. */
  presenceMs: { field: "presenceMs", form: "span" },
  /** The group of which it is a member. */
  group: { field: "group", form: "text" },
  /** Of a waiting task in a keyed line. */
  turn: { form: "turn" },
  /** Once it was called as a turn: for how long that may last, ms, 0 for any time. */
  longestMs: { field: "turn", form: "span" },
  /** Of its last run: larger than that of any before it in its queue. */
  fence: { field: "run", form: "fence" },
  /** If requested and available. */
  result: { form: "result" },
  /** The length of a requested result that is too long to be included; else 0. */
  resultBytes: { form: "count" },
  /** The last errors, newest first, of a failed task whose result was requested. */
  errors: { form: "texts" },
} as const satisfies Readonly<Record<string, Member>>;

export const MEMBERS = { ...SHOWN, ...LISTED, ...INTERNAL };
export type Members = typeof MEMBERS;

/** The name of a member in the server. */
export type NameOf<N extends keyof Members> = Members[N] extends { readonly as: infer As extends string } ? As : N;

/** Whether a form is a time: ms in the server, RFC 3339 in documents. */
export const isTime = (form: string): boolean => form === "time" || form === "instant" || form === "started";

/** A fact of a task for people: see {@link Member}. */
export interface Fact extends Pick<Member, "fact" | "column"> {
  readonly name: string;
  readonly title: string;
  readonly isTime: boolean;
}

/** What commands and pages tell of a task, in order; and the same without what is for operators. */
export const FACTS: readonly Fact[] = factsIn({ ...SHOWN, ...LISTED });
export const TASK_FACTS: readonly Fact[] = factsIn(SHOWN);

function factsIn(members: Readonly<Record<string, Member>>): Fact[] {
  return Object.entries(members).flatMap(([name, { title, form, fact, column }]) => {
    const known = { name, isTime: isTime(form), ...(fact && { fact }), ...(column && { column }) };
    return title === undefined ? [] : [{ ...known, title }];
  });
}

/** What there is to tell of a task now, each fact with its value. */
export function factsOf<T extends { readonly finishedAt: string | null }>(
  facts: readonly Fact[],
  task: T,
): (Fact & { readonly value: string })[] {
  const past = task.finishedAt === null ? "ended" : "pending";
  return facts.flatMap((fact) => {
    const value = Reflect.get(task, fact.name);
    return value === null || value === undefined || fact.fact === past ? [] : [{ ...fact, value: String(value) }];
  });
}
