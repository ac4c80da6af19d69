import { jsonVerbOnEach } from "../library/verb.ts";
import type { Lease } from "./lease.ts";

/** What a running attempt leaves for operators. */
export interface AttemptLogItem extends Pick<Lease, "id" | "fence"> {
  /** A line of JSON. */
  readonly log: string;
}

/** Keeps what attempts that are about to end leave for operators; "stale" if the task no longer belongs to the worker. */
export const attemptLog = jsonVerbOnEach<AttemptLogItem, "ok" | "stale">({ sizeOf: ({ log }) => log.length });
