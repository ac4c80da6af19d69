import { type Command, Option } from "commander";
import type { Connection } from "../../client/connection.ts";
import { linesOf } from "../../client/event-stream.ts";
import { isId } from "../../task.ts";
import type { Group } from "../../wire/group.ts";
import { about, count, counted } from "../../words/numbers.ts";
import { DURATION_HELP, readTimeout } from "../arguments.ts";
import { type ClientOptions, clientAction, clientCommand } from "../command.ts";
import { CommandError, EXIT, waitFor, wrongUsage } from "../exit.ts";
import { ask, connectionTo } from "../server.ts";
import { note, print, printData, printJson, printJsonLine } from "../terminal/print.ts";
import { barText } from "../terminal/progress.ts";
import { canDraw, LiveLine } from "../terminal/screen.ts";
import { fieldLines } from "../terminal/table.ts";
import { ageText } from "../terminal/task-text.ts";

interface Options extends ClientOptions {
  readonly watch?: boolean;
  readonly results?: boolean;
  readonly timeout?: number;
}

/** How long one request waits for a change, seconds. */
const POLL_S = 20;

/** `paihao group`: how far the tasks of a group are, or their results. */
export function groupCommand(): Command {
  return clientCommand("group <id>", "show how far the tasks of a group are, or print their results", [
    "paihao group upload-7",
    "paihao group upload-7 --watch",
    "paihao group upload-7 --results > results.ndjson",
  ])
    .addOption(new Option("--watch", "show it until all of its tasks have ended").conflicts("results"))
    .option("--results", "print the results, a line of JSON each, until all of its tasks have ended")
    .option("--timeout <time>", `stop after this: ${DURATION_HELP}`, readTimeout)
    .action(
      clientAction(async (options: Options, id: string) => {
        const path = groupPath(id);
        const connection = connectionTo(options, "watching");
        const waiting = waitFor(() => goOnText(id), options.timeout);
        const { signal } = waiting;
        try {
          if (options.results) await printResults(connection, path, signal);
          else if (options.watch) await watchGroup(connection, path, { json: options.json, signal });
          else {
            const group = await ask<Group>(connection, path, { signal });
            if (options.json) printJson(group);
            else for (const line of groupLines(group)) print(line);
          }
        } finally {
          waiting.end();
        }
        return undefined;
      }),
    );
}

/** How a person can go on when a command stops but the group does not. */
export const goOnText = (id: string): string => `the tasks go on; to watch them: paihao group ${id} --watch`;

/** The path of a group. @throws CommandError if it is not an id */
export function groupPath(id: string): string {
  if (!isId(id)) throw wrongUsage(`${JSON.stringify(id)} is not an id: 1–128 characters of A–Z a–z 0–9 . _ ~ -`);
  return `/v1/groups/${id}`;
}

/**
 * Shows a group until all of its tasks have ended.
 * @throws CommandError if some have failed, or it was canceled; PaihaoError; the signal's reason
 */
export async function watchGroup(
  connection: Connection,
  path: string,
  { json = false, signal }: { json?: boolean | undefined; signal: AbortSignal },
): Promise<void> {
  const line = !json && canDraw(process.stderr) ? new LiveLine(process.stderr) : undefined;
  let group: Group | undefined;
  try {
    for await (const seen of statesOf(connection, path, signal)) {
      group = seen;
      if (json) printJsonLine(seen);
      else if (line) line.show(`${barText({ ...seen.progress, message: null, estimated: false })}  ${groupText(seen)}`);
      else note(`${seen.id}: ${groupText(seen)}`);
    }
  } finally {
    line?.clear();
  }
  if (line && group) note(groupText(group));
  if (group?.state === "canceled") throw new CommandError(EXIT.gone, "the group was canceled");
  if (group && group.failed > 0) {
    throw new CommandError(EXIT.failed, `${group.failed} failed; to see why: paihao group ${group.id} --results`);
  }
}

/** A group as it is, then after each change, until it has ended. */
async function* statesOf(connection: Connection, path: string, signal: AbortSignal): AsyncGenerator<Group, void> {
  for (let tag = ""; ; ) {
    const headers = tag === "" ? {} : { "If-None-Match": tag, Prefer: `wait=${POLL_S}` };
    const request = { headers, signal, waitMs: POLL_S * 1000 };
    const group = await connection.send(path, request, async (response) => {
      tag = response.headers.get("ETag") ?? tag;
      return response.status === 304 ? null : ((await response.json()) as Group);
    });
    if (group === null) continue;
    yield group;
    if (group.state === "done" || group.state === "canceled") return;
  }
}

async function printResults(connection: Connection, path: string, signal: AbortSignal): Promise<void> {
  await connection.send(`${path}/results?follow=true`, { signal, maxBytes: Infinity }, async (response) => {
    for await (const line of linesOf(response)) if (line !== "") printData(line);
  });
}

function groupLines(group: Group): string[] {
  return fieldLines([
    ["id", group.id],
    ["queue", group.queue],
    ["state", groupText(group)],
    ["submitted", `${group.createdAt} (${ageText(group.createdAt)} ago)`],
    ["finished", group.finishedAt],
    ["results until", group.expiresAt],
  ]);
}

/** How far a group is in a few words. */
function groupText(group: Group): string {
  const { state, total, index, eta, succeeded, failed, canceled, cancelRequested } = group;
  const words: string[] = [cancelRequested && state === "pending" ? "stopping" : state];
  words.push(`${count(succeeded + failed + canceled)} of ${counted(total, "task")} ended`);
  for (const name of ["waiting", "scheduled", "running", "retrying", "failed", "canceled"] as const) {
    if (group[name] > 0) words.push(`${count(group[name])} ${name}`);
  }
  if (index !== null) words.push(`the last at place ${count(index + 1)} in line`);
  if (eta !== null && eta.seconds > 0) {
    words.push(`${eta.basis === "starting" ? "a worker is starting, " : ""}done in about ${about(eta.seconds)}`);
  }
  return words.join(", ");
}
