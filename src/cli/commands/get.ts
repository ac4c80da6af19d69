import { once } from "node:events";
import type { Command } from "commander";
import { ANSWER_MS, LONGEST_TIMER_MS, RESULT_BYTES } from "../../client/figures.ts";
import { pathTo } from "../../client/follow.ts";
import { errorOf, PaihaoError, type Problem } from "../../client/problem.ts";
import type { Status } from "../../client/status.ts";
import type { Limit } from "../../client/time.ts";
import { messageOf } from "../../errors.ts";
import { isJsonType } from "../../task.ts";
import { type ClientOptions, clientAction, clientCommand } from "../command.ts";
import { CommandError, EXIT } from "../exit.ts";
import { ask, connectionTo, type NamedTask, taskAt } from "../server.ts";
import { note, plainLines, printData, printJson } from "../terminal/print.ts";
import { withLastError } from "./history.ts";

/** `paihao get`: the result of a task. */
export function getCommand(): Command {
  return clientCommand("get <task>", "print the result of a task that has ended", [
    "paihao get report-7",
    "paihao get photo-7 > photo.webp",
    "paihao get '/v1/requests/report-7'",
  ]).action(
    clientAction(async (options: ClientOptions, task: string) => {
      const named = taskAt(connectionTo(options), task);
      await withLastError(named, options.json, () => printResult(named, options));
      return undefined;
    }),
  );
}

const TEXT_TYPE = /^text\/|[/+]xml\b|\bcharset=/i;

/**
 * Prints the result of a task: its bytes as they are, as they come, and a line break after JSON; on a terminal JSON is indented, and
 * binary data is not shown. With --json one JSON value: text as a string, other bytes as `{ contentType, base64 }`. Only what is indented,
 * or becomes JSON, is kept in memory.
 * @throws ProblemError if it has none; CommandError if it has none yet, or breaks off
 */
export async function printResult(
  task: NamedTask,
  { json = false, signal }: { json?: boolean | undefined; signal?: AbortSignal } = {},
): Promise<void> {
  const { connection, path, query, name } = task;
  let answer: { problem: Problem } | { pending: string } | { broken: unknown } | undefined;
  try {
    // Does not throw here: an error would count as an answer that broke off, to be asked for again.
    const request = { signal, maxBytes: RESULT_BYTES, redirect: "manual" } as const;
    answer = await connection.send(path + query, request, async (response, limit) => {
      const state = response.headers.get("X-Task-State");
      if (state === "failed") return { problem: (await response.json()) as Problem };
      if (state !== null && state !== "succeeded") return { pending: state };
      return show(response, { json, limit, name });
    });
  } catch (error) {
    // A proxy may have removed the header with the state.
    if (!(error instanceof PaihaoError && error.code === "pending")) throw error;
    answer = { pending: "pending" };
  }
  if (answer === undefined) return;
  if ("problem" in answer) throw errorOf(answer.problem);
  if ("broken" in answer) {
    signal?.throwIfAborted();
    const why = `the result broke off: ${messageOf(answer.broken)}; to get it again: paihao get ${name}`;
    throw new CommandError(EXIT.unreachable, why, { cause: answer.broken });
  }
  if (json) printJson(await ask<Status>(connection, pathTo(task, "/status"), { signal }));
  const wait = `wait for it: paihao watch ${name}`;
  throw new CommandError(EXIT.refused, `${name} is ${answer.pending}, without a result yet; ${wait}`);
}

/** How a result is shown. */
interface Showing {
  readonly json: boolean;
  readonly limit: Limit;
  /** Of the task. */
  readonly name: string;
}

/** Prints a result; resolves to why it broke off if part of it has been printed by then. */
async function show(response: Response, { json, limit, name }: Showing): Promise<{ broken: unknown } | undefined> {
  const type = response.headers.get("Content-Type") ?? "";
  const location = response.headers.get("Location");
  if (response.status >= 300 && response.status < 400 && location) note(`the result is a redirect to ${location}`);
  const isTerminal = process.stdout.isTTY;
  if (json) printData(asJson(type, Buffer.from(await response.arrayBuffer())));
  else if (isTerminal && isJsonType(type)) printData(indented(await response.text()));
  else if (isTerminal && !TEXT_TYPE.test(type) && response.headers.get("Content-Length") !== "0" && response.body) {
    const length = response.headers.get("Content-Length");
    await response.body.cancel();
    const size = length === null ? "" : `, ${length} bytes`;
    note(`the result is ${type || "of no type"}${size}; to save it: paihao get ${name} > FILE`);
  } else return pass(response, limit);
  return undefined;
}

/** Writes a body as it comes, not faster than it is read. */
async function pass(response: Response, limit: Limit): Promise<{ broken: unknown } | undefined> {
  const isTerminal = process.stdout.isTTY;
  const decoder = new TextDecoder();
  let last: number | undefined;
  /** Half a line break. */
  let held = "";
  try {
    for await (const part of response.body ?? []) {
      last = part.at(-1) ?? last;
      const text = isTerminal ? held + decoder.decode(part, { stream: true }) : "";
      held = text.endsWith("\r") ? "\r" : "";
      // The time is that of the server, not of who reads what we print.
      limit.within(LONGEST_TIMER_MS);
      const isTaken = process.stdout.write(isTerminal ? plainLines(text.slice(0, text.length - held.length)) : part);
      if (!isTaken) await once(process.stdout, "drain");
      limit.within(ANSWER_MS);
    }
  } catch (broken) {
    if (last === undefined) throw broken;
    return { broken };
  }
  const isLine = isTerminal || isJsonType(response.headers.get("Content-Type") ?? "");
  if (last === undefined) {
    if (isTerminal) note("done; the task has an empty result");
  } else if (isLine && last !== 0x0a) process.stdout.write("\n");
  return undefined;
}

function asJson(type: string, bytes: Buffer): string {
  if (bytes.length === 0) return "null";
  const text = bytes.toString("utf8");
  // As it was sent: parsing might change a number.
  if (isJsonType(type)) return text.trim();
  return JSON.stringify(TEXT_TYPE.test(type) ? text : { contentType: type, base64: bytes.toString("base64") });
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // The body of a handler's own Response may not match its type.
    return plainLines(text);
  }
}
