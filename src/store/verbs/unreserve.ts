import { text } from "./reply.ts";
import type { RequestCopy, Reservation } from "./reserve.ts";
import type { Script } from "./script.ts";
import type { Retention } from "./settle.ts";

/** Hands back what a request took that is remembered by itself; "shared" when another sender of it may have been told of it. */
export const unreserve =
  (script: Script) =>
  async (
    tag: string,
    request: Reservation & Retention,
    { holder, generation }: Pick<RequestCopy, "holder" | "generation">,
  ): Promise<"handed-back" | "shared"> => {
    const { queue, worker, reservation, leaseMs, keepMs, tombstoneMs } = request;
    const args = [queue, worker, reservation, holder, generation, leaseMs, keepMs, tombstoneMs];
    return text(await script.text(tag, args)) as "handed-back" | "shared";
  };
