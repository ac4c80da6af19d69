import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { messageOf } from "../../errors.ts";
import { giveUp } from "../../handler/intents.ts";
import type { HeaderField } from "../../handler/result-headers.ts";
import type { TaskContext } from "../../handler/task-context.ts";
import { Deadline } from "../../net/deadline.ts";
import { answeredWith, inSpanOf, requestSpan } from "../../trace/tracing.ts";
import { noteTarget } from "./circuit-breakers.ts";
import { taskHeaders } from "./headers.ts";
import type { GatewayMethod, StoredRequest } from "./request.ts";
import { NoAnswer, type Upstream } from "./upstream.ts";

/** What forwarding needs. */
export interface Forwarder {
  readonly upstream: Upstream;
  readonly methods: readonly GatewayMethod[];
  readonly forward?: ReadonlySet<string>;
  /** The header with the API's own key. */
  readonly key?: HeaderField;
  readonly timeoutMs: number;
}

/** The problem of a request that will not be sent again, and whose response is unknown. */
export function unanswered(reason: string, { sent }: { sent: boolean }): Error {
  const detail = sent ? `${reason} The request may have been carried out.` : `${reason} The request was not sent.`;
  return giveUp({
    ...{ status: 502, title: "The API behind the gateway did not answer", detail },
    mayHaveBeenCarriedOut: sent,
  });
}

/** One attempt, from the connection to the last byte of the response. */
export class Exchange {
  readonly #forwarder: Forwarder;
  readonly #task: TaskContext;
  readonly #repeatable: boolean;
  readonly #deadline: Deadline;
  /** A connection that has carried nothing yet; only for a request that is sent once. */
  #socket: Socket | undefined;

  constructor(forwarder: Forwarder, task: TaskContext, repeatable: boolean) {
    this.#forwarder = forwarder;
    this.#task = task;
    this.#repeatable = repeatable;
    this.#deadline = new Deadline(task.signal, forwarder.timeoutMs, () => undefined);
  }

  /**
   * Connects, then marks the request as sent: without a connection, it can still be sent later. Returns false if an earlier
   * attempt has marked it.
   */
  async connect(): Promise<boolean> {
    try {
      const first = await isFirst(this.#task, "forward", async () => {
        this.#socket = await this.#forwarder.upstream.connect(this.#deadline.signal);
      });
      return first || this.ended(false);
    } catch (error) {
      if (error instanceof NoAnswer) throw this.failed(`There was no answer (${error.message}).`, false, error);
      this.#socket?.destroy();
      throw this.ended(error);
    }
  }

  /** Sends the request; resolves with the head of the response. */
  async ask({ head, body }: StoredRequest, headers: Record<string, string>): Promise<IncomingMessage> {
    const { method, path } = head;
    try {
      const { upstream } = this.#forwarder;
      return await inSpanOf(this.#task, requestSpan(method, upstream.target), async (traceHeaders, note) => {
        const answer = await upstream.send({
          ...{ method, path, signal: this.#deadline.signal, socket: this.#socket },
          headers: {
            ...taskHeaders(head, headers),
            "x-request-id": this.#task.id,
            ...traceHeaders,
            ...ofKey(this.#forwarder.key),
          },
          body: body.length > 0 ? body : undefined,
        });
        note(answeredWith(answer.statusCode));
        return answer;
      });
    } catch (error) {
      if (error instanceof NoAnswer) throw this.failed(`There was no answer (${error.message}).`, error.sent, error);
      throw this.ended(giveUp({ status: 400, title: "The request cannot be forwarded", detail: messageOf(error) }));
    }
  }

  /** The body of the response as a stream; an error in it ends the attempt as if there had been no response. */
  body(answer: IncomingMessage): ReadableStream<Uint8Array> {
    const chunks = answer[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    let canceled = false;
    return new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        try {
          const { done, value } = await chunks.next();
          if (canceled) return;
          if (done !== true) return controller.enqueue(value);
          this.ended(controller.close());
        } catch (error) {
          // After a cancel, nobody reads the error.
          if (!canceled) controller.error(this.failed("The answer broke off.", true, error));
        }
      },
      cancel: () => {
        canceled = true;
        this.ended(answer.destroy());
      },
    });
  }

  /** The error to throw if there is no response. */
  failed(reason: string, sent = true, cause?: unknown): unknown {
    this.ended(undefined);
    const { signal, attempt, maxAttempts, log } = this.#task;
    if (signal.aborted) return signal.reason;
    noteTarget(this.#task, {
      state: sent ? "unclear" : "down",
      reason: this.#deadline.passed ? "timeout" : cause instanceof NoAnswer ? cause.message : "no answer",
      repeatable: this.#repeatable || !sent,
    });
    const why = this.#deadline.passed ? `There was no complete answer within ${this.#forwarder.timeoutMs} ms.` : reason;
    if (this.#repeatable && attempt < maxAttempts) return new Error(`the API behind the gateway: ${why}`, { cause });
    log.warn({ err: cause, sent }, "the API behind the gateway did not answer; the task ends with 502");
    return unanswered(why, { sent });
  }

  /** Releases the signal and the timer; returns the given value. */
  ended<T>(value: T): T {
    this.#deadline.clear();
    return value;
  }
}

function ofKey(key: HeaderField | undefined): Record<string, string> {
  return key ? { [key[0].toLowerCase()]: key[1] } : {};
}

/**
 * Whether no earlier attempt has done the step of this name; marks it as done, under the task's fence, unless `before`, which is
 * called first, throws.
 */
export async function isFirst(task: TaskContext, step: string, before?: () => Promise<void>): Promise<boolean> {
  let first = false;
  await task.step(step, async () => {
    await before?.();
    first = true;
    return true;
  });
  return first;
}
