import type { Socket } from "node:net";
import type { ReadAhead } from "./relay-body.ts";

/**
 * Passes bytes between a caller and the API after an upgrade, each side as fast as the other takes them; what one side ends is ended on
 * the other. Calls `closed` once either connection is closed; then closes both.
 * @returns what closes both at once
 */
export function tunnel(caller: Socket, sent: ReadAhead, api: Socket, closed: () => void): () => void {
  const close = () => {
    sent.stop();
    for (const socket of [caller, api]) {
      socket.off("close", onClose);
      socket.destroy();
    }
  };
  const onClose = () => {
    // What the other side has not taken yet still reaches it.
    sent.stop();
    for (const socket of [caller, api]) socket.off("close", onClose).destroySoon();
    closed();
  };
  for (const socket of [caller, api]) {
    socket.on("error", () => undefined).on("close", onClose);
    socket.setNoDelay(true);
  }
  sent.pipe(api);
  api.pipe(caller);
  return close;
}
