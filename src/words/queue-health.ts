/** How queues are, in words, for the dashboard and the commands: those that need attention first. */

import type { Incident } from "../wire/operations.ts";
import type { Queue } from "../wire/queue.ts";
import { allowed, count } from "./numbers.ts";

/** Whether nobody does its work now: the work of turns is done by their callers. */
export const hasNoWorker = ({ workers, turns }: Queue): boolean => workers === 0 && turns === null;

/** What is wrong with a queue, the worst first. */
export const troublesOf = ({ name }: Queue, incidents: readonly Incident[]): Incident[] =>
  incidents.filter(({ queue }) => queue === name);

/** The queues that need attention first, then those with the longest lines. */
export function byTrouble(queues: readonly Queue[], incidents: readonly Incident[]): Queue[] {
  const rank = new Map<string | null, number>();
  for (const [n, { queue }] of incidents.entries()) if (!rank.has(queue)) rank.set(queue, n);
  const rankOf = ({ name }: Queue) => rank.get(name) ?? incidents.length;
  return [...queues].sort(
    (a, b) => rankOf(a) - rankOf(b) || b.waiting - a.waiting || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
  );
}

/** That nothing is wrong. */
export const allWell = (queues: readonly Queue[]): string =>
  queues.length === 1 ? "The queue moves." : `All ${count(queues.length)} queues move.`;

/** How many tasks have succeeded in the last minute, per second. */
export const doneRate = ({ rate: { finished, failed } }: Queue): number => Math.max(0, finished - failed);

/** What the rate of a queue allows: "5 a second"; null if any number may start. */
export const allowance = ({ settings: { rate } }: Queue): string | null => rate.now && allowed(rate.now);

/**
 * The slots beside what runs. Null where more tasks run than there are slots: a slot has several tasks in one call, or the leases
 * of workers that have gone have not ended yet.
 */
export const slotsBeside = ({ running, slots }: Pick<Queue, "running" | "slots">): number | null =>
  running > slots ? null : slots;
