import type { Command } from "commander";
import type { Connection } from "../../client/connection.ts";
import { PaihaoError } from "../../client/problem.ts";
import { hasEnded, type Status } from "../../client/status.ts";
import { type ClientOptions, clientAction, clientCommand, forEachId } from "../command.ts";
import { CommandError, EXIT, type ExitCode } from "../exit.ts";
import { connectionTo, taskPath } from "../server.ts";
import { plain, print, printJsonLine } from "../terminal/print.ts";

/** `paihao cancel`: takes tasks out of the line, or stops them. */
export function cancelCommand(): Command {
  return clientCommand(
    "cancel <id...>",
    "cancel tasks that have not ended, or end turns, so that the next ones are called",
    ["paihao cancel report-8", "paihao cancel report-8 report-9"],
  ).action(
    clientAction((options: ClientOptions, ids: readonly string[]) => {
      const connection = connectionTo(options);
      return forEachId(ids, options, (id) => cancel(connection, id, options));
    }),
  );
}

/** A moving line gives its tasks new versions: after this many tries the task is canceled whatever its version. */
const CAREFUL_TRIES = 5;

/** A DELETE would delete the result of a task that has ended, so it names the version of the task before its end. */
async function cancel(connection: Connection, id: string, { json }: ClientOptions): Promise<ExitCode> {
  const path = taskPath(id);
  for (let tries = 1; ; tries += 1) {
    const { status, tag } = await connection.send(`${path}/status`, {}, async (response) => ({
      status: (await response.json()) as Status,
      tag: response.headers.get("ETag"),
    }));
    if (hasEnded(status)) {
      if (status.state === "canceled") return report(status, json);
      throw new CommandError(EXIT.refused, `${id} has already ${status.state}; its result is kept`);
    }
    const headers: Record<string, string> = tag !== null && tries <= CAREFUL_TRIES ? { "If-Match": tag } : {};
    try {
      const after = await connection.send(path, { method: "DELETE", headers }, (response) =>
        response.status === 204 ? undefined : (response.json() as Promise<Status>),
      );
      if (after) return report(after, json);
    } catch (error) {
      if (!(error instanceof PaihaoError) || error.code !== "precondition-failed") throw error;
    }
  }
}

function report(status: Status, json = false): ExitCode {
  if (json) printJsonLine(status);
  else print(`${plain(status.id)}\t${status.state === "canceled" ? "canceled" : "stopping"}`);
  return EXIT.done;
}
