import { type Connection, pauseMs, retryAfterOf } from "./connection.ts";
import { eventsOf, linesOf } from "./event-stream.ts";
import { PaihaoError } from "./problem.ts";
import { hasEnded, type Output, type Status } from "./status.ts";
import { Limit, sleep } from "./time.ts";

const DEFAULTS = {
  /** The server sends something at once: a stream that is silent for so long is kept by a proxy. */
  firstByteMs: 5000,
  /** And a comment every 10 s. */
  silenceMs: 25_000,
  /** After so many streams in a row that broke off early it asks instead. */
  mostCuts: 3,
  /** A stream that lasted so long did not break off early. */
  longMs: 20_000,
  /** How long a long poll lasts, seconds. */
  pollS: 25,
  /** How long one for output lasts. */
  outputPollS: 2,
  /** An answer that comes faster is followed by a pause, and a failure that comes faster is not that of a proxy. */
  quickMs: 500,
} as const;

/** A task at its server. */
export interface Target {
  readonly connection: Connection;
  /** Of its result resource. */
  readonly path: string;
  /** The signature of a link, with its question mark; "" without one. */
  readonly query: string;
}

/** What happens to a task. */
export type TaskEvent =
  | { readonly name: "status" | "done"; readonly data: Status }
  | { readonly name: "output"; readonly data: Output };

/** What is to be known of it. */
export interface FollowOptions {
  readonly signal?: AbortSignal | undefined;
  /** What the handler writes too. */
  readonly output?: boolean;
}

/**
 * What happens to a task until it has ended: by its events; where a proxy keeps them back, or cuts them again and again, by
 * long polls. The last event is `done`.
 * @throws PaihaoError; the signal's reason
 */
export async function* follow(task: Target, options: FollowOptions): AsyncGenerator<TaskEvent, void> {
  const follower = new Follower(task, options);
  for await (const event of follower.streams()) {
    yield event;
    if (event.name === "done") return;
  }
  yield* follower.polls();
}

class Follower {
  readonly #task: Target;
  readonly #signal: AbortSignal | undefined;
  readonly #output: boolean;
  /** Of the last event that had one. */
  #lastId = "";
  /** The version of the last status, so that none comes twice. */
  #version = "";
  /** The number of the next value. */
  #next = 0;

  constructor(task: Target, { signal, output = false }: FollowOptions) {
    this.#task = task;
    this.#signal = signal;
    this.#output = output;
  }

  /** Ends without `done` where streams do not get through. */
  async *streams(): AsyncGenerator<TaskEvent, void> {
    let failures = 0;
    for (let cuts = 0; cuts < DEFAULTS.mostCuts; ) {
      const began = Date.now();
      const limit = new Limit(this.#signal, DEFAULTS.firstByteMs);
      let heard = false;
      let isOpen = false;
      try {
        const response = await this.#open(limit);
        if (!/^text\/event-stream\b/.test(response.headers.get("Content-Type") ?? "")) return;
        isOpen = true;
        failures = 0;
        const lines = linesOf(response, () => {
          heard = true;
          limit.within(DEFAULTS.silenceMs);
        });
        for await (const { name, id, data } of eventsOf(lines)) {
          const event = this.#take(name, id, data);
          if (event) yield event;
          if (name === "done") return;
        }
      } catch (error) {
        this.#signal?.throwIfAborted();
        // A proxy keeps it back, or cut it before it let anything through, and would do the same with the next one.
        if (!heard && Date.now() - began > DEFAULTS.quickMs) return;
        if (!isOpen) {
          failures += 1;
          await this.#task.connection.pause(error, failures, this.#signal);
          continue;
        }
      } finally {
        limit.end();
      }
      cuts = Date.now() - began > DEFAULTS.longMs ? 0 : cuts + 1;
      await sleep(pauseMs(1, undefined), this.#signal);
    }
  }

  /** By conditional long polls, and the output by polls that the server ends. */
  async *polls(): AsyncGenerator<TaskEvent, void> {
    let waitS: number = DEFAULTS.pollS;
    let tag = "";
    let failures = 0;
    for (;;) {
      const began = Date.now();
      try {
        if (this.#output && tag !== "") yield* this.#outputs(Math.min(waitS, DEFAULTS.outputPollS));
        const answer = await this.#poll(tag, this.#output ? 0 : waitS);
        const { status } = answer;
        failures = 0;
        if (status && hasEnded(status)) {
          if (this.#output) yield* this.#outputs(0);
          return yield { name: "done", data: status };
        }
        if (status) {
          const version = answer.tag.replace(/^W\/|"/g, "");
          if (version === "" || version !== this.#version) yield { name: "status", data: status };
          this.#version = version;
          tag = answer.tag;
        }
        // A server or a proxy that answers at once is not asked all the time.
        if (Date.now() - began < DEFAULTS.quickMs) await sleep(pauseMs(1, answer.retryAfterS ?? 2), this.#signal);
      } catch (error) {
        if (!(error instanceof PaihaoError && error.kind === "unreachable")) throw error;
        failures += 1;
        // A proxy may cut what takes long: a shorter poll gets through.
        if (waitS > 0 && Date.now() - began > DEFAULTS.quickMs) waitS = Math.floor(waitS / 3);
        else await this.#task.connection.pause(error, failures, this.#signal);
      }
    }
  }

  #poll(tag: string, waitS: number) {
    const headers: Record<string, string> = { Accept: "application/json", Prefer: `wait=${waitS}` };
    if (tag !== "") headers["If-None-Match"] = tag;
    const request = { headers, signal: this.#signal, waitMs: waitS * 1000, once: true };
    return this.#task.connection.send(this.#pathOf("/status"), request, async (response) => ({
      status: response.status === 304 ? undefined : ((await response.json()) as Status),
      tag: response.headers.get("ETag") ?? "",
      retryAfterS: retryAfterOf(response.headers.get("Retry-After")),
    }));
  }

  #open(limit: Limit): Promise<Response> {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (this.#lastId !== "") headers["Last-Event-ID"] = this.#lastId;
    return this.#task.connection.open(this.#pathOf("/events"), { headers }, limit);
  }

  #take(name: string, id: string | undefined, data: string): TaskEvent | undefined {
    if (name === "output") {
      const value: Output = JSON.parse(data);
      if (id !== undefined) this.#lastId = id;
      if (value.seq < this.#next) return undefined;
      this.#next = value.seq + 1;
      return this.#output ? { name, data: value } : undefined;
    }
    if (name === "done") return { name, data: JSON.parse(data) };
    // That of the end has no id: `done` follows it.
    if (name !== "status" || id === undefined) return undefined;
    const [version = ""] = id.split(".");
    this.#lastId = id;
    if (version === this.#version) return undefined;
    this.#version = version;
    return { name, data: JSON.parse(data) };
  }

  async *#outputs(waitS: number): AsyncGenerator<TaskEvent, void> {
    const separator = this.#task.query === "" ? "?" : "&";
    const path = this.#pathOf("/output") + (this.#next > 0 ? `${separator}after=${this.#next - 1}` : "");
    const request = {
      headers: { Prefer: `wait=${waitS}` },
      signal: this.#signal,
      waitMs: waitS * 1000,
      once: true,
    };
    const text = await this.#task.connection.send(path, request, (response) => response.text());
    for (const line of text.split("\n").filter((part) => part !== "")) {
      const data: Output = JSON.parse(line);
      this.#next = data.seq + 1;
      yield { name: "output", data };
    }
  }

  #pathOf(resource: string): string {
    return this.#task.path + resource + this.#task.query;
  }
}
