import { type IncomingMessage, validateHeaderName, validateHeaderValue } from "node:http";
import { backoffMs } from "../../backoff.ts";
import { type Duration, parseDuration } from "../../config/duration.ts";
import {
  defineHandler,
  type FairOptions,
  type Handler,
  type KeyedOptions,
  type LimitOptions,
} from "../../handler/define.ts";
import { giveUp, retryLater } from "../../handler/intents.ts";
import type { HandlerOptions } from "../../handler/options.ts";
import { BODILESS, type HeaderField } from "../../handler/result-headers.ts";
import type { TaskContext } from "../../handler/task-context.ts";
import { retryAfterMs } from "../../net/retry-after.ts";
import { quotedUrl } from "../../redact.ts";
import { HEADED_TYPE } from "../../task.ts";
import { noteTarget } from "./circuit-breakers.ts";
import { type DoorOptions, type DoorSettings, doorSettings } from "./door/options.ts";
import { Exchange, type Forwarder, isFirst, unanswered } from "./exchange.ts";
import { answerHeaders, forwardedHeaders, forwardList } from "./headers.ts";
import {
  GATEWAY_METHODS,
  type GatewayMethod,
  type GatewayRequest,
  isUnsafePath,
  readRequest,
  type StoredRequest,
} from "./request.ts";
import { Upstream } from "./upstream.ts";

/** The route of a gateway, as the router writes it. */
export const GATEWAY_PATH = "/v1/gateway/:queue";

/** The path of a gateway. */
export const gatewayPath = (queue: string): string => GATEWAY_PATH.replace(":queue", () => queue);

/** Idempotent methods, which may be retried (RFC 9110 §9.2.2). */
const IDEMPOTENT: ReadonlySet<string> = new Set(["GET", "HEAD", "PUT", "DELETE"]);
/** The status that says that an API is down (RFC 9110 §15.6.4). */
const DOWN = 503;

/** How a 429 with Retry-After postpones a task; after this many times it becomes the result. */
const PUT_OFF = { times: 100, backoff: { baseMs: 1000, maxMs: 60_000 }, maxMs: 3_600_000 } as const;
const TIMEOUT_MS = 30_000;
/** How much longer the timeout of the task is than that of the gateway's request, ms. */
const TIMEOUT_GRACE_MS = 5000;

/** The options of {@link defineGateway}. */
export interface GatewayOptions extends DoorOptions {
  /** Name of the queue, as for a handler. */
  queue: string;
  /** Base URL of the API, http or https; the path and query of a request are appended as they were sent. */
  target: string;
  /** Default: all of {@link GATEWAY_METHODS}. */
  methods?: readonly GatewayMethod[];
  /**
   * Names of the only headers that are forwarded, besides `Content-Type`, `Content-Encoding`, `Content-Language`,
   * `Idempotency-Key`
   * and what the gateway sets; secret ones are then stored with the request. Default: all except secret ones and those of
   * proxies.
   */
  forward?: readonly string[];
  /**
   * Longest time of one attempt, to the end of the response; default 30 s. At the door, from the turn to the head of the response; default: any
   * time.
   */
  timeout?: Duration;
  /** Attempts of requests that may be sent again; default ATTEMPTS. Others are sent once. */
  attempts?: number;
  /**
   * Whether a request is canceled when its caller hangs up while waiting for the response: it leaves the line, or its request to the API is
   * aborted. Not with an Idempotency-Key, with `Prefer`, or while someone else waits for it. Default: only a POST.
   */
  hangUpCancels?: boolean;
  /** How many requests the API gets at once, over all processes and both ways in; default: with a door 1, otherwise any number. */
  slots?: number;
  /** What the API wants from its callers, if anything: a token, which goes into `Authorization: Bearer`, or any header. */
  key?: string | { header: string; value: string };
  /** What people call a request, up to 64 characters; default: its method and path. */
  label?: (request: GatewayRequest) => string;
  concurrency?: number;
  rate?: { max: number; per: Duration };
  /**
   * Shares the line among callers (true) or other line keys, as for a handler; `by` gets the request.
   */
  fair?: boolean | FairOptions<GatewayRequest>;
  /** Sends the requests with one line key one after the other, as for a handler; `by` gets the request. */
  keyed?: KeyedOptions<GatewayRequest>;
  /** Refuses or holds requests above the limits of one caller, as for a handler; `by` gets the request. */
  limit?: LimitOptions<GatewayRequest>;
}

/** A handler made by {@link defineGateway}. */
export interface Gateway extends Handler<GatewayRequest> {
  readonly gateway: {
    readonly methods: readonly GatewayMethod[];
    /** The headers that are forwarded, in lower case; absent: all except secret ones and those of proxies. */
    readonly forward?: ReadonlySet<string>;
    readonly hangUpCancels?: boolean;
    /** The header with the API's own key. */
    readonly key?: HeaderField;
  };
  readonly upstream: Upstream;
  readonly door?: DoorSettings & {
    /** Longest time from a turn to the head of the response; undefined: any time. */
    readonly timeoutMs: number | undefined;
    /** Whether its functions may want the body of a request. */
    readonly readsBody: boolean;
  };
}

/**
 * Puts an existing HTTP API behind a queue: a request to `/v1/gateway/{queue}/…` is forwarded when its turn comes, and the
 * response is the result. If the method is idempotent or the request has an Idempotency-Key, it is retried after a 5xx, a 429
 * with Retry-After, or a failed connection; any other request is sent at most once.
 * @throws TypeError that names the option, its value and what was expected
 */
export function defineGateway(options: GatewayOptions): Gateway {
  const { methods = GATEWAY_METHODS, queue } = options;
  if (methods.length === 0 || !methods.every((method) => GATEWAY_METHODS.includes(method))) {
    throw new TypeError(
      `gateway of queue ${JSON.stringify(queue)}: methods is ${JSON.stringify(methods)}, expected some of ${GATEWAY_METHODS.join(", ")}`,
    );
  }
  if ("batch" in options) {
    throw new TypeError(
      `gateway of queue ${JSON.stringify(queue)}: batch is not for gateways, which send one request at a time`,
    );
  }
  const { hangUpCancels } = options;
  if (hangUpCancels !== undefined && typeof hangUpCancels !== "boolean") {
    throw new TypeError(
      `gateway of queue ${JSON.stringify(queue)}: hangUpCancels is ${JSON.stringify(hangUpCancels)}, expected true or false`,
    );
  }
  const wrong = (option: string, value: unknown, expected: string) =>
    new TypeError(
      `gateway of queue ${JSON.stringify(queue)}: ${option} is ${JSON.stringify(value)}, expected ${expected}`,
    );
  const door = doorSettings(options, wrong);
  const key = options.key === undefined ? undefined : keyField(options.key, queue);
  const slots = options.slots ?? (door ? 1 : undefined);
  const gateway = {
    methods,
    ...(key && { key }),
    ...(hangUpCancels !== undefined && { hangUpCancels }),
    ...(options.forward !== undefined && {
      forward: forwardList(options.forward, `gateway of queue ${JSON.stringify(queue)}`),
    }),
  };
  // An invalid duration is refused by defineHandler.
  const timeoutMs = parseDuration(options.timeout ?? TIMEOUT_MS);
  const upstream = new Upstream(targetOf(options));
  const forwarder = { upstream, ...gateway, timeoutMs: timeoutMs ?? TIMEOUT_MS };
  const handler = defineHandler<GatewayRequest>({
    queue,
    consumes: [HEADED_TYPE],
    timeout: timeoutMs ? timeoutMs + TIMEOUT_GRACE_MS : (options.timeout ?? TIMEOUT_MS),
    ...(options.attempts === undefined ? {} : { attempts: options.attempts }),
    ...concurrencyOf(options.concurrency, slots),
    label: options.label ?? (({ method, path }) => `${method} ${path.split("?", 1)[0]}`),
    ...(options.rate === undefined ? {} : { rate: options.rate }),
    ...(options.fair === undefined ? {} : { fair: options.fair }),
    ...(options.keyed === undefined ? {} : { keyed: options.keyed }),
    ...(options.limit === undefined ? {} : { limit: options.limit }),
    run: (input: unknown, task) => forward(forwarder, readRequest(input), task),
  });
  const { fair, keyed, limit, label } = options;
  const readsBody = label !== undefined || keyed !== undefined || limit?.by !== undefined || typeof fair === "object";
  return {
    ...handler,
    ...{ gateway, upstream, entrance: `${gatewayPath(queue)}/`, gated: true },
    ...(door && {
      door: { ...door, readsBody, timeoutMs: options.timeout === undefined ? undefined : timeoutMs },
      turns: { longestMs: door.longestMs, all: false },
    }),
  };
}

/** The slots of each worker process, and of all together. */
function concurrencyOf(
  each: number | undefined,
  total: number | undefined,
): Pick<HandlerOptions<GatewayRequest>, "concurrency"> {
  if (total === undefined) return each === undefined ? {} : { concurrency: each };
  return { concurrency: { ...(each !== undefined && { each }), total } };
}

/** A token of the characters that `Authorization: Bearer` takes (RFC 6750 §2.1). */
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

/** The header with the API's own key. @throws TypeError that does not repeat the key */
function keyField(key: NonNullable<GatewayOptions["key"]>, queue: string): HeaderField {
  const error = (expected: string) =>
    new TypeError(`gateway of queue ${JSON.stringify(queue)}: key: expected ${expected}`);
  if (typeof key === "string") {
    if (!TOKEN.test(key))
      throw error("a token of letters, digits and . _ ~ + / - =, such as process.env.API_KEY when that is set");
    return ["Authorization", `Bearer ${key}`];
  }
  const { header, value } = key ?? {};
  try {
    validateHeaderName(header);
    validateHeaderValue(header, value);
  } catch {
    throw error("a token, or { header, value } as they can be sent");
  }
  return [header, value];
}

/** @throws TypeError */
function targetOf({ queue, target }: GatewayOptions): URL {
  const url = URL.canParse(target) ? new URL(target) : undefined;
  const plain = url && url.username === "" && url.password === "" && url.search === "" && url.hash === "";
  if (!plain || !/^https?:$/.test(url.protocol)) {
    throw new TypeError(
      `gateway of queue ${JSON.stringify(queue)}: target is ${quotedUrl(target)}, expected an http or https URL without credentials, query and fragment`,
    );
  }
  return url;
}

/** Whether a handler is a gateway. */
export function isGateway(handler: Handler): handler is Gateway {
  return "gateway" in handler;
}

async function forward(forwarder: Forwarder, request: StoredRequest, task: TaskContext): Promise<Response> {
  const { method, path, headers: kept } = request.head;
  // It was checked when it was stored, but perhaps with other options.
  if (!forwarder.methods.includes(method)) {
    throw giveUp({ status: 405, title: "The gateway does not support this method" });
  }
  if (isUnsafePath(path)) throw giveUp({ status: 400, title: "The path may lead out of the gateway's target" });
  const sent = forwardedHeaders(kept, forwarder.forward);
  const repeatable = IDEMPOTENT.has(method) || sent["idempotency-key"] !== undefined;
  // After the death of a worker, the next one must know that the request may have been sent.
  const exchange = new Exchange(forwarder, task, repeatable);
  if (!repeatable && !(await exchange.connect()))
    throw unanswered("An earlier attempt ended before its response arrived.", { sent: true });
  const answer = await exchange.ask(request, sent);
  const status = answer.statusCode ?? 0;
  noteTarget(task, { state: status === DOWN ? "down" : "up", reason: `status ${status}`, repeatable });
  const again = repeatable ? await whenAgain(answer, task) : undefined;
  const isStatus = status >= 200 && status <= 599;
  if (again !== undefined || !isStatus) {
    answer.destroy();
    throw again === undefined ? exchange.failed(`It answered with the status ${status}.`) : exchange.ended(again);
  }
  const headers = answerHeaders(answer);
  if (method !== "HEAD" && !BODILESS.has(status)) return new Response(exchange.body(answer), { status, headers });
  exchange.ended(answer.resume());
  return new Response(null, { status, headers });
}

/** For a repeatable request: the error to throw if its response calls for a retry; undefined if the response is final. */
async function whenAgain(answer: IncomingMessage, task: TaskContext): Promise<Error | undefined> {
  const status = answer.statusCode ?? 0;
  if (status >= 500 && status <= 599 && task.attempt < task.maxAttempts) {
    return new Error(`the API behind the gateway answered ${status}`);
  }
  if (status !== 429) return undefined;
  const askedMs = retryAfterMs(answer.headers["retry-after"], { nowMs: Date.now(), maxMs: PUT_OFF.maxMs });
  for (let n = 0; askedMs !== undefined && n < PUT_OFF.times; n += 1) {
    if (!(await isFirst(task, `put off ${n}`))) continue;
    // Never at once, even for `Retry-After: 0`, which would only get another 429.
    return retryLater(Math.max(askedMs, backoffMs(PUT_OFF.backoff, n + 1)));
  }
  return undefined;
}
