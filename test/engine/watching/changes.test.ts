import { expect } from "chai";
import { move } from "../../../src/engine/submission/move.ts";
import type { Notice } from "../../../src/store/notice.ts";
import { failureOf, openEngine, type TestEngine } from "../../helpers/engine.ts";
import { eventually } from "../../shared/eventually.ts";
import { submissionOf } from "../../shared/submission.ts";

describe("those who watch a task", () => {
  let t: TestEngine;
  let heard: (Notice | null)[];
  let stop: () => void;
  beforeEach(async () => {
    t = await openEngine({ settings: { attempts: 1 } });
    await t.submit({ id: "a" });
    heard = [];
    const listening = t.engine.notices.listen({ id: "a", queue: "jobs" }, (notice) => heard.push(notice));
    stop = () => listening.stop();
    await listening.ready;
    await t.engine.inspector.inspect("a", { result: false, listen: true });
  });
  afterEach(async () => {
    stop();
    await t.close();
  });

  it("hear that it was moved", async () => {
    for (const [n, to] of ([{ priority: 0 }, { place: "first" }, { delayMs: 60_000 }] as const).entries()) {
      expect(await move(t.engine, { id: "a", queue: "jobs" }, to)).to.equal("moved");
      await eventually(() => heard.length === n + 1);
    }
  });

  it("hear that it got another input", async () => {
    expect(await t.engine.submitter.update(submissionOf("a", "jobs", "2"), t.settings)).to.equal("updated");
    await eventually(() => heard.length === 1);
  });

  it("hear that it was dead, and is run again", async () => {
    const [task] = await t.reserve();
    await t.engine.leases.fail({ queue: "jobs", id: "a", fence: task?.fence ?? "" }, failureOf("retry"), t.settings);
    await eventually(() => heard.some((notice) => notice?.ended));
    const before = heard.length;
    expect(await t.engine.call("retry", { id: "a", queue: "jobs" })).to.equal("waiting");
    await eventually(() => heard.length > before);
    expect(heard.at(-1)?.ended).to.equal(false);
  });
});
