import type { Service } from "./services/service.ts";

/** What became of a delivery at the task server. */
export type Outcome = "succeeded" | "failed";

/** What the deliveries have come to. */
export interface Tally {
  readonly scheduled: number;
  readonly undone: number;
  /** One line for each promise that was broken: empty is good. */
  readonly broken: readonly string[];
}

/**
 * Holds what the task server says against what the services have: a delivery that succeeded is in each of them, one that failed
 * in none, and for none a drone was sent twice.
 */
export function tally(services: readonly Service[], outcomes: ReadonlyMap<string, Outcome>): Tally {
  const broken: string[] = [];
  let scheduled = 0;
  for (const [id, outcome] of outcomes) {
    const expected = outcome === "succeeded" ? services.length : 0;
    const standing = services.filter(({ documents }) => documents.has(id)).map(({ name }) => name);
    if (standing.length !== expected) broken.push(`${id} ${outcome}, but stands in: ${standing.join(", ") || "none"}`);
    if (outcome === "succeeded") scheduled += 1;
  }
  for (const { name, created, documents } of services) {
    for (const [id, times] of created) if (times > 1) broken.push(`${name} made ${id} ${times} times`);
    for (const id of documents.keys()) if (!outcomes.has(id)) broken.push(`${name} has ${id}, which nobody ordered`);
  }
  return { scheduled, undone: outcomes.size - scheduled, broken };
}
