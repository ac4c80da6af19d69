import { z } from "zod";
import type { Duration } from "./duration.ts";
import { defineHandler, type Handler, type TaskContext } from "./handler.ts";
import { giveUp, retryLater } from "./intent.ts";

/** Methods that may be sent again without doing their work twice (RFC 9110 §9.2.2). */
const IDEMPOTENT = new Set(["GET", "HEAD", "PUT", "DELETE", "OPTIONS"]);
/** What a gateway forwards unless it is told otherwise. */
export const GATEWAY_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;
export type GatewayMethod = (typeof GATEWAY_METHODS)[number];

/**
 * Headers that are not forwarded: those of one connection (RFC 9110 §7.6.1), those that speak to this server, and secrets,
 * which would also be stored with the task.
 */
const NOT_FORWARDED = new Set([
  ...["connection", "keep-alive", "proxy-connection", "transfer-encoding", "te", "trailer", "upgrade", "expect"],
  ...["host", "content-length", "prefer", "priority", "x-request-id", "idempotency-key"],
  ...["authorization", "cookie", "proxy-authorization", "proxy-authenticate"],
]);

/** A request as it waits in line. */
export const gatewayRequest = z.strictObject({
  method: z.enum(GATEWAY_METHODS),
  /** Path and query below the target, beginning with a slash. */
  path: z.string().startsWith("/").max(8192),
  headers: z.record(z.string(), z.string()),
  /** Base64; absent without a body. */
  body: z.base64().optional(),
});
export type GatewayRequest = z.infer<typeof gatewayRequest>;

/** What {@link defineGateway} takes. */
export interface GatewayOptions {
  /** Name of the queue, as of a handler. */
  queue: string;
  /** Base URL of the API behind the line, http or https; the path of a request is put behind it. */
  target: string;
  /** Default: all of {@link GATEWAY_METHODS}. */
  methods?: readonly GatewayMethod[];
  /** Longest time of one attempt; default 30 s. */
  timeout?: Duration;
  /** Attempts of idempotent methods; default ATTEMPTS. Others are tried once. */
  attempts?: number;
  concurrency?: number;
  rate?: { max: number; per: Duration };
}

/** A handler that was made by {@link defineGateway}. */
export interface Gateway extends Handler<GatewayRequest> {
  readonly gateway: { readonly methods: readonly GatewayMethod[] };
}

/**
 * Puts an existing HTTP API behind a line: `ANY /v1/gateway/{queue}/…` is forwarded when its turn comes, and its answer is the
 * result. Where the method is idempotent, a 5xx, a 429 with Retry-After and a connection that fails are tried again.
 * @throws TypeError that names the option, its value and what was expected
 */
export function defineGateway(options: GatewayOptions): Gateway {
  const { target, methods = GATEWAY_METHODS, queue } = options;
  if (!URL.canParse(target) || !/^https?:$/.test(new URL(target).protocol)) {
    throw new TypeError(
      `gateway of queue ${JSON.stringify(queue)}: target is ${JSON.stringify(target)}, expected an http or https URL`,
    );
  }
  const base = target.replace(/\/+$/, "");
  const handler = defineHandler<GatewayRequest>({
    queue,
    input: gatewayRequest,
    timeout: options.timeout ?? "30s",
    ...(options.attempts === undefined ? {} : { attempts: options.attempts }),
    ...(options.concurrency === undefined ? {} : { concurrency: options.concurrency }),
    ...(options.rate === undefined ? {} : { rate: options.rate }),
    run: (request, task) => forward(base, request, task),
  });
  return { ...handler, gateway: { methods } };
}

/** Whether a handler is a gateway. */
export function isGateway(handler: Handler): handler is Gateway {
  return "gateway" in handler;
}

/** The headers of a request that go on to the API behind the line. */
export function forwardedHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string> {
  // What Connection names belongs to that connection as well.
  const named = String(headers.connection ?? "")
    .toLowerCase()
    .split(/\s*,\s*/);
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || NOT_FORWARDED.has(name) || named.includes(name) ? [] : [[name, String(value)]],
    ),
  );
}

async function forward(base: string, request: GatewayRequest, task: TaskContext): Promise<Response> {
  const again = IDEMPOTENT.has(request.method);
  const url = new URL(`${base}${request.path}`);
  // "/../" or "//host" in a path must not lead out of the target.
  if (!url.href.startsWith(`${new URL(base).href.replace(/\/$/, "")}/`)) {
    throw giveUp({
      status: 400,
      title: "The path leads out of the gateway's target",
      detail: request.path.slice(0, 200),
    });
  }
  let response: Response;
  try {
    response = await fetch(url, {
      method: request.method,
      headers: { ...request.headers, "x-request-id": task.id },
      body: request.body === undefined ? null : Buffer.from(request.body, "base64"),
      redirect: "manual",
      signal: task.signal,
    });
  } catch (error) {
    task.signal.throwIfAborted();
    // It may have been done all the same: only what can bear it is sent again.
    if (again && task.attempt < task.maxAttempts) throw error;
    task.log.warn({ err: error }, "the API behind the gateway did not answer");
    throw giveUp({ status: 502, title: "The API behind the gateway did not answer" });
  }
  const after = retryAfterMs(response.headers.get("retry-after"), Date.now());
  if (again && response.status === 429 && after !== undefined) throw retryLater(Math.min(after, 3_600_000));
  if (again && response.status >= 500 && task.attempt < task.maxAttempts) {
    await response.body?.cancel();
    throw new Error(`the API behind the gateway answered ${response.status}`);
  }
  // fetch has undone the content coding: what says so must not be passed on.
  const headers = new Headers(response.headers);
  for (const name of ["content-encoding", "content-length"]) headers.delete(name);
  const empty = request.method === "HEAD" || response.status === 204 || response.status === 304;
  return new Response(empty ? null : response.body, { status: response.status, headers });
}

/** A Retry-After in ms from now (RFC 9110 §10.2.3); undefined where there is none that can be read. */
function retryAfterMs(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined;
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}
