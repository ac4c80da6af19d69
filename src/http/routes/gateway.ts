import type Router from "@koa/router";
import type { Context } from "koa";
import { PaihaoError } from "../../errors.ts";
import { forwardedHeaders, GATEWAY_METHODS, type GatewayRequest, isGateway } from "../../gateway.ts";
import { callerOf } from "../access.ts";
import type { Api } from "../api.ts";
import { readBytes } from "../body.ts";
import { currentId } from "../middleware/correlate.ts";
import { urgencyOf } from "../priority.ts";
import { checkIdempotencyKey } from "../request-id.ts";
import { handIn, handlerOf } from "./submit.ts";

/** Routes of existing HTTP APIs behind a line. */
export function gatewayRoutes(router: Router, api: Api): void {
  const methods = [...GATEWAY_METHODS];
  router.register(["/v1/gateway/:queue", "/v1/gateway/:queue/{*path}"], methods, (ctx) => enter(ctx, api));
}

/** Puts the request into the line; its answer is the result, whether it is waited for or collected. */
async function enter(ctx: Context, api: Api): Promise<void> {
  const queue: string = ctx.params.queue ?? "";
  const handler = handlerOf(api, queue);
  if (!isGateway(handler))
    throw new PaihaoError("unknown-queue", "The queue is no gateway.", { extensions: { queue } });
  const method = handler.gateway.methods.find((m) => m === ctx.method);
  if (!method) {
    throw new PaihaoError("method-not-allowed", undefined, { headers: { Allow: handler.gateway.methods.join(", ") } });
  }
  checkIdempotencyKey(ctx.headers);
  const [figures] = await api.engine.figures([queue]);
  if (figures?.line.paused) throw new PaihaoError("queue-paused", undefined, { extensions: { queue } });
  const body = await readBytes(ctx.req, api.maxBodyBytes);
  // The path as it was sent: decoding and encoding it again might make another one of it.
  const [, rest = ""] = /^\/v1\/gateway\/[^/?]+(.*)$/.exec(ctx.originalUrl) ?? [];
  const request: GatewayRequest = {
    method,
    path: rest.startsWith("/") ? rest : `/${rest}`,
    headers: forwardedHeaders(ctx.headers),
    ...(body.length > 0 && { body: body.toString("base64") }),
  };
  await handIn(
    ctx,
    api,
    {
      id: currentId(),
      queue,
      input: JSON.stringify(request),
      mediaType: "application/json",
      query: {},
      caller: callerOf(ctx),
      priority: urgencyOf(ctx.get("Priority")),
      delayMs: 0,
      maxIndex: null,
      dryRun: false,
      webhook: null,
    },
    { put: false },
  );
}
