import { AsyncResource } from "node:async_hooks";
import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/**
 * How many requests of a connection are handled at once. A client may send hundreds without reading an answer, and answers are
 * kept until they can be sent.
 */
const HANDLED_AT_ONCE = 8;

/** The requests of one connection, whose client need not wait for answers: a few are handled at once, the others wait. */
export class Pipeline {
  /** Responses that are not completely sent, in their order. */
  readonly #unsent = new Set<ServerResponse>();
  /** Start the requests of the last of them. */
  readonly #waiting: (() => void)[] = [];

  readonly #socket: Duplex;

  constructor(socket: Duplex) {
    this.#socket = socket;
    socket.once("close", () => {
      // Node tells only the response that it was sending.
      for (const response of this.#unsent) if (response.socket === null) response.destroy().emit("close");
    });
  }

  /** The response to the latest request; undefined if all are sent. */
  get latest(): ServerResponse | undefined {
    return [...this.#unsent].at(-1);
  }

  /** Calls `handle` when its turn has come; never if the connection ends first. */
  add(response: ServerResponse, handle: () => void): void {
    this.#unsent.add(response);
    response.on("close", () => {
      this.#unsent.delete(response);
      if (!this.#socket.destroyed) this.#waiting.shift()?.();
    });
    if (this.#unsent.size <= HANDLED_AT_ONCE) handle();
    // Not in the context of the request whose answer lets it begin.
    else this.#waiting.push(AsyncResource.bind(handle));
  }
}
