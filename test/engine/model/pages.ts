import type { Engine } from "../../../src/engine/engine.ts";
import type { PagedIndex } from "../../../src/store/scripts/scripts.ts";

/** All tasks of an index, read page by page. */
export async function allPages(engine: Engine, index: PagedIndex, queue: string, limit: number) {
  const places = [];
  for (let after = null; ; ) {
    const page = await engine.page(index, queue, after, limit);
    places.push(...page);
    after = page.at(-1) ?? null;
    if (after === null) return places;
  }
}
