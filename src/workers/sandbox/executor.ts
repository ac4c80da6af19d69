import type { AbortCause, HandlerEnd } from "../../engine/attempt/attempt-end.ts";
import type { Handler } from "../../handler/define.ts";
import type { Attempt } from "../attempt/attempt.ts";

/** Where handlers run. */
export interface Executor {
  /** Runs the handler of an attempt. Never rejects. */
  execute(attempt: Attempt, handler: Handler): HandlerEnd | Promise<HandlerEnd>;
  /** Ends the processes that it has started, with the handlers in them. Idempotent. */
  stop(): Promise<void>;
}

/** How long a handler may go on after its signal has fired, ms; then it is overdue. */
const GRACE_MS: Readonly<Record<AbortCause, number>> = {
  timeout: 2000,
  canceled: 2000,
  deadline: 2000,
  abandoned: 2000,
  "lease-lost": 2000,
  shutdown: 500,
};

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
      timer = setTimeout(
        () => {
          timer = onOverdue(() => finish({ kind: "overdue" }));
        },
        GRACE_MS[attempt.aborted ?? "shutdown"],
      );
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
