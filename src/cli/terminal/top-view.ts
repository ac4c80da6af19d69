import type { Queue } from "../../wire/queue.ts";
import { counted } from "../../words/numbers.ts";
import { BAD, byTrouble, healthOf, troubleOf } from "../../words/queue-health.ts";
import { paint } from "./print.ts";
import { QUEUE_COLUMNS } from "./queue-text.ts";
import { tableLines } from "./table.ts";
import { cut } from "./width.ts";

/** All queues at one time. */
export interface TopFigures {
  /** RFC 3339. */
  readonly time: string;
  readonly items: readonly Queue[];
}

interface View extends TopFigures {
  readonly url: string;
  /** Why there are no newer figures; "" if there is no problem. */
  readonly problem: string;
  /** How many queues to skip before the first that is shown. */
  readonly offset: number;
}

/** The lines around the queues: the totals, how they are or the problem, the heading, and the keys. */
const FRAME = 4;

/** How many queues fit on a screen. */
export function pageOf({ rows }: { readonly rows: number }): number {
  return Math.max(1, rows - FRAME);
}

/** The largest offset: the last queue is then at the bottom. */
export function lastOffset({ items }: TopFigures, size: { readonly rows: number }): number {
  return Math.max(0, items.length - pageOf(size));
}

/** What `paihao top` shows: the queues that need attention first, as many as fit, and the keys in the last line. */
export function topLines(
  { url, time, items, problem, offset }: View,
  size: { readonly columns: number; readonly rows: number },
): string[] {
  const sum = (of: (queue: Queue) => number) => items.reduce((total, queue) => total + of(queue), 0);
  const sorted = byTrouble(items);
  const first = Math.min(offset, lastOffset({ time, items }, size));
  const shown = sorted.slice(first, first + pageOf(size));
  // Built from all queues, so that columns keep their places while it scrolls.
  const [heading = "", ...rows] = tableLines(QUEUE_COLUMNS, sorted, size.columns);
  const waiting = counted(
    sum((queue) => queue.waiting),
    "task",
  );
  const figures = `${waiting} waiting, ${sum((queue) => queue.running)} running, ${sum((queue) => queue.dead)} dead`;
  const head = `${figures}  as of ${new Date(time).toLocaleTimeString("sv")}  ${url}`;
  const part =
    shown.length < items.length ? `  ↑ ↓ scroll, ${first + 1}–${first + shown.length} of ${items.length}` : "";
  return [
    paint("bold", cut(head, size.columns)),
    problem === "" ? cut(healthOf(items), size.columns) : paint("red", cut(problem, size.columns)),
    heading,
    ...shown.map((queue, n) => painted(queue, rows[first + n] ?? "")),
    ...Array.from({ length: pageOf(size) - shown.length }, () => ""),
    paint("dim", cut(`q quits${part}`, size.columns)),
  ].slice(0, size.rows);
}

function painted(queue: Queue, line: string): string {
  const trouble = troubleOf(queue);
  if (trouble === 0) return line;
  return paint(trouble < BAD ? "yellow" : "red", line);
}
