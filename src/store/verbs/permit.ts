import { named, names, verb, written } from "./codec.ts";
import { number } from "./reply.ts";

/** A request for permits to start tasks. */
interface PermitRequest {
  readonly queue: string;
  /** Unique to a request for tasks of one partition; if repeated, it gets the same permits. */
  readonly request: string;
  readonly count: number;
  readonly rate: { readonly max: number; readonly perMs: number };
  /** How many tasks have started: these count from now on, and the other permits are returned. */
  readonly used?: number;
}

const REQUEST = names<Omit<PermitRequest, "rate"> & PermitRequest["rate"]>(
  ...(["queue", "request", "count", "max", "perMs", "used"] as const),
);
const ANSWER = ["permits", "pauseMs"] as const;

/** Issues permits for a queue in several partitions; `pauseMs` is how long the rate allows no more. */
export const permit = verb(
  { args: REQUEST, answer: ANSWER },
  (script) =>
    async (tag: string, { rate, ...asked }: PermitRequest): Promise<{ permits: number; pauseMs: number }> => {
      const { permits, pauseMs } = named(ANSWER, await script.text(tag, written(REQUEST, { ...asked, ...rate })));
      return { permits: number(permits), pauseMs: number(pauseMs) };
    },
);
