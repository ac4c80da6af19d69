import type { Connection } from "../../client/connection.ts";
import type { BulkStep, DeadError, DeadErrors } from "../../wire/queue.ts";
import { counted } from "../../words/numbers.ts";
import { ask, queuePath } from "../server.ts";
import { note, paint, plain, print, printJson } from "../terminal/print.ts";
import { type Column, printTable } from "../terminal/table.ts";
import { ageText } from "../terminal/words.ts";

const COLUMNS: readonly Column<DeadError>[] = [
  { title: "TASKS", value: ({ count }) => count },
  { title: "FIRST", value: ({ firstAt }) => `${ageText(firstAt)} ago` },
  { title: "LAST", value: ({ lastAt }) => `${ageText(lastAt)} ago` },
  { title: "ERROR", value: ({ error }) => error },
];

/** Prints what the dead tasks of a queue died of: on a terminal all of each error, on lines of its own. */
export async function listErrors(connection: Connection, queue: string, json = false): Promise<void> {
  const errors = await ask<DeadErrors>(connection, `${queuePath(queue)}/dead/errors`);
  if (json) return printJson(errors);
  const { items, others } = errors;
  if (process.stdout.isTTY) for (const line of items.flatMap(errorLines)) print(line);
  else printTable(COLUMNS, items);
  if (others > 0) note(`${counted(others, "task")} died of further errors`);
  if (items.length === 0) note(`${queue} has no dead tasks`);
  else note("--ids lists the tasks, --error ERROR those of one error");
}

function errorLines({ count, error, firstAt, lastAt }: DeadError): string[] {
  const seen = count === 1 ? `${ageText(lastAt)} ago` : `first ${ageText(firstAt)} ago, last ${ageText(lastAt)} ago`;
  return [`${counted(count, "task")}, ${paint("dim", seen)}`, `  ${plain(error)}`];
}

/** How an action on the tasks that died of one error went. */
interface Done {
  readonly matched: number;
  readonly done: number;
}

/** Does something to all dead tasks of a queue that died of one error, in steps. */
export async function onError(
  connection: Connection,
  queue: string,
  of: { readonly action: "retry" | "delete"; readonly error: string; readonly dryRun?: boolean },
): Promise<Done> {
  const sum = { matched: 0, done: 0 };
  let cursor: string | null = null;
  do {
    const body: string = JSON.stringify({ ...of, list: "dead", cursor });
    const headers = { "Content-Type": "application/json" };
    const request = { method: "POST", headers, body, once: true };
    const step: BulkStep = await ask(connection, `${queuePath(queue)}/bulk`, request);
    sum.matched += step.matched;
    sum.done += step.done;
    cursor = step.next;
  } while (cursor !== null);
  return sum;
}
