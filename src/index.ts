export { defineGateway, type Gateway, type GatewayOptions } from "./gateway.ts";
export { defineHandler, type Handler, type HandlerOptions, type HandlerResult, type TaskContext } from "./handler.ts";
export { giveUp, type Problem, retryLater } from "./intent.ts";
