import { expect } from "chai";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { eventually } from "../../shared/eventually.ts";

describe("a task that returns to the line", () => {
  let t: TestEngine;
  beforeEach(async () => {
    t = await openEngine();
  });
  afterEach(() => t.close());

  for (const [how, back, state] of [
    ["is released", (of: Lease) => t.engine.call("release", of), "released"],
    ["lost the process of its handler", (of: Lease) => t.engine.call("lose", of), "waiting"],
  ] as const) {
    it(`is told to the workers of its queue when it ${how}`, async () => {
      await t.submit({ id: "a" });
      const [task] = await t.reserve();
      const heard: string[] = [];
      await t.engine.pubsub.listen(t.keys.workChannel(0, "jobs"), (message) => {
        heard.push(String(message));
      });
      expect(await back({ queue: "jobs", id: "a", fence: task?.fence ?? "" })).to.equal(state);
      await eventually(() => heard.length > 0);
      expect(heard).to.deep.equal([""]);
    });
  }
});

interface Lease {
  readonly queue: string;
  readonly id: string;
  readonly fence: string;
}
