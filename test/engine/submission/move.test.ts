import { expect } from "chai";
import { move as moveTask } from "../../../src/engine/submission/move.ts";
import type { Move } from "../../../src/store/verbs/move.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";

const IDS = Array.from({ length: 9 }, (_, n) => `a${n}`);

describe("a task of one of several partitions", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine({ partitions: 3 });
    for (const id of IDS) await t.submit({ id });
  });
  afterEach(() => t.close());

  const move = (id: string, to: Move) => moveTask(t.engine, { id, queue: "jobs" }, to);

  it("moves to the start or the end of the line", async () => {
    for (const id of IDS) {
      expect(await move(id, { place: "first" })).to.equal("moved");
      expect((await t.look(id)).index).to.equal(0);
    }
    for (const id of IDS) {
      expect(await move(id, { place: "last" })).to.equal("moved");
      expect((await t.look(id)).index).to.equal(IDS.length - 1);
    }
  });

  it("moves although the line is otherwise empty", async () => {
    for (const id of IDS.slice(1)) await t.engine.call("cancel", { id, queue: "jobs" });
    for (const place of ["first", "last"] as const) expect(await move("a0", { place })).to.equal("moved");
    expect((await t.look("a0")).index).to.equal(0);
  });

  it("is known to become due at its new time, if it got one", async () => {
    const due: unknown[] = [];
    t.engine.maintenance.onDue((...given) => due.push(given));
    await move("a3", { priority: 0 });
    await move("unheard-of", { delayMs: 500 });
    expect(due).to.deep.equal([]);
    await move("a3", { delayMs: 500 });
    expect(due).to.deep.equal([[t.keys.partitionOfQueue("jobs"), 500]]);
  });
});
