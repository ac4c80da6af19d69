import type { ServerResponse } from "node:http";
import { LONGEST_TIMER_MS } from "../../config/duration.ts";
import type { Inspection } from "../../engine/reading/inspect.ts";
import { isOutcome } from "../../task.ts";
import { whenClosed } from "../server/response.ts";
import { type FollowedTask, OutputPump, type OutputSource } from "./output-pump.ts";

/** The parameters of a reader. */
interface ReaderParts {
  readonly task: FollowedTask;
  /** The number of the first value. */
  readonly from: number;
  readonly source: OutputSource;
  /** Called once when either side has closed. */
  onClose(): void;
}

/** All readers of outputs of this process; they share one listener for the stop of the server. */
export class OutputReaders {
  readonly #stopping: AbortSignal;
  readonly #open = new Set<OutputReader>();

  constructor(stopping: AbortSignal) {
    this.#stopping = stopping;
    stopping.addEventListener("abort", () => {
      for (const reader of this.#open) reader.stopping();
    });
  }

  /** Sends the head of the response, and begins. */
  open(res: ServerResponse, parts: ReaderParts): OutputReader {
    const reader = new OutputReader(res, parts);
    this.#open.add(reader);
    whenClosed(res, () => this.#open.delete(reader));
    if (this.#stopping.aborted) reader.stopping();
    return reader;
  }
}

/** Sends the output of a task to one client, as lines of JSON. */
export class OutputReader {
  readonly #res: ServerResponse;
  readonly #createdMs: number;
  readonly #pump: OutputPump;
  /** It has a time limit: a stopping server lets it go on until then. */
  #limited = false;

  constructor(res: ServerResponse, { task, from, source, onClose }: ReaderParts) {
    this.#res = res;
    this.#createdMs = task.createdMs;
    this.#pump = new OutputPump(source, task, from, {
      write: (page) => res.write(page.textOf("lines", lines)),
      end: () => res.end(),
      // The client sees from the broken response that it is incomplete.
      fail: () => res.destroy(),
    });
    res.writeHead(200, {
      "Content-Type": "application/x-ndjson",
      "Cache-Control": "no-store, no-transform",
      "X-Accel-Buffering": "no",
    });
    res.flushHeaders();
    res.on("drain", () => this.#pump.resume());
    // A write to a connection that has just closed; its "close" event follows.
    res.on("error", () => undefined);
    whenClosed(res, () => {
      this.#pump.stop();
      onClose();
    });
    this.#pump.start();
  }

  /** Called with the task after each change. */
  tell(seen: Inspection | null): void {
    // The task is unknown, deleted, or another one with the same id: a client that asks again gets the right answer.
    if (!seen || seen.deleted || seen.createdMs !== this.#createdMs) this.#res.destroy();
    else if (isOutcome(seen.state)) this.#pump.finish();
  }

  /** Ends after this time, once the values that exist then are sent, or when the signal fires. */
  endAfter(ms: number, signal: AbortSignal): void {
    this.#limited = true;
    const finish = () => this.#pump.finish();
    if (ms <= 0 || signal.aborted) return finish();
    const timer = setTimeout(finish, Math.min(ms, LONGEST_TIMER_MS));
    signal.addEventListener("abort", finish);
    whenClosed(this.#res, () => clearTimeout(timer));
  }

  /** The server stops. The response is broken off, since a complete one would tell the client that the task has ended. */
  stopping(): void {
    if (!this.#limited) this.#res.destroy();
  }
}

function lines(values: readonly string[]): string {
  return `${values.join("\n")}\n`;
}
