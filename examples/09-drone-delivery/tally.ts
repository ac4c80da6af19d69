import type { Service } from "./services/service.ts";

/** The outcome of a delivery at the task server. */
export type Outcome = "succeeded" | "failed";

/** The outcomes of all deliveries. */
export interface Tally {
  readonly scheduled: number;
  readonly undone: number;
  /** One line for each broken promise; empty if none was. */
  readonly broken: readonly string[];
}

/**
 * Compares the task server with the services: a delivery that succeeded is in all of them, a failed one in none, and no drone
 * was sent twice.
 */
export function tally(services: readonly Service[], outcomes: ReadonlyMap<string, Outcome>): Tally {
  const broken: string[] = [];
  let scheduled = 0;
  for (const [id, outcome] of outcomes) {
    const expected = outcome === "succeeded" ? services.length : 0;
    const standing = services.filter(({ documents }) => documents.has(id)).map(({ name }) => name);
    if (standing.length !== expected) broken.push(`${id} ${outcome}, but is in: ${standing.join(", ") || "none"}`);
    if (outcome === "succeeded") scheduled += 1;
  }
  for (const { name, created, documents } of services) {
    for (const [id, times] of created) if (times > 1) broken.push(`${name} made ${id} ${times} times`);
    for (const id of documents.keys()) if (!outcomes.has(id)) broken.push(`${name} has ${id}, which nobody ordered`);
  }
  return { scheduled, undone: outcomes.size - scheduled, broken };
}
