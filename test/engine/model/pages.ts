import type { Engine } from "../../../src/engine/engine.ts";
import type { Index } from "../../../src/store/keys.ts";

/** All tasks of an index, read page by page. */
export async function allPages(engine: Engine, index: Index, queue: string, limit: number) {
  const places = [];
  for (let after = null; ; ) {
    const page = await engine.queues.page(index, { queue, after, limit });
    places.push(...page.entries);
    after = page.next;
    if (after === null) return places;
  }
}
