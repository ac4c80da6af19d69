import { expect } from "chai";
import { OutputFeeds } from "../../../src/engine/watching/output-feeds.ts";
import type { OutputPart } from "../../../src/store/verbs/scripts.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";

describe("the feeds of outputs", () => {
  let t: TestEngine;
  afterEach(() => t.close());

  it("read values once for ten thousand followers of a task, and keep nothing when they have left", async () => {
    t = await openEngine();
    let reads = 0;
    const values = Array.from({ length: 500 }, (_, n) => ({ run: 1, attempt: 1, json: String(n) }));
    const read = async (_id: string, from: number): Promise<OutputPart> => {
      reads += 1;
      return { total: values.length, values: values.slice(from, from + 100) };
    };
    const outputs = { read } as unknown as TestEngine["engine"]["outputs"];
    const feeds = new OutputFeeds({ outputs, notices: t.engine.notices }, { passMs: 60_000 });
    const followers = Array.from({ length: 10_000 }, () => feeds.follow("a", () => undefined));
    expect(feeds.size).to.equal(1);
    const texts = await Promise.all(
      followers.map(async ({ feed }) => {
        await feed.refresh();
        const seen: string[] = [];
        while (seen.length < feed.total) seen.push(...(await feed.page(seen.length)).values);
        return seen.at(-1);
      }),
    );
    expect(new Set(texts)).to.deep.equal(new Set(['{"seq":499,"run":1,"attempt":1,"data":499}']));
    expect(reads).to.be.below(20);
    for (const { stop } of followers) stop();
    expect(feeds.size).to.equal(0);
  });
});
