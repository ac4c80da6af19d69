import type { HandlerEnd } from "../../engine/tasks/attempt-end.ts";
import type { Handler } from "../../handler/define.ts";
import type { Attempt } from "../attempt/attempt.ts";

/** Where handlers run. */
export interface Executor {
  /** Runs the handler of an attempt. Never rejects. */
  execute(attempt: Attempt, handler: Handler): HandlerEnd | Promise<HandlerEnd>;
  /** Ends the processes that it has started, with the handlers in them. Idempotent. */
  stop(): Promise<void>;
}

/** Ends the wait for an overdue handler. */
export type Leave = () => void;

/**
 * Waits for the end of a handler; never rejects.
 * @param onOverdue decides how long to wait for an overdue handler; may return a timer, which is cleared at the end. Called again if the
 * lease is lost after that.
 */
export function awaitEnd(
  attempt: Attempt,
  end: Promise<HandlerEnd>,
  onOverdue: (leave: Leave) => NodeJS.Timeout | undefined,
): Promise<HandlerEnd> {
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    let over = false;
    const finish = (how: HandlerEnd) => {
      over = true;
      clearTimeout(timer);
      resolve(how);
    };
    attempt.whenAborted(() => {
      if (over) return;
      clearTimeout(timer);
      timer = setTimeout(() => {
        timer = onOverdue(() => finish({ kind: "overdue" }));
      }, attempt.graceMs);
    });
    void end.then(finish);
  });
}

/**
 * Waits until a handler can start; returns at once if its signal fires before, since nothing has begun then.
 * @throws what `ready` throws
 */
export function started(attempt: Attempt, ready: Promise<void>): Promise<HandlerEnd | undefined> {
  return new Promise((resolve, reject) => {
    attempt.whenAborted(() => resolve({ kind: "overdue" }));
    ready.then(() => resolve(undefined), reject);
  });
}
