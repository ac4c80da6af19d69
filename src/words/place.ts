/** Where a task is in its line, in figures only. */

import type { Eta } from "../wire/task.ts";
import { about, count, percentage } from "./numbers.ts";

/** "3 before you, about 40 s": how many start before this one, and when it will. */
export function placeWords(index: number, eta: Pick<Eta, "seconds"> | null): string {
  const place = index === 0 ? "next in line" : `${count(index)} before you`;
  return eta === null ? place : `${place}, about ${about(eta.seconds)}`;
}

/** "running, 45 %, about 12 s left". @param restS how long it will still take, if that is known */
export function runningWords(percent: number | null, restS: number | null): string {
  const done = percent === null ? "" : `, ${percentage(percent)}`;
  return `running${done}${restS === null || restS < 1 ? "" : `, about ${about(restS)} left`}`;
}
