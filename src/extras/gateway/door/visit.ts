import type { Socket } from "node:net";
import type { Context } from "koa";
import { estimate } from "../../../engine/estimates/estimate.ts";
import { jsonAnswer, problemResult } from "../../../engine/tasks/result.ts";
import type { SubmissionVerdict } from "../../../engine/tasks/submit.ts";
import type { Watch } from "../../../engine/watch/watch.ts";
import type { Watchers } from "../../../engine/watch/watchers.ts";
import { ProblemError } from "../../../errors.ts";
import type { HeaderField } from "../../../handler/result-headers.ts";
import type { Api } from "../../../http/api.ts";
import { pendingRetryAfterS, UNKNOWN_PLACE_S } from "../../../http/headers/retry-after.ts";
import { problemDocument } from "../../../http/problems/problem.ts";
import { accessOf } from "../../../http/request/access.ts";
import { assembleSubmission } from "../../../http/submit/submission.ts";
import { checkAccepted } from "../../../http/submit/submit.ts";
import { SUBMIT_DEFAULTS } from "../../../wire/submission.ts";
import type { CircuitBreakers, TargetState } from "../circuit-breakers.ts";
import type { Gateway } from "../gateway.ts";
import { requestFields } from "../headers.ts";
import { isUnsafePath } from "../request.ts";
import { originOf, unsafePath } from "../routes.ts";
import { described, lookAtBody, pathOf } from "./described.ts";
import type { Call, Hold, Holds } from "./hold.ts";
import { AHEAD, Ahead, isStreamed } from "./openai.ts";
import { malformedProblem, overProblem, problemOf, stoppingProblem, targetWith, targetWithout } from "./outcome.ts";
import { type Relayed, relay } from "./relay.ts";
import { ReadAhead } from "./relay-body.ts";
import { malformed, onHangUp } from "./relay-request.ts";

/** What the requests at a door share. */
export interface DoorParts {
  readonly api: Api;
  readonly gateway: Gateway;
  readonly door: NonNullable<Gateway["door"]>;
  readonly holds: Holds;
  readonly watchers: Watchers;
  readonly breakers: CircuitBreakers;
  /** Fires when the server begins to stop: nobody is called any more. */
  readonly stopping: AbortSignal;
  /** Called then: those who wait leave. */
  readonly waiting: Set<() => void>;
  /** Called when the time for answers is over. */
  readonly served: Set<() => void>;
}

/** What proxies log of a request whose caller has gone before an answer. */
const GONE = 499;

/** One request at a door, from its arrival to the end of its answer. */
export class Visit {
  readonly #ctx: Context;
  readonly #parts: DoorParts;
  readonly #socket: Socket;
  readonly #isUpgrade: boolean;
  readonly #path: string;
  readonly #body: ReadAhead;
  readonly #arrived = performance.now();
  /** Ends what is being served. */
  readonly #over = new AbortController();
  #hold: Hold | undefined;
  #hasLeft = false;
  /** Why it waits no longer. */
  #refusal: ProblemError | undefined;
  /** Whether its turn may begin to find out if the API is up. */
  #mayProbe = false;
  #ahead: Ahead | undefined;

  /** @param isUpgrade the server has handed over its connection */
  constructor(ctx: Context, parts: DoorParts, isUpgrade: boolean) {
    this.#ctx = ctx;
    this.#parts = parts;
    this.#socket = ctx.req.socket;
    this.#isUpgrade = isUpgrade;
    this.#path = pathOf(ctx.req.url ?? "");
    this.#body = new ReadAhead(isUpgrade ? this.#socket : ctx.req);
  }

  /** Answers it. @throws ProblemError if nothing of an answer has been written */
  async serve(): Promise<void> {
    const { api, door, gateway, served } = this.#parts;
    const { req } = this.#ctx;
    const stop = () => this.#over.abort();
    const unlisten = onHangUp(this.#socket, () => this.#leave());
    served.add(stop);
    try {
      const flaw = malformed(req);
      if (flaw !== undefined) throw malformedProblem(flaw);
      // Only below a path there is something that `..` could lead out of.
      if (gateway.upstream.target.pathname !== "/" && isUnsafePath(this.#path)) throw unsafePath();
      if (door.isDirect(req.method ?? "", this.#path)) await this.#pass();
      else await this.#takeTurn();
    } catch (error) {
      this.#body.stop();
      if (!this.#ahead) throw error;
      const isExpected = error instanceof ProblemError;
      if (!isExpected) api.log.error({ err: error, queue: gateway.queue }, "door: unexpected error; it ends a stream");
      const { status, code, message, extensions } = isExpected ? error : new ProblemError("internal");
      this.#ahead.fail({ status, document: problemDocument(code, message, extensions) });
    } finally {
      unlisten();
      served.delete(stop);
    }
  }

  #leave(): void {
    this.#hasLeft = true;
    void this.#hold?.leave();
  }

  #refuse(refusal: ProblemError): void {
    this.#refusal ??= refusal;
    void this.#hold?.leave();
  }

  async #takeTurn(): Promise<void> {
    const { api, gateway, door, holds, stopping } = this.#parts;
    const { queue } = gateway;
    const id: string = this.#ctx.state.requestId;
    const body = this.#isUpgrade ? undefined : await lookAtBody(this.#ctx, this.#body, door);
    if (this.#hasLeft) return this.#gone();
    if (stopping.aborted) throw stoppingProblem();
    const assembled = assembleSubmission(this.#ctx, api, {
      id,
      handler: gateway,
      options: { ...SUBMIT_DEFAULTS, presenceMs: holds.presenceMs },
      checked: {
        input: "null",
        mediaType: "application/json",
        value: described(this.#ctx, this.#path, body, door.readsBody),
      },
    });
    const hold = holds.add({ id, queue });
    this.#hold = hold;
    try {
      const verdict = await hold.submit({ ...assembled, byDoor: true });
      checkAccepted(this.#ctx, assembled, verdict);
      if (verdict.state === "waiting") this.#checkWait(verdict);
      this.#mayProbe = verdict.state === "waiting" || verdict.snapshot.resting;
      const isTold = this.#isTold(body?.value);
      do {
        const call = await this.#wait(hold, isTold);
        if (this.#hasLeft) return this.#gone();
        if (this.#refusal) throw this.#refusal;
        if (call === "gone") throw overProblem();
      } while (!(await this.#use(hold)));
    } catch (error) {
      // Whether it was stored may be unknown.
      void hold.leave();
      throw error;
    }
  }

  /** @throws ProblemError line-too-long if the wait is estimated to be longer than it may be */
  #checkWait({ snapshot, index }: SubmissionVerdict): void {
    const { maxWaitMs } = this.#parts.door;
    const eta = maxWaitMs === undefined ? null : estimate(snapshot, { state: "waiting", index }, 0);
    if (eta && maxWaitMs !== undefined && eta.seconds * 1000 > maxWaitMs) {
      const { queue } = this.#parts.gateway;
      throw new ProblemError("line-too-long", "The wait would be longer than this server lets anyone wait.", {
        extensions: { queue, index, eta },
        retryAfterS: pendingRetryAfterS(eta, null),
      });
    }
  }

  /** Whether it is told its place while it waits. */
  #isTold(body: unknown): boolean {
    const { req } = this.#ctx;
    if (this.#parts.door.speaks !== "openai" || this.#isUpgrade || req.method === "HEAD") return false;
    return isStreamed(this.#path, this.#ctx.get("Accept"), body);
  }

  /** Waits until the turn is called, or is not waited for any longer. */
  async #wait(hold: Hold, isTold: boolean): Promise<Call> {
    const { door, waiting, stopping } = this.#parts;
    const timers: NodeJS.Timeout[] = [];
    const after = (ms: number, call: () => void) =>
      timers.push(setTimeout(call, Math.max(0, this.#arrived + ms - performance.now())));
    const stop = () => this.#refuse(stoppingProblem());
    waiting.add(stop);
    // It may have stopped before.
    if (stopping.aborted) stop();
    const tooLong = () => this.#refuse(new ProblemError("line-too-long", undefined, { retryAfterS: UNKNOWN_PLACE_S }));
    if (door.maxWaitMs !== undefined) after(door.maxWaitMs, tooLong);
    let stopTelling: () => void = () => undefined;
    if (isTold) {
      after(AHEAD.afterMs, () => {
        stopTelling = this.#tellPlaces();
      });
    }
    const call = await hold.called();
    for (const timer of timers) clearTimeout(timer);
    stopTelling();
    waiting.delete(stop);
    return call;
  }

  /**
   * Begins the answer of a stream that waits, and tells its place until that is ended. Never rejects.
   * @returns what ends it
   */
  #tellPlaces(): () => void {
    const { watchers, gateway } = this.#parts;
    this.#ctx.respond = false;
    this.#ahead ??= new Ahead(this.#ctx.res, this.#own(false).flat());
    const ahead = this.#ahead;
    let watch: Watch | undefined;
    let isOver = false;
    const follow = async () => {
      watch = await watchers.watch({ id: this.#ctx.state.requestId, queue: gateway.queue });
      do if (!isOver && watch.seen?.state === "waiting") ahead.tell(watch.seen);
      while (!isOver && (await watch.next()));
      watch.stop();
    };
    // While the store is away, only what is known is repeated.
    follow().catch(() => isOver || ahead.tell());
    return () => {
      isOver = true;
      ahead.rest();
      watch?.stop();
    };
  }

  /** Uses the turn. Returns false if the API could not be reached: the turn was given back, and is waited for again. @throws ProblemError */
  async #use(hold: Hold): Promise<boolean> {
    const { api, gateway, breakers } = this.#parts;
    const onLost = () => this.#over.abort();
    hold.lost.addEventListener("abort", onLost);
    if (hold.lost.aborted) onLost();
    const turn = { queue: gateway.queue, fence: hold.fence, mayProbe: this.#mayProbe };
    const note = (seen: TargetState) => breakers.noteTurn(turn, seen, api.log);
    // An answer may last long: others need not wait for its end to learn that the API is up.
    const relayed = await this.#relay((status) => void note(targetWith(status)));
    hold.lost.removeEventListener("abort", onLost);
    const seen = targetWithout(relayed);
    const noted = seen && note(seen);
    if (relayed.how === "refused" && !relayed.timedOut) {
      // First, so that the circuit breaker keeps the next one from being called.
      await noted;
      await hold.giveBack();
      return false;
    }
    this.#end(hold, relayed);
    return true;
  }

  /** Ends a turn as its request has ended. @throws ProblemError if its caller is still to be answered */
  #end(hold: Hold, relayed: Relayed): void {
    if (relayed.how === "whole") {
      void hold.done(jsonAnswer(JSON.stringify({ status: relayed.status })));
      return;
    }
    if (relayed.how === "left") {
      void hold.leave();
      return this.#gone();
    }
    const problem = problemOf(relayed, hold.lost.aborted);
    const { status, code, message, extensions } = problem;
    void hold.failed(message, code, problemResult({ ...problemDocument(code, message, extensions), status }));
    if (!this.#isAnswered() || this.#ahead) throw problem;
  }

  /** Passes on a request that needs no turn. @throws ProblemError */
  async #pass(): Promise<void> {
    const relayed = await this.#relay();
    if (relayed.how === "whole") return;
    if (relayed.how === "left") return this.#gone();
    if (!this.#isAnswered()) throw problemOf(relayed, false);
  }

  /** Whether an answer has begun, perhaps on a connection that is an upgrade's and closed by now. */
  #isAnswered(): boolean {
    return this.#ctx.res.headersSent || this.#socket.destroyed;
  }

  /** Passes on the request, and the answer. @param answered in a turn: called with the status of the answer */
  async #relay(answered?: (status: number) => void): Promise<Relayed> {
    const { gateway, door } = this.#parts;
    const { req, res, state } = this.#ctx;
    const { sentIn } = accessOf(this.#ctx);
    const drop = new Set(sentIn === undefined ? [] : [sentIn]);
    // The bytes of an event stream that has begun follow as they are.
    if (this.#ahead) drop.add("accept-encoding");
    const id: HeaderField = ["X-Request-Id", state.requestId];
    const own = this.#own(answered !== undefined);
    const relayed = await relay(gateway.upstream, {
      request: req,
      response: res,
      body: this.#body,
      path: this.#path,
      headers: requestFields(req, {
        ...{ host: gateway.upstream.target.host, from: originOf(this.#ctx), drop },
        add: gateway.gateway.key ? [id, gateway.gateway.key] : [id],
      }),
      own,
      signal: this.#over.signal,
      timeoutMs: door.timeoutMs ?? null,
      ...(answered && { answered }),
      ...(this.#isUpgrade && { upgrade: this.#socket }),
      ...(this.#ahead && { begun: Ahead.instead }),
    });
    // The head of an upgrade is not the response's.
    if (relayed.how === "whole") res.statusCode = relayed.status;
    if (relayed.how === "whole" || this.#isAnswered()) this.#ctx.respond = false;
    return relayed;
  }

  /** Header fields of ours: those that were set until now, too. */
  #own(hasWaited: boolean): HeaderField[] {
    const { res, state } = this.#ctx;
    const own: HeaderField[] = [["X-Request-Id", state.requestId]];
    if (hasWaited) own.push(["X-Queue-Waited", ((performance.now() - this.#arrived) / 1000).toFixed(1)]);
    // With a raw list, a response leaves out what was set.
    for (const name of res.headersSent ? [] : res.getHeaderNames()) {
      own.push([name, String(res.getHeader(name))]);
    }
    return own;
  }

  /** Its caller has gone: there is nobody to answer. */
  #gone(): void {
    this.#ctx.respond = false;
    // For the log.
    if (!this.#ctx.res.headersSent) this.#ctx.res.statusCode = GONE;
    this.#body.stop();
    this.#socket.destroy();
  }
}
