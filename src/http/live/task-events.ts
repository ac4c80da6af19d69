import type { ServerResponse } from "node:http";
import type { Inspection } from "../../engine/reading/inspect.ts";
import { beforeMember, resultJson } from "../../engine/reading/result-json.ts";
import type { OutputPage } from "../../engine/watching/output-feeds.ts";
import { ProblemError } from "../../errors.ts";
import { isOutcome } from "../../task.ts";
import type { Api } from "../api.ts";
import { versionId } from "../headers/etag.ts";
import type { Sender } from "../headers/forwarded.ts";
import { documentOf } from "../task/documents/monitor-document.ts";
import { observeEnd } from "../task/find.ts";
import { outcomeProblem } from "../task/reply.ts";
import { type EventStream, type EventStreams, eventText } from "./event-streams.ts";
import { type FollowedTask, OutputPump, type OutputSource } from "./output-pump.ts";

/** What the events of a task are built from. */
interface EventsParts {
  readonly ctx: Sender;
  readonly api: Api;
  readonly source: OutputSource;
  readonly task: FollowedTask;
  /** The id of the last event that the client has; "" for none. */
  readonly known: string;
}

/**
 * The events of one task on one stream. The id of each says where to resume: the version of the task that the client has seen
 * last and, once it has seen output, a point and the number of the next value. The id of `done` is the version alone.
 */
export class TaskEvents {
  readonly #parts: EventsParts;
  readonly #pump: OutputPump;
  #stream: EventStream | undefined;
  /** The version that was sent last, so that no version is sent twice. */
  #version = "";
  #ended = false;
  /** What is sent after all output. */
  #last = "";
  #begun = false;
  /** A change that arrived before the beginning. */
  #early: Inspection | null | undefined;

  constructor(parts: EventsParts) {
    this.#parts = parts;
    const { source, task, known } = parts;
    this.#pump = new OutputPump(source, task, nextOf(known), {
      write: (page) => this.#stream?.push(page.textOf(this.#version, eventsOf(this.#version))) ?? false,
      end: () => this.#finish(),
      fail: (error) => this.fail(error),
    });
  }

  /** Sends the head. */
  open(streams: EventStreams, res: ServerResponse, onClose: () => void): void {
    this.#stream = streams.open(res, {
      ready: () => this.#pump.resume(),
      close: () => {
        this.#pump.stop();
        onClose();
      },
    });
  }

  /** Begins with the task as it was when its watch began, or as it has changed since. */
  begin(first: Inspection | null): void {
    this.#begun = true;
    this.tell(this.#early === undefined ? first : this.#early);
    if (!this.#ended) this.#pump.start();
  }

  /** Call it if there will be no stream. */
  stop(): void {
    this.#pump.stop();
  }

  /** Sends the task after a change; null if it no longer exists. Never throws: on an error the stream ends. */
  tell(seen: Inspection | null): void {
    if (!this.#begun) {
      this.#early = seen;
      return;
    }
    try {
      this.#tell(seen);
    } catch (error) {
      this.fail(error);
    }
  }

  /** Ends the stream: a client that connects again gets the right answer. */
  fail(error: unknown): void {
    const { log } = this.#parts.api;
    if (!(error instanceof ProblemError))
      log.error({ err: error }, "events: could not describe the task; closing its stream");
    this.#pump.stop();
    this.#stream?.end();
  }

  #tell(seen: Inspection | null): void {
    const stream = this.#stream;
    if (!stream) return;
    // The task is unknown, deleted, or another one with the same id: a client that reconnects gets the right answer.
    if (!seen || seen.deleted || seen.createdMs !== this.#parts.task.createdMs) {
      this.#pump.stop();
      return stream.end();
    }
    const version = versionId(seen);
    if (version === this.#version || this.#ended) return;
    if (isOutcome(seen.state)) {
      this.#ended = true;
      return this.#settle(stream, seen.id);
    }
    this.#version = version;
    const { next } = this.#pump;
    stream.send(eventText({ name: "status", id: idOf(version, next), data: this.#documentOf(seen) }));
  }

  /**
   * The task has ended: sends the remaining output, then the last state and `done`. A client that has had no state yet gets the
   * state first. The last state has no id, so that a client disconnected before `done` gets both again.
   */
  #settle(stream: EventStream, id: string): void {
    const { ctx, api } = this.#parts;
    observeEnd(ctx, api, id)
      .then((seen) => {
        const status = eventText({ name: "status", data: this.#documentOf(seen) });
        const version = versionId(seen);
        const done = eventText({ name: "done", id: version, data: doneDocument(ctx, seen, this.#documentOf(seen)) });
        if (this.#version === "") {
          stream.send(status);
          this.#last = done;
          this.#version = version;
        } else {
          this.#last = status + done;
        }
        this.#pump.finish();
      })
      // The store is unavailable, or the task was just deleted.
      .catch((error: unknown) => this.fail(error));
  }

  #finish(): void {
    this.#stream?.end(this.#last);
  }

  #documentOf(seen: Inspection): string {
    return JSON.stringify(documentOf(this.#parts.ctx, this.#parts.api, seen));
  }
}

/** The id of an event, with the number of the value that follows it. */
function idOf(version: string, next: number): string {
  return next === 0 ? version : `${version}.${next}`;
}

/** The number of the first value after the event with this id. */
function nextOf(id: string): number {
  const next = /\.(\d{1,15})$/.exec(id)?.[1];
  return next === undefined ? 0 : Number(next);
}

/** Writes values as events. */
function eventsOf(version: string): (values: readonly string[], from: OutputPage["from"]) => string {
  return (values, from) =>
    values.map((data, n) => eventText({ name: "output", id: idOf(version, from + n + 1), data })).join("");
}

/**
 * The document of the event `done`: the monitor's, with the result if it is short JSON, or the problem that collecting it would
 * answer.
 * @param seen the task, with its result
 * @param document the monitor's document of it, as JSON
 */
export function doneDocument(sender: Sender, seen: Inspection, document: string): string {
  // A result that was not read is too long, but exists.
  const isLong = seen.result === null && !seen.expired && seen.state !== "canceled";
  const problem = isLong ? null : outcomeProblem(sender, seen);
  const json = problem ? JSON.stringify(problem.document) : seen.result && resultJson(seen.result);
  if (!json) return document;
  return `${beforeMember(document, problem ? "problem" : "result")}${json.replace(/[\r\n]+/g, " ")}}`;
}
