import type { ServerResponse } from "node:http";
import { whenClosed } from "../server/response.ts";

/** Settings of event streams. */
export const STREAM_DEFAULTS = {
  /** How long a client should wait before it reconnects, ms. */
  retryMs: 2000,
  /** Streams are spread over this many groups; each second one group gets a comment. */
  spokes: 8,
  spokeMs: 1000,
  /** A client that has read nothing for this many rounds is disconnected. */
  patienceTurns: 8,
} as const;

/** A comment, so that proxies do not close a silent connection, and to detect clients that have gone. */
const HEARTBEAT = ":\n\n";

/** One event as it goes over the wire (WHATWG HTML §9.2.5). `data` must not contain line breaks, and JSON has none. */
export function eventText(event: { name: string; id?: string; data: string }): string {
  const id = event.id === undefined ? "" : `id: ${event.id}\n`;
  return `event: ${event.name}\n${id}data: ${event.data}\n\n`;
}

/**
 * All event streams of this process. They share one listener for the stop of the server, and one timer that visits each every
 * {@link STREAM_DEFAULTS.spokes} seconds.
 */
export class EventStreams {
  readonly #stopping: AbortSignal;
  readonly #wheel: readonly Set<EventStream>[];
  #timer: NodeJS.Timeout | undefined;
  #spoke = 0;
  #opened = 0;

  constructor(stopping: AbortSignal) {
    this.#stopping = stopping;
    this.#wheel = Array.from({ length: STREAM_DEFAULTS.spokes }, () => new Set());
  }

  /** Number of open streams. */
  get size(): number {
    return this.#wheel.reduce((sum, spoke) => sum + spoke.size, 0);
  }

  /**
   * Sends the head of a stream and keeps it alive until either side closes.
   * @param on `close` is called once it is closed; `ready` whenever the client has read what it was sent
   */
  open(res: ServerResponse, on: { close(): void; ready?(): void }): EventStream {
    this.#opened += 1;
    const stream = new EventStream(res, on.ready);
    const spoke = this.#wheel[this.#opened % this.#wheel.length];
    spoke?.add(stream);
    if (this.#timer === undefined) {
      this.#timer = setInterval(() => this.#turn(), STREAM_DEFAULTS.spokeMs);
      this.#stopping.addEventListener("abort", this.#endAll);
    }
    whenClosed(res, () => {
      spoke?.delete(stream);
      if (this.size === 0) this.#rest();
      on.close();
    });
    if (this.#stopping.aborted) stream.end();
    return stream;
  }

  #turn(): void {
    this.#spoke = (this.#spoke + 1) % this.#wheel.length;
    for (const stream of this.#wheel[this.#spoke] ?? []) stream.beat();
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#stopping.removeEventListener("abort", this.#endAll);
  }

  readonly #endAll = (): void => {
    for (const spoke of this.#wheel) for (const stream of spoke) stream.end();
  };
}

/** The headers of a stream: nothing on its way keeps events back, or keeps them. */
export const EVENT_HEADERS = {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-cache, no-transform",
  "X-Accel-Buffering": "no",
} as const;

/** One client's stream. A client that reads slowly gets the latest state when it is ready again, and skips those in between. */
export class EventStream {
  readonly #res: ServerResponse;
  /** The connection's buffer is full; further states replace `#next`. */
  #blocked = false;
  #next = "";
  #last = false;
  #missed = 0;
  readonly #onReady: () => void;

  /** @param onReady called when the client has read what it was sent */
  constructor(res: ServerResponse, onReady: () => void = () => undefined) {
    this.#res = res;
    this.#onReady = onReady;
    res.writeHead(200, EVENT_HEADERS);
    res.on("drain", () => this.#drained());
    // A write to a connection that has just closed; its "close" event follows.
    res.on("error", () => undefined);
    // A line of the first event's block: some clients take a block without data for an event.
    this.#write(`retry: ${STREAM_DEFAULTS.retryMs}\n`);
  }

  /** Sends a state, or keeps it in place of an earlier one that could not be sent yet. */
  send(text: string): void {
    if (this.#last) return;
    if (this.#blocked) this.#next = text;
    else this.#write(text);
  }

  /** Sends a text that no later one replaces; false if the client has to read it before more is sent. */
  push(text: string): boolean {
    if (!this.#last) this.#write(text);
    return !this.#blocked;
  }

  /** Sends a last text, if given, and closes. */
  end(text = ""): void {
    if (this.#last) return;
    this.#last = true;
    if (this.#blocked) this.#next = text;
    else this.#res.end(text);
  }

  /** Sends a comment; disconnects a client that reads nothing. */
  beat(): void {
    if (!this.#blocked) this.#write(HEARTBEAT);
    else {
      this.#missed += 1;
      if (this.#missed > STREAM_DEFAULTS.patienceTurns) this.#res.destroy();
    }
  }

  #write(text: string): void {
    if (!this.#res.write(text)) this.#blocked = true;
  }

  #drained(): void {
    const text = this.#next;
    this.#blocked = false;
    this.#next = "";
    this.#missed = 0;
    if (this.#last) this.#res.end(text);
    else {
      if (text !== "") this.#write(text);
      if (!this.#blocked) this.#onReady();
    }
  }
}
