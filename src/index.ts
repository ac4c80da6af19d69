export { defineGateway, type Gateway, type GatewayOptions } from "./extras/gateway/gateway.ts";
export {
  type BatchHandlerOptions,
  type BatchOptions,
  defineHandler,
  type FairOptions,
  type Handler,
  type HandlerOptions,
  type HandlerResult,
  type KeyedOptions,
  type LimitOptions,
  type ScheduleOptions,
} from "./handler/define.ts";
export { giveUp, type Problem, retryLater } from "./handler/intents.ts";
export type { SubmittedTask, TaskContext } from "./handler/task-context.ts";
export { defineTurns, type TurnsOptions } from "./handler/turns.ts";
export type { DoneStep, UndoAllContext, UndoContext, Undos, UndoTask } from "./handler/undos.ts";
export { type Server, type StartOptions, start } from "./library.ts";
