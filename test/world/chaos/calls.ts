import type { Deployment, Order, Subject } from "../callers.ts";
import { heard } from "../history/answer.ts";
import type { CallAnswer } from "../history/history.ts";

/** How long a caller waits for an answer, ms; the server promises one within 5 s. */
const PATIENCE_MS = 10_000;
/** Answers that say that a task has ended, or that there is none. */
const OVER = [404, 410, 409, 412];

/** Calls over HTTP. */
export class HttpCalls implements Deployment {
  readonly chance: () => number;
  readonly #url: () => string;

  /** @param url of the API that is called now */
  constructor(url: () => string, chance: () => number) {
    this.#url = url;
    this.chance = chance;
  }

  /** Milliseconds of the monotonic clock that all processes of this machine share. */
  nowMs(): number {
    return Number(process.hrtime.bigint()) / 1e6;
  }

  async submit({ id, queue }: Subject, { work, delayMs = 0, deadlineMs, waits = false }: Order): Promise<CallAnswer> {
    const query = new URLSearchParams();
    if (delayMs > 0) query.set("delay", String(Math.ceil(delayMs / 1000)));
    if (deadlineMs !== undefined) query.set("deadline", String(Math.ceil(deadlineMs / 1000)));
    return this.#hear("submit", `/v1/queues/${queue}/requests?${query}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Request-Id": id, ...(!waits && { Prefer: "respond-async" }) },
      body: JSON.stringify(work),
      ...(waits && { signal: null }),
    });
  }

  ask(kind: "status" | "collect" | "timeline", { id }: Subject): Promise<CallAnswer> {
    return this.#hear(kind, `/v1/requests/${id}${kind === "collect" ? "" : `/${kind}`}`);
  }

  /** Follows its events to the last one. */
  async watch({ id }: Subject): Promise<void> {
    const headers = { Accept: "text/event-stream" };
    const { status, body } = await this.#send(`/v1/requests/${id}/events`, { headers, signal: null });
    if (!OVER.includes(status) && !body.includes("event: done")) throw new Error("the stream broke off");
  }

  async act(verb: "cancel" | "retry", { id }: Subject): Promise<void> {
    const task = `/v1/requests/${id}`;
    const { etag } = await this.#send(`${task}/status`);
    // A task that has ended meanwhile has another tag: its result is not to be destroyed.
    const { status } =
      verb === "retry"
        ? await this.#send(`${task}/retry`, { method: "POST" })
        : await this.#send(task, { method: "DELETE", headers: { "If-Match": etag } });
    if (status >= 400 && !OVER.includes(status)) throw new Error(`${verb}: ${status}`);
  }

  async #hear(kind: "submit" | "status" | "collect" | "timeline", path: string, init?: RequestInit) {
    const { status, body } = await this.#send(path, init);
    return heard(kind, status, body);
  }

  async #send(path: string, init: RequestInit = {}): Promise<{ status: number; body: string; etag: string }> {
    const answer = await fetch(this.#url() + path, { signal: AbortSignal.timeout(PATIENCE_MS), ...init });
    return { status: answer.status, body: await answer.text(), etag: answer.headers.get("ETag") ?? "" };
  }
}
