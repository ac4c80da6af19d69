import type { Call } from "./answers.ts";
import type { Lease } from "./lease.ts";
import { list, text } from "./reply.ts";
import type { Script } from "./script.ts";

/** What a handler has written in one go. */
export interface OutputItem extends Pick<Lease, "id" | "fence">, Call {
  /** Each as JSON. */
  readonly values: readonly string[];
  /** Most bytes that all values of the task may have together. */
  readonly maxBytes: number;
  /** Store all of these values or none; else as many as fit. */
  readonly all: boolean;
}

/** How many of the values were stored, from the first on; or "stale", when the task is no longer the worker's. */
export type Written = number | "stale";

/** Appends values to the output of running tasks. */
export const write =
  (script: Script) =>
  async (tag: string, items: readonly OutputItem[]): Promise<Written[]> => {
    const args = items.flatMap(({ id, fence, call, maxBytes, all, values }) => {
      return [id, fence, call, maxBytes, all ? "1" : "0", values.length, ...values];
    });
    const verdicts = list(await script.text(tag, [items.length, ...args])).map(text);
    return verdicts.map((verdict) => (verdict === "stale" ? verdict : Number(verdict)));
  };
