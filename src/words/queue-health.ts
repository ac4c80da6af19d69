/** How queues are, in words, for the dashboard and the commands: those that need attention first. */

import type { Queue } from "../wire/queue.ts";
import { allowed, count, counted, duration } from "./numbers.ts";

/** What a queue can suffer from, the worst first. */
const TROUBLES: readonly { readonly is: (queue: Queue) => unknown; readonly text: (queue: Queue) => string }[] = [
  { is: ({ dead }) => dead > 0, text: ({ dead }) => `${count(dead)} dead` },
  {
    is: (queue) => queue.orphaned || (hasNoWorker(queue) && queue.waiting > 0),
    text: ({ waiting, orphaned, oldestWaitingSeconds: oldest }) =>
      `${count(waiting)} waiting, ${orphaned ? "no handler" : "no worker"}${oldest === null ? "" : `, the oldest for ${duration(oldest)}`}`,
  },
  {
    is: ({ waiting, scheduled, maxWaiting }) => waiting + scheduled >= maxWaiting,
    text: ({ maxWaiting }) => `full with ${counted(maxWaiting, "task")}`,
  },
  {
    is: ({ resting }) => resting,
    text: ({ resting, waiting }) => `resting (${resting?.reason}), ${count(waiting)} waiting`,
  },
  { is: ({ eta }) => eta?.rate, text: (queue) => `${count(queue.waiting)} waiting, ${allowance(queue)} allowed` },
  { is: ({ paused }) => paused, text: ({ waiting }) => `paused, ${count(waiting)} waiting` },
];

/** Whether nobody does its work now: the work of turns is done by their callers. */
export const hasNoWorker = ({ workers, turns }: Queue): boolean => workers === 0 && turns === null;

/** How urgently a queue needs attention: 0 if it does not. */
export function troubleOf(queue: Queue): number {
  const place = TROUBLES.findIndex(({ is }) => is(queue));
  return place < 0 ? 0 : TROUBLES.length - place;
}

/** From this on, a queue does not do what it should. */
export const BAD = TROUBLES.length - 3;

/** The queues that need attention first, then those with the longest lines. */
export const byTrouble = (queues: readonly Queue[]): Queue[] =>
  [...queues].sort(
    (a, b) => troubleOf(b) - troubleOf(a) || b.waiting - a.waiting || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
  );

/** How many queues the sentence names. */
const NAMED = 2;

/** All queues in a sentence: "All 8 queues move.", "vision: 2,335 waiting, no worker, the oldest for 4 min." */
export function healthOf(queues: readonly Queue[]): string {
  const bad = byTrouble(queues).filter((queue) => troubleOf(queue) > 0);
  if (bad.length === 0) return queues.length === 1 ? "The queue moves." : `All ${count(queues.length)} queues move.`;
  const named = bad.slice(0, NAMED).map((queue) => `${queue.name}: ${troubleText(queue)}`);
  const more = bad.length > NAMED ? `, and ${counted(bad.length - NAMED, "more queue")}` : "";
  return `${named.join("; ")}${more}.`;
}

function troubleText(queue: Queue): string {
  return TROUBLES.flatMap(({ is, text }) => (is(queue) ? [text(queue)] : [])).join(", ");
}

/** What the rate of a queue allows: "5 a second"; null if any number may start. */
export const allowance = ({ settings: { rate } }: Queue): string | null => rate.now && allowed(rate.now);

/**
 * The slots beside what runs. Null where more tasks run than there are slots: a slot has several tasks in one call, or the leases
 * of workers that have gone have not ended yet.
 */
export const slotsBeside = ({ running, slots }: Pick<Queue, "running" | "slots">): number | null =>
  running > slots ? null : slots;
