import type { DeploymentEvent } from "../../wire/operations.ts";
import { counted } from "../../words/numbers.ts";
import { paint } from "./print.ts";

/** Kinds that an operator should look at. */
const TROUBLE: ReadonlySet<DeploymentEvent["kind"]> = new Set([
  ...(["worker-lost", "queue-full", "target-down", "store-full", "store-away"] as const),
]);

/** An event in a line: when, what, and to whom. */
export function eventText({ at, kind, queue, worker, tasks = [], count = 0, by, detail }: DeploymentEvent): string {
  const what = TROUBLE.has(kind) ? paint("red", kind.padEnd(16)) : kind.padEnd(16);
  const held = count > tasks.length ? `${tasks.join(", ")} and ${count - tasks.length} more` : tasks.join(", ");
  const parts = [queue, worker, tasks.length > 0 && `had ${counted(count, "task")}: ${held}`, by && `by ${by}`, detail];
  return `${at.replace("T", " ").slice(0, 19)}  ${what}  ${parts.filter(Boolean).join("  ")}`.trimEnd();
}
