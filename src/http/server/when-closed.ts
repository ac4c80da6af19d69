import type { ServerResponse } from "node:http";

/** Calls back once a response has been sent or its connection has gone: at once if that has already happened. */
export function whenClosed(res: ServerResponse, then: () => void): void {
  if (res.destroyed) then();
  else res.once("close", then);
}
