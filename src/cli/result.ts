import { RESULT_BYTES } from "../client/figures.ts";
import { pathTo } from "../client/follow.ts";
import { errorOf, PaihaoError, type Problem } from "../client/problem.ts";
import type { Status } from "../client/status.ts";
import { isJsonType } from "../json-type.ts";
import { CommandError, EXIT } from "./exit.ts";
import { ask, type NamedTask } from "./server.ts";
import { note, plainLines, printData, printJson, printJsonText } from "./terminal/print.ts";

const TEXT_TYPE = /^text\/|[/+]xml\b|\bcharset=/i;

/**
 * Collects the result of a task and prints it: its bytes as they are, and a line break after JSON; on a terminal JSON is indented, and
 * binary data is not shown. With --json one JSON value: text as a string, other bytes as `{ contentType, base64 }`.
 * @throws ProblemError if it has none; CommandError if it has none yet
 */
export async function printResult(
  task: NamedTask,
  { json = false, signal }: { json?: boolean | undefined; signal?: AbortSignal } = {},
): Promise<void> {
  const result = await collect(task, { json, signal });
  const type = result.type ?? "";
  if (json) printJsonText(asJson(type, result.bytes));
  else if (!process.stdout.isTTY) process.stdout.write(isJsonType(type) ? endingLine(result.bytes) : result.bytes);
  else if (result.bytes.length === 0) note("done; the task has an empty result");
  else if (isJsonType(type)) printData(indented(textOf(result.bytes)));
  else if (TEXT_TYPE.test(type)) printData(plainLines(textOf(result.bytes)));
  else
    note(
      `the result is ${type || "of no type"}, ${result.bytes.length} bytes; to save it: paihao get ${task.name} > FILE`,
    );
}

/** The result; read whole before anything is printed. */
interface CollectedResult {
  readonly type: string | null;
  readonly bytes: Buffer;
}

async function collect(
  task: NamedTask,
  { json, signal }: { json: boolean; signal: AbortSignal | undefined },
): Promise<CollectedResult> {
  const { connection, path, query, name } = task;
  let answer: CollectedResult | { problem: Problem } | { pending: string };
  try {
    // Does not throw here: an error would count as an answer that broke off.
    answer = await connection.send(path + query, { signal, maxBytes: RESULT_BYTES }, async (response) => {
      const state = response.headers.get("X-Task-State");
      if (state === "failed") return { problem: (await response.json()) as Problem };
      if (state !== null && state !== "succeeded") return { pending: state };
      return { type: response.headers.get("Content-Type"), bytes: Buffer.from(await response.arrayBuffer()) };
    });
  } catch (error) {
    // A proxy may have removed the header with the state.
    if (!(error instanceof PaihaoError && error.code === "pending")) throw error;
    answer = { pending: "pending" };
  }
  if ("problem" in answer) throw errorOf(answer.problem);
  if (!("pending" in answer)) return answer;
  if (json) printJson(await ask<Status>(connection, pathTo(task, "/status"), { signal }));
  const wait = `wait for it: paihao watch ${name}`;
  throw new CommandError(EXIT.refused, `${name} is ${answer.pending}, without a result yet; ${wait}`);
}

/** With a line break, for programs that read lines. */
const endingLine = (bytes: Buffer): Buffer =>
  bytes.at(-1) === 0x0a ? bytes : Buffer.concat([bytes, Buffer.from("\n")]);

function asJson(type: string, bytes: Buffer): string {
  if (bytes.length === 0) return "null";
  // As it was sent: parsing might change a number.
  if (isJsonType(type)) return textOf(bytes).trim();
  return JSON.stringify(TEXT_TYPE.test(type) ? textOf(bytes) : { contentType: type, base64: bytes.toString("base64") });
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // The body of a handler's own Response may not match its type.
    return plainLines(text);
  }
}

const textOf = (bytes: Buffer): string => bytes.toString("utf8");
