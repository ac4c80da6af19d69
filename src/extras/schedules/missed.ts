import type { Fault } from "../../engine/monitoring/incidents.ts";
import type { Schedules } from "./schedules.ts";
import { SCHEDULE } from "./store.ts";

/** A due time, as it is told to people of any time zone. */
export const dueText = (atMs: number): string =>
  `due at ${new Date(atMs).toISOString().slice(0, 16).replace("T", " ")} UTC`;

/** How many due times were missed, of which at most so many are told. */
export function missedText(count: number, latestMs: number): string {
  const number = count >= SCHEDULE.scheduleHistory ? `${count} or more` : String(count);
  return count === 1 ? `missed 1, ${dueText(latestMs)}` : `missed ${number}, the latest ${dueText(latestMs)}`;
}

/** The schedules whose latest due times were missed or refused in the last hour. */
export async function missedFaults(schedules: Schedules): Promise<readonly Fault[]> {
  return (await schedules.missed()).map(({ id, queue, missed, atMs }) => ({
    ...{ kind: "schedule-missed", level: "red", queue, list: null, runbook: "PaihaoScheduleLate" },
    text: `${id}: ${missed > 0 ? missedText(missed, atMs) : `refused, ${dueText(atMs)}`}`,
    advice: `paihao schedules history ${id} has the latest ones; paihao schedules run ${id} submits it now.`,
  }));
}
