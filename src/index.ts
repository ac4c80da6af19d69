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
