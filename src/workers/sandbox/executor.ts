import type { AbortCause, HandlerEnd } from "../../engine/attempt/attempt-end.ts";
import type { Handler } from "../../handler/define.ts";
import type { Attempt } from "../attempt/attempt.ts";

/** Where handlers run. */
export interface Executor {
  /** Runs the handler of an attempt. Never rejects. */
  execute(attempt: Attempt, handler: Handler): HandlerEnd | Promise<HandlerEnd>;
  /** Ends what it has started; idempotent. What still runs there ends with it. */
  stop(): Promise<void>;
}

/** How long a handler may go on after its signal has fired, ms; then it is overdue. */
const GRACE_MS: Readonly<Record<AbortCause, number>> = {
  timeout: 2000,
  canceled: 2000,
  deadline: 2000,
  "lease-lost": 2000,
  shutdown: 500,
};

/** Ends the wait for a handler that is overdue. */
export type Leave = () => void;

/**
 * Waits for the end of a handler, which never rejects.
 * @param onOverdue decides for how long an overdue handler is waited for; may return a timer that is cleared at the end. Called again
 *   if its lease is lost after that.
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

/** Waits until a handler can start; tells at once when its signal fires before, for then nothing has begun. @throws what `ready` throws */
export function started(attempt: Attempt, ready: Promise<void>): Promise<HandlerEnd | undefined> {
  return new Promise((resolve, reject) => {
    attempt.whenAborted(() => resolve({ kind: "overdue" }));
    ready.then(() => resolve(undefined), reject);
  });
}
