import { PaihaoError } from "../client/problem.ts";
import { nearest } from "../nearest.ts";
import type { Queues } from "../wire/queue.ts";
import { CommandError, EXIT, failureOf } from "./exit.ts";
import { ask, connectionTo, type ServerOptions } from "./server.ts";

/** Maximum number of queues that are named. */
const NAMED = 8;
const MAX_NEAR = 3;

/** The error of a request, with advice for a person who may have mistaken the key or the queue. */
export async function withAdvice(error: PaihaoError, options: ServerOptions): Promise<Error> {
  if (error.code === "unauthenticated" && options.key) {
    const said =
      "The server does not know this API key: is the key in --key or PAIHAO_KEY misspelt, for another server, or revoked?";
    return new CommandError(EXIT.notAllowed, said, { cause: error });
  }
  const { queue } = error.problem;
  if (error.code !== "unknown-queue" || typeof queue !== "string") return error;
  const { exitCode } = failureOf(error);
  const names = await queueNames(options);
  // A gateway has the name, but takes no submissions.
  if (names.length === 0 || names.includes(queue)) return error;
  return new CommandError(exitCode, `${error.problem.title}: ${suggestion(queue, names)}`, { cause: error });
}

/** The queues for tasks of callers; none if the server does not list them. */
async function queueNames(options: ServerOptions): Promise<string[]> {
  try {
    const { items } = await ask<Queues>(connectionTo(options), "/v1/queues");
    return items.map(({ name }) => name).filter((name) => !name.startsWith("paihao."));
  } catch (error) {
    if (error instanceof PaihaoError) return [];
    throw error;
  }
}

function suggestion(queue: string, names: readonly string[]): string {
  const near: string[] = [];
  let left = names;
  for (let name = nearest(queue, left); name !== undefined && near.length < MAX_NEAR; name = nearest(queue, left)) {
    near.push(name);
    left = left.filter((other) => other !== name);
  }
  const alike = names.filter((name) => !near.includes(name) && (name.includes(queue) || queue.includes(name)));
  const meant = [...near, ...alike].slice(0, MAX_NEAR);
  if (meant.length > 0) return `did you mean ${meant.join(" or ")}?`;
  return `there are ${names.slice(0, NAMED).join(", ")}${names.length > NAMED ? ` and ${names.length - NAMED} more` : ""}`;
}
