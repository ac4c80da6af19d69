import { PaihaoError } from "../errors.ts";
import type { Handler } from "../handler/define.ts";
import { isGateway } from "../handler/gateway/gateway.ts";
import { isQueueName } from "../task.ts";
import type { Api } from "./api.ts";
import { gatewayRoutes } from "./gateway/routes.ts";
import { pathTo } from "./routes.ts";

const gatewayPath = pathTo(gatewayRoutes.gateway);

/** The handler of a queue. @throws PaihaoError unknown-queue */
export function handlerOf(api: Pick<Api, "handlers">, queue: string): Handler {
  const handler = isQueueName(queue) ? api.handlers.get(queue) : undefined;
  if (!handler) throw new PaihaoError("unknown-queue", undefined, { extensions: { queue: queue.slice(0, 64) } });
  return handler;
}

/**
 * Whether this handler takes inputs. A gateway's does not: only its own route makes the requests that it forwards, and decides what of
 * them goes on to the API behind it.
 */
export function takesInputs(handler: Handler | undefined): handler is Handler {
  return handler !== undefined && !isGateway(handler);
}

/** The handler of a queue that takes inputs. @throws PaihaoError unknown-queue */
export function inputHandlerOf(api: Pick<Api, "handlers">, queue: string): Handler {
  const handler = handlerOf(api, queue);
  if (takesInputs(handler)) return handler;
  throw new PaihaoError("unknown-queue", `The queue is a gateway: it takes requests at ${gatewayPath(queue)}/ alone.`, {
    extensions: { queue },
  });
}

/**
 * The name of a queue that is looked at or looked after: also one of the server's own, of other processes, or without a handler in any.
 * @throws PaihaoError unknown-queue
 */
export function shownQueue(api: Pick<Api, "handlers" | "engine">, queue: string): string {
  return api.engine.queues.has(queue) ? queue : handlerOf(api, queue).queue;
}
