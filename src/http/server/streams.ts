import type { ServerResponse } from "node:http";
import type { Context } from "koa";
import { ProblemError } from "../../errors.ts";
import { oneParameter } from "../../wire/request.ts";
import { senderOf } from "../request/access.ts";
import { searchOf } from "../request/parameters.ts";
import { handOver, sendParts, whenClosed } from "./response.ts";

/** Settings of streams. */
export const STREAM_DEFAULTS = {
  /** How long a client should wait before it reconnects, ms. */
  retryMs: 2000,
  /** Streams are spread over this many groups; each second one group gets a heartbeat. */
  spokes: 8,
  spokeMs: 1000,
  /** A client that has read nothing for this many rounds is disconnected. */
  patienceTurns: 8,
  /** The Retry-After for a caller with too many streams, seconds: one of them may have ended by then. */
  retryAfterS: 5,
} as const;

/** How a stream looks on the wire. */
export interface StreamFormat {
  /** Nothing on its way keeps parts back, or keeps them. */
  readonly headers: Readonly<Record<string, string>>;
  /** What is sent at once. */
  readonly opening?: string;
  /** What is sent again and again, so that proxies do not close a silent connection, and to detect clients that have gone. */
  readonly heartbeat?: string;
  /** A stream that fails, or that the server ends, is broken off: the client would take a complete one for all. */
  readonly breaksOff: boolean;
}

/** Server-Sent Events (WHATWG HTML §9.2.5): whoever did not get the last one connects again. */
export const EVENTS: StreamFormat = {
  headers: {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
  },
  // A line of the first event's block: some clients take a block without data for an event.
  opening: `retry: ${STREAM_DEFAULTS.retryMs}\n`,
  heartbeat: ":\n\n",
  breaksOff: false,
};

/** Lines of JSON. */
export const LINES: StreamFormat = {
  headers: {
    "Content-Type": "application/x-ndjson",
    "Cache-Control": "no-store, no-transform",
    "X-Accel-Buffering": "no",
  },
  breaksOff: true,
};

/** One event. `data` must not contain line breaks, and JSON has none. */
export function eventText(event: { name: string; id?: string; data: string }): string {
  const id = event.id === undefined ? "" : `id: ${event.id}\n`;
  return `event: ${event.name}\n${id}data: ${event.data}\n\n`;
}

/** What is sent on a stream, and what it depends on. */
export interface StreamParts {
  /** Asked for the next one when the client has read those before it. If it throws, the stream fails. */
  readonly parts: AsyncIterable<string>;
  /** Called once either side has closed. */
  onClose?(): void;
  /** Called if the parts have failed. */
  onError?(error: unknown): void;
  /** The server stops it; default: it is ended or broken off at once. */
  onStop?(): void;
}

/** A stream that is open. */
interface OpenStream {
  readonly res: ServerResponse;
  readonly heartbeat: string;
  readonly spoke: number;
  missed: number;
  stop(): void;
}

/**
 * The streams of this process. They share one listener for the stop of the server, and one timer that visits each every
 * {@link STREAM_DEFAULTS.spokes} seconds. Each occupies a connection for as long as it lasts, and so does a long poll: their number is
 * limited per sender.
 */
export class Streams {
  readonly #max: number;
  readonly #stopping: AbortSignal;
  readonly #bySender = new Map<string, number>();
  readonly #open = new Set<OpenStream>();
  #timer: NodeJS.Timeout | undefined;
  #turns = 0;
  #opened = 0;

  /**
   * @param max streams and long polls per API key, or per address if none was sent
   * @param stopping fires when the server stops
   */
  constructor(max: number, stopping: AbortSignal) {
    this.#max = max;
    this.#stopping = stopping;
    stopping.addEventListener("abort", () => {
      for (const stream of this.#open) stream.stop();
    });
  }

  /** Counts one more until its connection closes. @throws ProblemError rate-limited */
  add(ctx: Context): void {
    const sender = senderOf(ctx);
    const open = this.#bySender.get(sender) ?? 0;
    if (open >= this.#max) {
      throw new ProblemError("rate-limited", `At most ${this.#max} streams and long polls may be open at once.`, {
        retryAfterS: STREAM_DEFAULTS.retryAfterS,
      });
    }
    this.#bySender.set(sender, open + 1);
    whenClosed(ctx.res, () => {
      const left = (this.#bySender.get(sender) ?? 1) - 1;
      if (left > 0) this.#bySender.set(sender, left);
      else this.#bySender.delete(sender);
    });
  }

  /** Sends the head of a stream, then its parts, until either side closes. */
  send(ctx: Context, { headers, opening, heartbeat = "", breaksOff }: StreamFormat, on: StreamParts): void {
    const res = handOver(ctx);
    const end = () => (breaksOff ? res.destroy() : res.end());
    this.#opened += 1;
    const spoke = this.#opened % STREAM_DEFAULTS.spokes;
    const stream: OpenStream = { res, heartbeat, spoke, missed: 0, stop: on.onStop ?? end };
    this.#open.add(stream);
    this.#timer ??= setInterval(() => this.#turn(), STREAM_DEFAULTS.spokeMs);
    res.writeHead(200, headers);
    res.on("drain", () => {
      stream.missed = 0;
    });
    if (opening === undefined) res.flushHeaders();
    else res.write(opening);
    whenClosed(res, () => {
      this.#open.delete(stream);
      if (this.#open.size === 0) this.#rest();
      on.onClose?.();
    });
    if (this.#stopping.aborted) stream.stop();
    sendParts(res, on.parts, (text) => text).catch((error: unknown) => {
      on.onError?.(error);
      end();
    });
  }

  #turn(): void {
    this.#turns = (this.#turns + 1) % STREAM_DEFAULTS.spokes;
    for (const stream of this.#open) if (stream.spoke === this.#turns && stream.heartbeat !== "") beat(stream);
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** Sends a heartbeat; disconnects a client that reads nothing. */
function beat(stream: OpenStream): void {
  const { res, heartbeat } = stream;
  if (res.writableEnded) return;
  if (!res.writableNeedDrain) res.write(heartbeat);
  else {
    stream.missed += 1;
    if (stream.missed > STREAM_DEFAULTS.patienceTurns) res.destroy();
  }
}

/**
 * The id of the last event that a client has received, "" if none.
 * @throws ProblemError invalid-parameter
 */
export function lastEventId(ctx: Context): string {
  return ctx.get("Last-Event-ID") || (oneParameter(searchOf(ctx), "lastEventId") ?? "");
}

/**
 * Answers a request for events that needs no stream: a HEAD request, or that of a client that has received the final event.
 * @returns whether it is answered
 */
export function isAnsweredWithoutEvents(ctx: Context, hasFinal: boolean): boolean {
  // 204 stops an EventSource from reconnecting (WHATWG HTML §9.2.3).
  if (hasFinal) ctx.status = 204;
  else if (ctx.method === "HEAD") {
    ctx.set(EVENTS.headers);
    ctx.status = 200;
  }
  return hasFinal || ctx.method === "HEAD";
}
