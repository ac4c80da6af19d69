import { createInterface } from "node:readline/promises";
import type { Command } from "commander";
import type { Connection } from "../../client/connection.ts";
import type { Status } from "../../client/status.ts";
import type { BulkStep, DeadError, DeadErrors, DeletedDead, Queue, RetriedDead } from "../../wire/queue.ts";
import { counted } from "../../words/numbers.ts";
import { wholeWithin } from "../arguments.ts";
import { type ClientOptions, clientAction, clientCommand, command, forEachId } from "../command.ts";
import { CommandError, EXIT, type ExitCode, wrongUsage } from "../exit.ts";
import { ask, connectionTo, itemsOf, queuePath, taskPath } from "../server.ts";
import { note, paint, plain, print, printJson, printJsonLine } from "../terminal/print.ts";
import { type Column, printTable } from "../terminal/table.ts";
import { ageText } from "../terminal/task-text.ts";
import { type ListOptions, list } from "./ls.ts";

interface DeadOptions extends ClientOptions {
  readonly all?: boolean;
  readonly error?: string;
  readonly yes?: boolean;
}

/** `paihao dead`: tasks whose attempts are used up. */
export function deadCommand(): Command {
  return command("dead", "show dead tasks, run them again, or delete them", [
    "paihao dead ls greet",
    'paihao dead retry greet --error "task-failed: no luck"',
    "paihao dead delete greet --all --yes",
  ])
    .addCommand(lsCommand())
    .addCommand(retryCommand())
    .addCommand(deleteCommand());
}

function lsCommand(): Command {
  return clientCommand("ls <queue>", "show what dead tasks died of, or list them, newest first", [
    "paihao dead ls greet",
    "paihao dead ls greet --ids",
    'paihao dead ls greet --error "task-failed: no luck"',
  ])
    .option("--ids", "list the tasks")
    .option("--error <error>", "list those that died of this error")
    .option("--limit <n>", "how many tasks at most", wholeWithin(1, 1_000_000), 50)
    .action(
      clientAction(async (options: ListOptions & { readonly ids?: boolean }, queue: string) => {
        if (options.ids || options.error !== undefined) return await list(options, queue, "dead");
        await listErrors(connectionTo(options), queue, options.json);
        return undefined;
      }),
    );
}

function retryCommand(): Command {
  return clientCommand(
    "retry <queue> [id...]",
    "run dead tasks again, at the end of the line, with all their attempts",
    ["paihao dead retry greet greet-1", "paihao dead retry greet --all"],
  )
    .option("--all", "all of the queue")
    .option("--error <error>", "all that died of this error")
    .action(
      clientAction(async (options: DeadOptions, queue: string, ids: readonly string[]) => {
        checkChoice(options, ids);
        const connection = connectionTo(options);
        if (ids.length > 0) return forEachId(ids, options, (id) => retry(connection, queue, id, options));
        const path = `${queuePath(queue)}/dead/retry`;
        const { retried } =
          options.error === undefined
            ? await ask<RetriedDead>(connection, path, { method: "POST", once: true })
            : { retried: (await onError(connection, queue, { action: "retry", error: options.error })).done };
        if (options.json) printJson({ retried });
        note(`${counted(retried, "task")} of ${queue} will run again`);
        return undefined;
      }),
    );
}

function deleteCommand(): Command {
  return clientCommand("delete <queue> [id...]", "delete dead tasks with their inputs and errors, for good", [
    "paihao dead delete greet greet-2 --yes",
    "paihao dead delete greet --all --yes",
  ])
    .option("--all", "all of the queue")
    .option("--error <error>", "all that died of this error")
    .option("--yes", "do not ask")
    .action(
      clientAction(async (options: DeadOptions, queue: string, ids: readonly string[]) => {
        checkChoice(options, ids);
        const connection = connectionTo(options);
        const path = queuePath(queue);
        const { error } = options;
        const byError = (dryRun: boolean) =>
          error === undefined ? undefined : onError(connection, queue, { action: "delete", error, dryRun });
        if (!options.yes) {
          const matched = (await byError(true))?.matched;
          const n = matched ?? (options.all ? (await ask<Queue>(connection, path)).dead : ids.length);
          if (!(await confirm(`Delete ${counted(n, "dead task")} of ${queue} for good?`, "this deletes dead tasks"))) {
            throw new CommandError(EXIT.failed, "nothing was deleted");
          }
        }
        if (ids.length > 0) {
          const dead = await deadAmong(connection, path, ids);
          return forEachId(ids, options, (id) => remove(connection, queue, id, { ...options, dead }));
        }
        const deleted =
          (await byError(false))?.done ??
          (await ask<DeletedDead>(connection, `${path}/dead`, { method: "DELETE" })).deleted;
        if (options.json) printJson({ deleted });
        note(`${counted(deleted, "task")} of ${queue} deleted`);
        return undefined;
      }),
    );
}

function checkChoice({ all = false, error }: DeadOptions, ids: readonly string[]): void {
  const given = [all, error !== undefined, ids.length > 0].filter(Boolean).length;
  if (given !== 1)
    throw wrongUsage(given > 1 ? "expected only one of ids, --all and --error" : "expected ids, --all or --error");
}

async function retry(connection: Connection, queue: string, id: string, { json }: DeadOptions): Promise<ExitCode> {
  await statusIn(connection, queue, id);
  const task = await ask<Status>(connection, `${taskPath(id)}/retry`, { method: "POST", once: true });
  if (json) printJsonLine(task);
  else print(id);
  return EXIT.done;
}

/** Which of these ids are in the list of dead tasks: the status of a task does not say so. */
async function deadAmong(connection: Connection, path: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const wanted = new Set(ids);
  const found = new Set<string>();
  for await (const { id } of itemsOf<Status>(connection, `${path}/dead`)) {
    if (wanted.has(id)) found.add(id);
    if (found.size === wanted.size) break;
  }
  return found;
}

/** A DELETE deletes the result of any task that has ended, so it is sent for dead tasks only. */
async function remove(
  connection: Connection,
  queue: string,
  id: string,
  { json, dead }: DeadOptions & { readonly dead: ReadonlySet<string> },
): Promise<ExitCode> {
  if (!dead.has(id)) {
    const { state } = await statusIn(connection, queue, id);
    throw new CommandError(EXIT.refused, `${id} is ${state === "failed" ? "failed, but" : `${state},`} not dead`);
  }
  await connection.send(taskPath(id), { method: "DELETE" }, () => undefined);
  if (json) printJsonLine({ id, deleted: true });
  else print(id);
  return EXIT.done;
}

/** @throws CommandError if the task belongs to another queue */
async function statusIn(connection: Connection, queue: string, id: string): Promise<Status> {
  const status = await ask<Status>(connection, `${taskPath(id)}/status`);
  if (status.queue === queue) return status;
  throw new CommandError(EXIT.gone, `${id} is in ${status.queue}, not in ${queue}`);
}

const ERROR_COLUMNS: readonly Column<DeadError>[] = [
  { title: "TASKS", value: ({ count }) => count },
  { title: "FIRST", value: ({ firstAt }) => `${ageText(firstAt)} ago` },
  { title: "LAST", value: ({ lastAt }) => `${ageText(lastAt)} ago` },
  { title: "ERROR", value: ({ error }) => error },
];

/** Prints what the dead tasks of a queue died of: on a terminal all of each error, on lines of its own. */
async function listErrors(connection: Connection, queue: string, json = false): Promise<void> {
  const errors = await ask<DeadErrors>(connection, `${queuePath(queue)}/dead/errors`);
  if (json) return printJson(errors);
  const { items, others } = errors;
  if (process.stdout.isTTY) for (const line of items.flatMap(errorLines)) print(line);
  else printTable(ERROR_COLUMNS, items);
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
async function onError(
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

/**
 * Asks a person; anything but yes is no.
 * @param consequence what would happen, for the error if there is nobody to ask
 * @throws CommandError if there is no person to ask
 */
async function confirm(question: string, consequence: string): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) throw wrongUsage(`${consequence}; add --yes if that is intended`);
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  const gone = new AbortController();
  // The end of the input and Ctrl-C also mean no.
  prompt.once("close", () => gone.abort());
  try {
    return /^y(es)?$/i.test((await prompt.question(`${plain(question)} [y/N] `, { signal: gone.signal })).trim());
  } catch {
    return false;
  } finally {
    prompt.close();
  }
}
