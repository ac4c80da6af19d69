import { setTimeout as delay } from "node:timers/promises";
import type { Answer } from "../../helpers/http/answer.ts";
import type { Sent } from "../../helpers/http/server.ts";
import { eventually } from "../../shared/eventually.ts";
import type { Resource } from "./resource.ts";

/** Sends a request to some server that is there. */
export type Send = (path: string, sent?: Sent) => Promise<Answer>;

/** Pause between two looks, ms. */
const LOOK_MS = 100;

/** Who takes a number, looks again and again, and uses the resource while it is their turn. Faults of servers do not stop them. */
export class Caller {
  readonly id: string;
  /** The fences of the turns that they have seen to be theirs. */
  readonly fences = new Set<number>();
  /** What they have last seen. */
  // biome-ignore lint/suspicious/noExplicitAny: tests reach into documents whose shape is what they test
  seen: any = {};
  readonly #send: Send;
  readonly #resource: Resource;
  #looks = true;
  #looking: Promise<void>;

  private constructor(id: string, send: Send, resource: Resource) {
    this.id = id;
    this.#send = send;
    this.#resource = resource;
    this.#looking = this.#look();
  }

  /** @param search options of the submission */
  static async submit(send: Send, resource: Resource, search = "", headers: Sent["headers"] = {}): Promise<Caller> {
    const answer = await send(`/v1/queues/gpu/requests${search}`, {
      method: "POST",
      headers: { Prefer: "respond-async", ...headers },
    });
    if (answer.status !== 202) throw new Error(`not accepted: ${answer.status} ${answer.text}`);
    return new Caller(String(answer.headers["x-request-id"]), send, resource);
  }

  /** Resolves when they see their task in this state, with what they see. */
  async until(state: string): Promise<Caller["seen"]> {
    await eventually(() => this.seen.state === state);
    return this.seen;
  }

  /** Looks once more, and resolves when a server has answered. */
  async look(): Promise<Caller["seen"]> {
    const { json } = await eventually(async () => {
      const answer = await this.#send(`/v1/requests/${this.id}/status`);
      if (answer.status >= 500) throw new Error(answer.text);
      return answer;
    });
    this.seen = json;
    const fence = json.turn?.fence;
    if (fence === undefined) this.#resource.left(this.id);
    else this.fences.add(fence);
    if (fence !== undefined && this.#looks) this.#resource.use(this.id, fence);
    return json;
  }

  /** Stops looking. */
  async stop(): Promise<void> {
    this.#looks = false;
    await this.#looking;
  }

  /** Looks again, after having stopped. */
  resume(): void {
    this.#looks = true;
    this.#looking = this.#look();
  }

  /** Says that the turn is over. */
  async done(body?: unknown): Promise<Answer> {
    await this.stop();
    this.#resource.left(this.id);
    return this.#send(`/v1/requests/${this.id}/done`, { method: "POST", ...(body !== undefined && { body }) });
  }

  async #look(): Promise<void> {
    while (this.#looks) {
      await this.look().catch(() => undefined);
      await delay(LOOK_MS);
    }
  }
}
