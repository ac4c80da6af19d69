/** How an operation ended. */
export interface Ended {
  readonly word: string;
  /** The answer at the result's place, or the monitor's where there is no other. */
  readonly response: Response;
}

/** An operation that was accepted and goes on elsewhere. */
export interface Operation {
  /** Polls until it has ended. */
  end(): Promise<Ended>;
  /** Asks for its end. */
  cancel(): Promise<Response>;
}

const WORDS = new Set(["succeeded", "failed", "canceled"]);

/**
 * A client of long-running operations in general. It knows Operation-Location, Location, Retry-After, status codes and the words
 * of `status`; it has never heard of this server, its paths or its documents.
 */
export class LroClient {
  readonly #pause: (seconds: number) => Promise<void>;

  /** @param pause waits for as long as Retry-After says */
  constructor(pause: (seconds: number) => Promise<void>) {
    this.#pause = pause;
  }

  /** Starts an operation. @throws Error when it was not accepted */
  async start(url: string, body: unknown): Promise<Operation> {
    const headers = { "Content-Type": "application/json", Prefer: "respond-async" };
    const accepted = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
    if (accepted.status !== 202) throw new Error(`not accepted: ${accepted.status}`);
    const resultAt = new URL(accepted.headers.get("Location") ?? url, url);
    const monitorAt = new URL(accepted.headers.get("Operation-Location") ?? resultAt, url);
    return {
      end: () => this.#poll(monitorAt, resultAt, this.#secondsOf(accepted)),
      cancel: () => fetch(resultAt, { method: "DELETE" }),
    };
  }

  async #poll(monitorAt: URL, resultAt: URL, firstPause: number): Promise<Ended> {
    for (let pause = firstPause; ; ) {
      await this.#pause(pause);
      const monitor = await fetch(monitorAt);
      const text = await monitor.clone().text();
      const word = text === "" ? "" : String((JSON.parse(text) as { status?: unknown }).status).toLowerCase();
      if (WORDS.has(word)) {
        return { word, response: monitorAt.href === resultAt.href ? monitor : await fetch(resultAt) };
      }
      // Without a word that ends it, anything but 202 is the end of it.
      if (monitor.status !== 202) return { word: monitor.ok ? "succeeded" : "failed", response: monitor };
      pause = this.#secondsOf(monitor);
    }
  }

  /** @throws Error where an answer does not say when to ask again */
  #secondsOf(response: Response): number {
    const seconds = response.headers.get("Retry-After");
    if (seconds === null || !/^[1-9]\d*$/.test(seconds)) throw new Error(`Retry-After is ${seconds}`);
    return Number(seconds);
  }
}
