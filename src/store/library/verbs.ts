/** Every verb under its name in the library. */

export { history, sample } from "../line/history.ts";
export { finished, page } from "../line/page.ts";
export { adjust, pause, queue, quiet, register } from "../line/queue.ts";
export { reserve, unreserve } from "../line/reserve.ts";
export { heartbeat, workers } from "../line/worker.ts";
export { claim, libraries, probe } from "../ops/deployment.ts";
export {
  deploys,
  events,
  full,
  incidents,
  losses,
  lostWorkers,
  note,
  overdue,
  present,
  room,
  tellIncidents,
  watchIncidents,
  workerLost,
} from "../ops/event.ts";
export { keyUses, noteKeyUses } from "../ops/key-use.ts";
export { home, point, repoint } from "../ops/pointer.ts";
export { tick } from "../ops/tick.ts";
export { verify } from "../ops/verify.ts";
export { cancel, cancelAndInspect, deleteDead, move, retry } from "../task/actions.ts";
export { attemptLog, output, progress, step, write } from "../task/attempt.ts";
export { complete } from "../task/complete.ts";
export { attend } from "../task/deadlines.ts";
export { fail } from "../task/fail.ts";
export { details, inspect, lifetimes, watch } from "../task/inspect.ts";
export { begin, lose, release, renew } from "../task/lease.ts";
export { again, submit, update } from "../task/submit.ts";
