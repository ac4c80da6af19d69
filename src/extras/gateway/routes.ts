import { isIP } from "node:net";
import type { Context } from "koa";
import { ProblemError } from "../../errors.ts";
import type { Api } from "../../http/api.ts";
import { checkIdempotencyKey, isKeyed, requestId } from "../../http/headers/request-id.ts";
import { submitParameters } from "../../http/openapi/parameters.ts";
import { RESULTS, responseRef } from "../../http/openapi/responses.ts";
import { readBytes } from "../../http/request/body.ts";
import { hostOf, schemeOf, withoutPort } from "../../http/request/forwarded.ts";
import { handlerOf } from "../../http/request/queue.ts";
import { type Route, SUBMIT } from "../../http/route.ts";
import { assembleSubmission } from "../../http/submit/submission.ts";
import { submitAndAnswer } from "../../http/submit/submit.ts";
import { readSubmitOptions } from "../../wire/submission.ts";
import { GATEWAY_PATH, type Gateway, gatewayPath, isGateway } from "./gateway.ts";
import { forwardedHeaders } from "./headers.ts";
import { GATEWAY_METHODS, identityOf, isUnsafePath, type RequestHead, requestInput, shownRequest } from "./request.ts";

/** Existing HTTP APIs behind a queue. */
export function gatewayRoutes(api: Api): readonly Route[] {
  const route = (name: string, path: string): Route => ({
    ...{ name, method: [...GATEWAY_METHODS, "OPTIONS"], path, scopes: SUBMIT },
    ...{ submits: "under the caller's key", effects: true, forwards: true, tag: "Gateway" },
    summary: "Forward the request when its turn comes; the response is the result",
    description:
      "A POST or PATCH without an Idempotency-Key is sent to the target at most once; if it does not respond: 502 with `mayHaveBeenCarriedOut`. A path with a segment `..`, in any form, is refused.",
    parameters: submitParameters(api, (parameter) => parameter.in === "header"),
    body: { content: { "*/*": {} } },
    answers: { ...RESULTS, "202": responseRef("Accepted") },
    run: (ctx) => enter(ctx, api),
  });
  return [route("gateway", GATEWAY_PATH), route("gatewayPath", `${GATEWAY_PATH}/{*path}`)];
}

/** Submits a request as a task, whose result is the API's response. */
async function enter(ctx: Context, api: Api): Promise<void> {
  if (ctx.method === "OPTIONS") {
    ctx.set("Allow", GATEWAY_METHODS.join(", "));
    ctx.status = 200;
    ctx.body = "";
    return;
  }
  const queue: string = ctx.params.queue ?? "";
  const handler = handlerOf(api, queue);
  if (!isGateway(handler))
    throw new ProblemError("unknown-queue", "The queue is not a gateway.", { extensions: { queue } });
  await storeRequest(ctx, api, handler, forwardedPath(ctx));
}

/**
 * Submits a request as a task, and answers as Prefer asks.
 * @param path path and query for the API, as they were sent
 */
export async function storeRequest(ctx: Context, api: Api, handler: Gateway, path: string): Promise<void> {
  const { queue } = handler;
  const method = handler.gateway.methods.find((m) => m === ctx.method);
  if (!method) {
    throw new ProblemError("method-not-allowed", undefined, { headers: { Allow: handler.gateway.methods.join(", ") } });
  }
  checkIdempotencyKey(ctx.headers);
  const [figures] = await api.engine.queues.figures([queue]);
  if (figures?.snapshot.paused) throw new ProblemError("queue-paused", undefined, { extensions: { queue } });
  const body = await readBytes(ctx.req, api.maxBodyBytes);
  const headers = forwardedHeaders(ctx.headers, handler.gateway.forward);
  const request = { head: { method, path, headers, from: originOf(ctx) }, body };
  const submission = assembleSubmission(ctx, api, {
    id: requestId(ctx),
    identity: identityOf(request),
    handler,
    // The query belongs to the API behind the gateway.
    options: readSubmitOptions("", ctx.headers),
    checked: { ...requestInput(request), value: shownRequest(request) },
  });
  const { hangUpCancels = method === "POST" } = handler.gateway;
  await submitAndAnswer(ctx, api, submission, { put: false, hangUpCancels: hangUpCancels && !isKeyed(ctx.headers) });
}

/** `origin-form` or `absolute-form` (RFC 9112 §3.2). */
const TARGET = new RegExp(`^(?:[a-z][a-z0-9+.-]*://[^/?#]*)?${gatewayPath("[^/?#]+")}(.*)$`, "i");

/**
 * Path and query below the gateway, exactly as they were sent: decoding and re-encoding might change them.
 * @throws ProblemError invalid-parameter
 */
function forwardedPath(ctx: Context): string {
  const rest = TARGET.exec(ctx.originalUrl)?.[1];
  const path = rest?.startsWith("/") ? rest : `/${rest}`;
  if (rest !== undefined && !isUnsafePath(path)) return path;
  throw unsafePath();
}

/** The refusal of a path that might lead out of the target. */
export function unsafePath(): ProblemError {
  return new ProblemError(
    "invalid-parameter",
    "The path contains a segment `..`, perhaps encoded, or invalid characters.",
    {
      extensions: { parameter: "path" },
    },
  );
}

/** How the request reached this server; forwarding headers count only if the proxy is trusted. */
export function originOf(ctx: Context): RequestHead["from"] {
  const [address, host] = [withoutPort(ctx.ip), hostOf(ctx)];
  return {
    version: ctx.req.httpVersion,
    ...(isIP(address) !== 0 && { address: address.replace(/^::ffff:(?=\d+\.)/i, "") }),
    proto: schemeOf(ctx),
    ...(/^[\w.:[\]-]{1,255}$/.test(host) && { host }),
  };
}
