import { expect } from "chai";
import type { Move } from "../../../src/store/task/actions.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";

const IDS = Array.from({ length: 9 }, (_, n) => `a${n}`);

describe("a task of one of several partitions", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine({ partitions: 3 });
    for (const id of IDS) await t.submit({ id });
  });
  afterEach(() => t.close());

  const move = (id: string, to: Move) => t.engine.submitter.move({ id, queue: "jobs" }, to);

  it("is known to become due at its new time, if it got one", async () => {
    const due: unknown[] = [];
    t.engine.upkeep.onDue((...given) => due.push(given));
    await move("a3", { priority: 0 });
    await move("unheard-of", { delayMs: 500 });
    expect(due).to.deep.equal([]);
    await move("a3", { delayMs: 500 });
    expect(due).to.deep.equal([[t.keys.partitionOfQueue("jobs"), 500]]);
  });
});
