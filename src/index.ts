export { defineGateway, type Gateway, type GatewayOptions } from "./gateway.ts";
export {
  defineHandler,
  giveUp,
  type Handler,
  type HandlerOptions,
  type HandlerResult,
  type Problem,
  retryLater,
  type TaskContext,
} from "./handler.ts";
