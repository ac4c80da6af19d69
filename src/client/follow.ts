import type { Output } from "../wire/task.ts";
import { type Connection, pauseMs } from "./connection.ts";
import { eventsOf, linesOf } from "./event-stream.ts";
import {
  FIRST_BYTE_MS,
  LONG_MS,
  MAX_CUTS,
  OUTPUT_POLL_S,
  PATIENT_PAUSES,
  POLL_S,
  QUICK_MS,
  QUICK_PAUSE_S,
  RESULT_BYTES,
  SILENCE_MS,
} from "./figures.ts";
import { named, type PaihaoError } from "./problem.ts";
import { hasEnded, type Status, versionOf } from "./status.ts";
import { type Duration, Limit, sleep } from "./time.ts";

/** A task at its server. */
export interface Target {
  readonly connection: Connection;
  /** The URL of its result resource. */
  readonly path: string;
  /** The signature of a link, with its question mark; "" without one. */
  readonly query: string;
}

/** The path of one of its resources. */
export function pathTo({ path, query }: Target, resource: string): string {
  return path + resource + query;
}

/** What happens to a task. */
export type TaskEvent =
  | { readonly name: "status" | "done"; readonly data: Status }
  | { readonly name: "output"; readonly data: Output };

/** What to follow. */
export interface FollowOptions {
  readonly signal?: AbortSignal | undefined;
  /** After this time it ends with a TimeoutError. */
  readonly timeout?: Duration | undefined;
  /** Whether to include what the handler writes. */
  readonly output?: boolean;
  /** Whether to go on for as long as the server is away, with pauses shorter than a presence. */
  readonly isPatient?: () => boolean;
}

/**
 * What happens to a task until it has ended: by its event stream, or by long polls if a proxy refuses, buffers, or repeatedly
 * cuts the stream. The last event is `done`.
 * @throws PaihaoError; the signal's reason
 */
export async function* follow(task: Target, options: FollowOptions): AsyncGenerator<TaskEvent, void> {
  const { connection, query } = task;
  const { output, isPatient } = options;
  const whole = new Limit(options.signal, options.timeout);
  const { signal } = whole;
  /** The id of the last event that had one. */
  let lastId = "";
  /** The version of the last status, so that none is repeated, and its ETag in a poll. */
  let version = "";
  let tag = "";
  /** The number of the next value. */
  let next = 0;
  /** Whether the last stream delivered anything, and whether any stream did. */
  let heard = false;
  let everHeard = false;
  let waitS = POLL_S;

  const isNew = (found: string): boolean => {
    const known = version;
    version = found;
    return !found || found !== known;
  };

  /** Ends without `done` if the stream breaks off. */
  async function* stream(): AsyncGenerator<TaskEvent, void> {
    const limit = new Limit(signal, FIRST_BYTE_MS);
    try {
      const headers = { Accept: "text/event-stream", ...(lastId && { "Last-Event-ID": lastId }) };
      const response = await connection.open(pathTo(task, "/events"), { headers }, limit);
      if (!response.headers.get("Content-Type")?.startsWith("text/event-stream")) return;
      const lines = linesOf(response, () => {
        heard = everHeard = true;
        limit.within(SILENCE_MS);
      });
      for await (const { event: name, id, data: text } of eventsOf(lines)) {
        const data = JSON.parse(text as string);
        lastId = id ?? lastId;
        if (name === "output" && data.seq >= next) {
          next = data.seq + 1;
          if (output) yield { name, data };
        }
        // The status of the end has no id: `done` follows it.
        if (name === "done" || (name === "status" && id && isNew(id.replace(/\..*/, "")))) yield { name, data };
      }
    } finally {
      limit.abort();
    }
  }

  /** Sends a long poll of this length. */
  function ask<T>(path: string, longS: number, read: (response: Response) => Promise<T>, headers?: object | "") {
    return connection.send(
      path,
      {
        headers: { Prefer: `wait=${longS}`, ...headers },
        once: true,
        maxBytes: RESULT_BYTES,
        signal,
        waitMs: longS * 1000,
      },
      read,
    );
  }

  async function* outputs(longS: number): AsyncGenerator<TaskEvent, void> {
    const after = next ? `${query ? "&" : "?"}after=${next - 1}` : "";
    const text = await ask(pathTo(task, "/output") + after, longS, (response) => response.text());
    for (const line of text.split("\n").filter(Boolean)) {
      const data: Output = JSON.parse(line);
      next = data.seq + 1;
      yield { name: "output", data };
    }
  }

  /** One conditional long poll, or one request for output that the server ends. */
  async function* poll(): AsyncGenerator<TaskEvent, void> {
    const began = Date.now();
    if (output && tag) yield* outputs(Math.min(waitS, OUTPUT_POLL_S));
    const [status, found] = await ask(
      pathTo(task, "/status"),
      output ? 0 : waitS,
      versionOf,
      tag && { "If-None-Match": tag },
    );
    if (status && hasEnded(status)) {
      if (output) yield* outputs(0);
      return yield { name: "done", data: status };
    }
    if (status) {
      tag = found;
      if (isNew(tag.replace(/^W\/|"/g, ""))) yield { name: "status", data: status };
    }
    // A server or proxy that answers at once must not be asked all the time. Retry-After is no help: it is the time of the
    // task's turn, and much may happen before.
    if (Date.now() - began < QUICK_MS) await sleep(pauseMs(1, QUICK_PAUSE_S), signal);
  }

  try {
    let cuts = 0;
    let failures = 0;
    for (let polls = false; ; ) {
      const began = Date.now();
      heard = false;
      let failure: unknown;
      try {
        for await (const event of polls ? poll() : stream()) {
          yield event;
          if (event.name === "done") return;
        }
      } catch (error) {
        signal.throwIfAborted();
        failure = error;
      }
      const lasted = Date.now() - began;
      if (!polls) {
        // A poll will tell why nothing came.
        polls = !heard;
        if (polls) continue;
        cuts = lasted > LONG_MS ? 0 : cuts + 1;
        polls = cuts >= MAX_CUTS;
        await sleep(pauseMs(1), signal);
      } else if (failure === undefined) {
        failures = 0;
        // The server is back.
        polls = !everHeard || cuts >= MAX_CUTS;
      } else {
        if ((failure as Partial<PaihaoError> | null)?.kind !== "unreachable") throw failure;
        failures++;
        // A proxy may cut long requests: try a shorter poll.
        if (waitS > 0 && lasted > QUICK_MS) waitS = Math.floor(waitS / 3);
        else if (isPatient?.()) await sleep(pauseMs(Math.min(failures, PATIENT_PAUSES)), signal);
        else await connection.pause(failure, failures, signal);
      }
    }
  } finally {
    whole.release();
  }
}

/** A link to a resource of a task. */
export const LINK =
  /^(?:(https?:\/\/[^?#]*?)|\/[^?#]*)?(\/v1\/requests\/[^\W_][\w.~-]{0,127}(?::[\w.:-]{1,200})?)(?:\/[a-z]*)?(\?[^#]*)?$/;

/** The task of an id, or of a link to one of its resources, which may be signed. @throws TypeError */
export function targetOf(connection: Connection, text: string): Target {
  const [, base = connection.url, path = `/v1/requests/${named("id", text)}`, query = ""] = LINK.exec(text) ?? [];
  // The key must not go to another server, and a signed link does not need it.
  const isBare = query || base !== connection.url;
  return { connection: isBare ? connection.without(base) : connection, path, query };
}
