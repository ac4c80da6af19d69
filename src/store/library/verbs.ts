/** Every verb under its name in the library. */

export { history, sample } from "../line/history.ts";
export { finished, page } from "../line/page.ts";
export { adjust, pause, queue, quiet } from "../line/queue.ts";
export { register } from "../line/register.ts";
export { reserve, unreserve } from "../line/reserve.ts";
export { heartbeat, workers } from "../line/worker.ts";
export { claim, libraries } from "../ops/deployment.ts";
export { events, full, losses, lostWorkers, note, overdue, present, room, workerLost } from "../ops/event.ts";
export { home, point, repoint } from "../ops/pointer.ts";
export { probe } from "../ops/probe.ts";
export { tick } from "../ops/tick.ts";
export { verify } from "../ops/verify.ts";
export { again } from "../task/again.ts";
export { attemptLog } from "../task/attempt-log.ts";
export { attend } from "../task/attend.ts";
export { cancel, cancelAndInspect } from "../task/cancel.ts";
export { complete } from "../task/complete.ts";
export { deleteDead, retry } from "../task/dead.ts";
export { details } from "../task/details.ts";
export { fail } from "../task/fail.ts";
export { inspect, lifetimes, watch } from "../task/inspect.ts";
export { begin, lose, release, renew } from "../task/lease.ts";
export { move } from "../task/move.ts";
export { output, progress, write } from "../task/output.ts";
export { step } from "../task/step.ts";
export { submit } from "../task/submit.ts";
export { update } from "../task/update.ts";
