export { defineGateway, type Gateway, type GatewayOptions } from "./gateway.ts";
export {
  type DoneStep,
  defineHandler,
  type Handler,
  type HandlerOptions,
  type HandlerResult,
  type TaskContext,
  type UndoAllContext,
  type UndoContext,
  type Undos,
  type UndoTask,
} from "./handler.ts";
export { giveUp, type Problem, retryLater } from "./intent.ts";
