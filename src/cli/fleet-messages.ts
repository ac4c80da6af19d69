import type { ReadMetric } from "../metrics.ts";

/** How often a member reports that its event loop runs, and its parent checks for members that are silent, ms. */
export const BEAT_MS = 1000;

/** Variables that win over the environment. */
export type Settings = Readonly<Record<string, string | undefined>>;

/** A member that is ready. */
export interface Ready {
  readonly url: string | undefined;
  readonly queues: readonly string[];
  /** The longest lease of its queues; 0 if it runs no tasks. */
  readonly longestLeaseMs: number;
}

/** What a member sends first: that it listens for its settings, then that it is ready, or why it cannot start. */
export type StartMessage = { readonly listens: true } | { readonly ready: Ready } | { readonly refusal: string };

/** What a member sends once it is ready. */
export type MemberMessage =
  | { readonly beat: true }
  /** Asks for the metrics of the fleet. */
  | { readonly scrape: true }
  /** Its own metrics, as they are now. */
  | { readonly metrics: readonly ReadMetric[] };

/**
 * What a member receives first. Not passed in the environment, where handlers and the programs that they start would find the address of
 * the store.
 */
export interface SettingsMessage {
  readonly settings: Settings;
}

/** What a member receives once it is ready. */
export type ParentMessage =
  | { readonly readMetrics: true }
  /** The metrics of the fleet as text, after a request. */
  | { readonly exposition: string }
  /** Asks it to stop, and says how long running tasks and answers may take. */
  | { readonly stopWithinMs: number };
