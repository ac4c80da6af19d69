import { type Connection, pauseMs, RESULT_BYTES, retryAfterOf } from "./connection.ts";
import { eventsOf, linesOf } from "./event-stream.ts";
import { PaihaoError } from "./problem.ts";
import { hasEnded, type Output, type Status } from "./status.ts";
import { type Duration, Limit, sleep } from "./time.ts";

/** The server sends something at once: a stream that is silent for so long is kept by a proxy. */
const FIRST_BYTE_MS = 5000;
/** And a comment every 10 s. */
const SILENCE_MS = 25_000;
/** After so many streams in a row that broke off early it asks instead. */
const MOST_CUTS = 3;
/** A stream that lasted so long did not break off early. */
const LONG_MS = 20_000;
/** How long a long poll lasts, and one for output, seconds. */
const POLL_S = 25;
const OUTPUT_POLL_S = 2;
/** An answer that comes faster is followed by a pause, and a failure that comes faster is not that of a proxy. */
const QUICK_MS = 500;

/** A task at its server. */
export interface Target {
  readonly connection: Connection;
  /** Of its result resource. */
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

/** What is to be known of it. */
export interface FollowOptions {
  readonly signal?: AbortSignal | undefined;
  /** Then it ends with a TimeoutError. */
  readonly timeout?: Duration | undefined;
  /** What the handler writes too. */
  readonly output?: boolean;
}

/**
 * What happens to a task until it has ended: by its events; where a proxy keeps them back, or cuts them again and again, by
 * long polls. The last event is `done`.
 * @throws PaihaoError; the signal's reason
 */
export async function* follow(task: Target, options: FollowOptions): AsyncGenerator<TaskEvent, void> {
  const limit = new Limit(options.signal, options.timeout);
  const follower = new Follower(task, limit.signal, options.output === true);
  try {
    for await (const event of follower.streams()) {
      yield event;
      if (event.name === "done") return;
    }
    yield* follower.polls();
  } finally {
    limit.release();
  }
}

class Follower {
  readonly #task: Target;
  readonly #signal: AbortSignal;
  readonly #output: boolean;
  /** Of the last event that had one. */
  #lastId = "";
  /** The version of the last status, so that none comes twice. */
  #version = "";
  /** The number of the next value. */
  #next = 0;

  constructor(task: Target, signal: AbortSignal, output: boolean) {
    this.#task = task;
    this.#signal = signal;
    this.#output = output;
  }

  /** Ends without `done` where streams do not get through. */
  async *streams(): AsyncGenerator<TaskEvent, void> {
    const { connection } = this.#task;
    let failures = 0;
    for (let cuts = 0; cuts < MOST_CUTS; ) {
      const began = Date.now();
      const limit = new Limit(this.#signal, FIRST_BYTE_MS);
      let heard = false;
      let isOpen = false;
      try {
        const headers = { Accept: "text/event-stream", ...(this.#lastId && { "Last-Event-ID": this.#lastId }) };
        const response = await connection.open(pathTo(this.#task, "/events"), { headers }, limit);
        if (!response.headers.get("Content-Type")?.startsWith("text/event-stream")) return;
        isOpen = true;
        failures = 0;
        const lines = linesOf(response, () => {
          heard = true;
          limit.within(SILENCE_MS);
        });
        for await (const { name, id, data } of eventsOf(lines)) {
          const event = this.#take(name, id, data);
          if (event) yield event;
          if (name === "done") return;
        }
      } catch (error) {
        this.#signal.throwIfAborted();
        // A proxy keeps it back, or cut it before it let anything through, and would do the same with the next one.
        if (!heard && Date.now() - began > QUICK_MS) return;
        if (!isOpen) {
          failures += 1;
          await connection.pause(error, failures, this.#signal);
          continue;
        }
      } finally {
        limit.end();
      }
      cuts = Date.now() - began > LONG_MS ? 0 : cuts + 1;
      await sleep(pauseMs(1, undefined), this.#signal);
    }
  }

  /** By conditional long polls, and the output by polls that the server ends. */
  async *polls(): AsyncGenerator<TaskEvent, void> {
    let waitS = POLL_S;
    let tag = "";
    let failures = 0;
    for (;;) {
      const began = Date.now();
      try {
        if (this.#output && tag !== "") yield* this.#outputs(Math.min(waitS, OUTPUT_POLL_S));
        const answer = await this.#poll(tag, this.#output ? 0 : waitS);
        const { status } = answer;
        failures = 0;
        if (status && hasEnded(status)) {
          if (this.#output) yield* this.#outputs(0);
          return yield { name: "done", data: status };
        }
        if (status) {
          tag = answer.tag;
          if (this.#isNew(tag.replace(/^W\/|"/g, ""))) yield { name: "status", data: status };
        }
        // A server or a proxy that answers at once is not asked all the time.
        if (Date.now() - began < QUICK_MS) await sleep(pauseMs(1, answer.retryAfterS ?? 2), this.#signal);
      } catch (error) {
        if (!(error instanceof PaihaoError && error.kind === "unreachable")) throw error;
        failures += 1;
        // A proxy may cut what takes long: a shorter poll gets through.
        if (waitS > 0 && Date.now() - began > QUICK_MS) waitS = Math.floor(waitS / 3);
        else await this.#task.connection.pause(error, failures, this.#signal);
      }
    }
  }

  #poll(tag: string, waitS: number) {
    return this.#ask(pathTo(this.#task, "/status"), waitS, tag && { "If-None-Match": tag }, async (response) => ({
      status: response.status === 304 ? undefined : ((await response.json()) as Status),
      tag: response.headers.get("ETag") ?? "",
      retryAfterS: retryAfterOf(response.headers.get("Retry-After")),
    }));
  }

  /** Sends a long poll of that length. */
  #ask<T>(path: string, waitS: number, headers: object | "", read: (response: Response) => Promise<T>): Promise<T> {
    return this.#task.connection.send(
      path,
      {
        headers: { Prefer: `wait=${waitS}`, ...(headers as object) },
        maxBytes: RESULT_BYTES,
        once: true,
        signal: this.#signal,
        waitMs: waitS * 1000,
      },
      read,
    );
  }

  /** What an event tells; undefined if it is no news. */
  #take(name: string, id: string | undefined, text: string): TaskEvent | undefined {
    const data = JSON.parse(text);
    if (id !== undefined) this.#lastId = id;
    if (name === "output" && data.seq >= this.#next) {
      this.#next = data.seq + 1;
      if (this.#output) return { name, data };
    }
    // The status of the end has no id: `done` follows it.
    if (name === "status" && id !== undefined && this.#isNew(id.replace(/\..*/, ""))) return { name, data };
    return name === "done" ? { name, data } : undefined;
  }

  /** Whether the task has another version than at the last status. */
  #isNew(version: string): boolean {
    const known = this.#version;
    this.#version = version;
    return version === "" || version !== known;
  }

  async *#outputs(waitS: number): AsyncGenerator<TaskEvent, void> {
    const { query } = this.#task;
    const after = this.#next > 0 ? `${query === "" ? "?" : "&"}after=${this.#next - 1}` : "";
    const path = pathTo(this.#task, "/output") + after;
    const text = await this.#ask(path, waitS, "", (response) => response.text());
    for (const line of text.split("\n").filter(Boolean)) {
      const data: Output = JSON.parse(line);
      this.#next = data.seq + 1;
      yield { name: "output", data };
    }
  }
}
