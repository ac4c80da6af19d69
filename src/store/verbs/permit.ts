import { list, number } from "./reply.ts";
import type { Script } from "./script.ts";

/** A request for permits to start tasks. */
interface PermitRequest {
  readonly queue: string;
  /** Unique to a request for tasks of one partition; if repeated, it gets the same permits. */
  readonly request: string;
  readonly count: number;
  readonly rate: { readonly max: number; readonly perMs: number };
  /** How many tasks have started: the other permits are returned. */
  readonly used?: number;
}

/** Issues permits for a queue in several partitions; `pauseMs` is how long the rate allows no more. */
export const permit =
  (script: Script) =>
  async (tag: string, asked: PermitRequest): Promise<{ permits: number; pauseMs: number }> => {
    const { queue, request, count, rate, used = "" } = asked;
    const [permits, pauseMs] = list(await script.text(tag, [queue, request, count, rate.max, rate.perMs, used]));
    return { permits: number(permits), pauseMs: number(pauseMs) };
  };
