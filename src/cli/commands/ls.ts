import { type Command, Option } from "commander";
import { FACTS } from "../../task-record.ts";
import type { ListedTask } from "../../wire/task.ts";
import { about } from "../../words/numbers.ts";
import { wholeWithin } from "../arguments.ts";
import { type ClientOptions, clientAction, clientCommand } from "../command.ts";
import { connectionTo, itemsOf, queuePath } from "../server.ts";
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

/** `paihao ls`: the tasks of a queue. */
export function lsCommand(): Command {
  return clientCommand("ls <queue>", "list the tasks of a queue", [
    "paihao ls default",
    "paihao ls default --state running",
    "paihao ls default --state finished --limit 10 --json",
  ])
    .addOption(new Option("--state <state>", "which ones").choices(LISTS).default("waiting"))
    .option("--limit <n>", "how many at most", wholeWithin(1, 1_000_000), 50)
    .action(
      clientAction((options: ListOptions & { readonly state: ListName }, queue: string) =>
        list(options, queue, options.state),
      ),
    );
}

/** The options of a command that lists tasks. */
export interface ListOptions extends ClientOptions {
  readonly limit: number;
  /** Only those that failed with this error. */
  readonly error?: string;
}

/** Prints the tasks of a list as they come, at most `limit`. */
export async function list(options: ListOptions, queue: string, name: ListName): Promise<undefined> {
  const rows: ListedTask[] = [];
  let printed = 0;
  const order = name === "dead" ? "&order=newest" : "";
  const query = options.error === undefined ? order : `${order}&error=${encodeURIComponent(options.error)}`;
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
  if (printed === 0) note(`${queue} has no ${name} tasks${options.error === undefined ? "" : " with this error"}`);
  return undefined;
}
