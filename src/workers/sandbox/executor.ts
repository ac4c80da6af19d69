import type { AbortCause, HandlerEnd } from "../../engine/attempt/attempt-end.ts";
import type { Handler } from "../../handler/define.ts";
import type { Attempt } from "../attempt/attempt.ts";

/** Where handlers run. */
export interface Executor {
  /** Runs the handler of an attempt. Never rejects; ends at the latest a grace after the attempt's signal has fired. */
  execute(attempt: Attempt, handler: Handler): HandlerEnd | Promise<HandlerEnd>;
  /** Ends what it has started; idempotent. What still runs there ends with it. */
  stop(): Promise<void>;
}

/** How long a handler may go on after its signal has fired, ms; then the attempt is over without it. */
const GRACE_MS: Readonly<Record<AbortCause, number>> = {
  timeout: 2000,
  canceled: 2000,
  deadline: 2000,
  "lease-lost": 2000,
  shutdown: 500,
};

/** Waits for the end, which never rejects, but no longer than a grace after the signal has fired. */
export function withinGrace(attempt: Attempt, end: Promise<HandlerEnd>): Promise<HandlerEnd> {
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    let over = false;
    const leave = () => {
      attempt.goingOn = end;
      resolve({ kind: "overdue" });
    };
    attempt.whenAborted(() => {
      if (!over) timer = setTimeout(leave, GRACE_MS[attempt.aborted ?? "shutdown"]);
    });
    void end.then((settled) => {
      over = true;
      clearTimeout(timer);
      resolve(settled);
    });
  });
}

/** Waits until a handler can start; tells at once when its signal fires before, for then nothing has begun. @throws what `ready` throws */
export function started(attempt: Attempt, ready: Promise<void>): Promise<HandlerEnd | undefined> {
  return new Promise((resolve, reject) => {
    attempt.whenAborted(() => resolve({ kind: "overdue" }));
    ready.then(() => resolve(undefined), reject);
  });
}
