import { type Command, Option } from "commander";
import { FACTS } from "../../task-record.ts";
import type { CallerCounts, Callers } from "../../wire/queue.ts";
import type { ListedTask, Search } from "../../wire/task.ts";
import { about, counted } from "../../words/numbers.ts";
import { wholeWithin } from "../arguments.ts";
import { type ClientOptions, clientAction, clientCommand } from "../command.ts";
import { ask, connectionTo, itemsOf, queuePath } from "../server.ts";
import { note, printJsonLine } from "../terminal/print.ts";
import { type Column, printTable } from "../terminal/table.ts";
import { ageText, percentText, spanText, untilText } from "../terminal/task-text.ts";

const LISTS = ["waiting", "scheduled", "running", "dead", "finished"] as const;
type ListName = (typeof LISTS)[number];

const ID: Column<ListedTask> = { title: "ID", value: ({ id }) => id, cut: { where: "middle", min: 11, last: true } };
const STATE: Column<ListedTask> = { title: "STATE", value: ({ state }) => state };
const ATTEMPT: Column<ListedTask> = {
  title: "ATTEMPT",
  rank: 3,
  value: ({ attempt, maxAttempts }) => `${attempt} of ${maxAttempts}`,
};
const TOOK: Column<ListedTask> = {
  title: "TOOK",
  rank: 2,
  value: ({ startedAt, finishedAt }) => spanText(startedAt, finishedAt),
};
const ENDED: Column<ListedTask> = { title: "ENDED", rank: 1, value: ({ finishedAt }) => ago(finishedAt) };
const ERROR: Column<ListedTask> = {
  title: "ERROR",
  // What the handler threw last says more than that it failed; the usual code says nothing.
  value: ({ error, errors = [] }) =>
    error && `${error.code === "task-failed" && errors[0] ? "" : `${error.code}: `}${errors[0] ?? error.message}`,
  cut: { where: "end", min: 12, wanted: 40 },
};
/** Shown only if a task cannot be run again: its work is undone, or the key does not allow it. */
const RETRY: Column<ListedTask> = {
  title: "RETRY",
  value: ({ actions }) => (actions?.includes("retry") === false ? "no" : null),
  early: true,
};

/** Further facts, each shown only if a task has it. */
const FURTHER: readonly Column<ListedTask>[] = FACTS.filter(({ column }) => column).map(({ name, title }) => ({
  title: title.toUpperCase(),
  value: (task) => Reflect.get(task, name),
  cut: { where: "end", min: 8 },
  early: true,
}));

/** How each list is shown. */
export const COLUMNS: Readonly<Record<ListName, readonly Column<ListedTask>[]>> = {
  waiting: [
    ID,
    { title: "PLACE", value: ({ index }) => (index === null ? null : index + 1) },
    { title: "SUBMITTED", rank: 2, value: ({ createdAt }) => ago(createdAt) },
    { title: "STARTS IN", short: "STARTS", rank: 1, value: ({ eta }) => eta && about(eta.seconds) },
  ],
  scheduled: [ID, STATE, { title: "DUE IN", value: ({ dueAt }) => untilText(dueAt) }, ATTEMPT],
  running: [
    ID,
    { title: "STARTED", rank: 2, value: ({ startedAt }) => ago(startedAt) },
    ATTEMPT,
    { title: "PROGRESS", value: ({ progress }) => progress && percentText(progress) },
    {
      title: "",
      value: ({ progress, cancelRequested }) => (cancelRequested ? "stopping" : (progress?.message ?? "")),
      cut: { where: "end", min: 8 },
    },
  ],
  dead: [ID, ENDED, ATTEMPT, ERROR, RETRY],
  finished: [ID, STATE, ENDED, TOOK, ERROR],
};

const ago = (time: string | null): string | null => (time === null ? null : `${ageText(time)} ago`);

/** States that are only a part of a list. */
const LIST_OF = { retrying: "scheduled", succeeded: "finished", failed: "finished", canceled: "finished" } as const;
type PartOfList = keyof typeof LIST_OF;

interface LsOptions extends ClientOptions {
  readonly limit: number;
  readonly state: ListName | PartOfList;
  readonly caller?: string;
  readonly label?: string;
  readonly lineKey?: string;
  readonly byCaller?: boolean;
}

/** `paihao ls`: the tasks of a queue. */
export function lsCommand(): Command {
  return clientCommand("ls <queue>", "list the tasks of a queue, or who has how many", [
    "paihao ls default",
    "paihao ls default --state retrying",
    "paihao ls default --state finished --caller shop --limit 10 --json",
    "paihao ls default --by-caller",
  ])
    .addOption(
      new Option("--state <state>", "which ones").choices([...LISTS, ...Object.keys(LIST_OF)]).default("waiting"),
    )
    .option("--caller <name>", "those of this API key")
    .option("--label <text>", "those whose label, id or line key contains this")
    .option("--line-key <key>", "those with this line key, in a fair or keyed queue")
    .option("--by-caller", "who has how many tasks")
    .option("--limit <n>", "how many at most", wholeWithin(1, 1_000_000), 50)
    .action(
      clientAction(async (options: LsOptions, queue: string) => {
        if (options.byCaller) return byCaller(options, queue);
        const { state, caller, label: text, lineKey: key } = options;
        const isPart = state in LIST_OF;
        const filter = { caller, text, key, state: isPart ? state : undefined };
        return list(options, queue, isPart ? LIST_OF[state as PartOfList] : (state as ListName), filter);
      }),
    );
}

const CALLERS: readonly Column<CallerCounts>[] = [
  { title: "CALLER", value: ({ caller }) => caller ?? "(nobody)", cut: { where: "middle", min: 10 } },
  { title: "WAITING", value: ({ waiting }) => waiting },
  { title: "RUNNING", value: ({ running }) => running },
  { title: "SCHEDULED", value: ({ scheduled }) => scheduled },
  { title: "FAILED", value: ({ failed }) => failed },
  { title: "DEAD", value: ({ dead }) => dead },
];

async function byCaller({ json, ...options }: ClientOptions, queue: string): Promise<undefined> {
  const { items, others, complete } = await ask<Callers>(connectionTo(options), `${queuePath(queue)}/callers`);
  if (json) for (const item of items) printJsonLine(item);
  else if (items.length > 0) printTable(CALLERS, items);
  else note(`${queue} has no tasks`);
  if (others > 0) note(`and ${counted(others, "more caller")}`);
  if (!complete) note("its lists are long: only their beginnings were counted");
  return undefined;
}

const FOUND: readonly Column<ListedTask>[] = [
  ID,
  { title: "QUEUE", value: ({ queue }) => queue, rank: 2 },
  STATE,
  { title: "SUBMITTED", rank: 1, value: ({ createdAt }) => ago(createdAt) },
];

/** `paihao search`: tasks of all queues by what a person remembers of them. */
export function searchCommand(): Command {
  return clientCommand("search <text>", "find tasks of all queues by a part of their id, label or line key", [
    "paihao search acme",
    "paihao search report-7 --json",
  ]).action(
    clientAction(async ({ json, ...options }: ClientOptions, text: string) => {
      const path = `/v1/search?text=${encodeURIComponent(text)}`;
      const { items, scanned, complete } = await ask<Search>(connectionTo(options), path);
      if (json) for (const item of items) printJsonLine(item);
      else if (items.length > 0) printTable([...FOUND, ...FURTHER], items);
      if (items.length === 0) note(`nothing was found in ${counted(scanned, "listed task")}`);
      if (!complete) note("there may be more: say more of it, or search a queue by paihao ls QUEUE --label TEXT");
      return undefined;
    }),
  );
}

/** The options of a command that lists tasks. */
export interface ListOptions extends ClientOptions {
  readonly limit: number;
  /** Only those that failed with this error. */
  readonly error?: string;
}

/** Prints the tasks of a list as they come, at most `limit`; only those that match a filter. */
export async function list(
  options: ListOptions,
  queue: string,
  name: ListName,
  filter: Readonly<Record<string, string | undefined>> = {},
): Promise<undefined> {
  const rows: ListedTask[] = [];
  let printed = 0;
  const asked = Object.entries({ ...filter, error: options.error }).filter(([, value]) => value !== undefined);
  const order = name === "dead" ? "&order=newest" : "";
  const query = order + asked.map(([of, value = ""]) => `&${of}=${encodeURIComponent(value)}`).join("");
  for await (const task of itemsOf<ListedTask>(connectionTo(options), `${queuePath(queue)}/${name}`, query)) {
    if (printed === options.limit) {
      note(`there are more; --limit ${options.limit * 10} shows them`);
      break;
    }
    printed += 1;
    if (options.json) printJsonLine(task);
    else rows.push(task);
  }
  if (!options.json && rows.length > 0) printTable([...COLUMNS[name], ...FURTHER], rows);
  if (printed === 0) note(`${queue} has no ${filter.state ?? name} tasks${toldOf(filter, options.error)}`);
  return undefined;
}

function toldOf({ state: _, ...filter }: Readonly<Record<string, string | undefined>>, error?: string): string {
  if (error !== undefined) return " with this error";
  return Object.values(filter).some((value) => value !== undefined) ? " that match" : "";
}
