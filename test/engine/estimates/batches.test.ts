import { expect } from "chai";
import { estimate } from "../../../src/engine/estimates/estimate.ts";
import { slotsWanted } from "../../../src/engine/estimates/slots-wanted.ts";
import { turnoversBefore } from "../../../src/engine/estimates/turnovers.ts";
import type { QueueSnapshot } from "../../../src/store/line/snapshot.ts";
import { openEngine, resultOf } from "../../helpers/engine.ts";
import { serviceTimes } from "../../shared/service-times.ts";

const times = (count: number, ms: number) => Array.from({ length: count }, () => ms);

describe("an estimate for slots that run several tasks in one call", () => {
  const batch = { max: 4, waitMs: 50 };
  const full = { running: 8, slots: 2, agesMs: [...times(4, 900), ...times(4, 200)], batch };

  it("counts the calls ahead, not the tasks", () => {
    const turnovers = [0, 3, 4, 7, 8].map((before) => turnoversBefore(full, before).turnovers);
    expect(turnovers).to.deep.equal([1, 1, 2, 2, 3]);
    expect(turnoversBefore(full, 5).agesMs).to.deep.equal([900, 200]);
  });

  it("counts a call that is not full as one", () => {
    const partly = { ...full, running: 3, agesMs: [900, 200, 200] };
    expect(turnoversBefore(partly, 0).turnovers).to.equal(1);
    expect(turnoversBefore({ ...partly, running: 2, agesMs: [200, 200] }, 0).turnovers).to.equal(0);
  });

  it("knows that a newcomer may join a call that waits for more", () => {
    const waits = { ...full, running: 6, agesMs: [...times(4, 900), 30, 10] };
    expect(turnoversBefore(waits, 0)).to.include({ turnovers: 0, perhapsNow: true });
    const waited = { ...waits, agesMs: [...times(4, 900), 60, 55] };
    expect(turnoversBefore(waited, 0)).to.include({ turnovers: 1, perhapsNow: false });
  });

  it("takes a task behind others for one that starts at once, if tasks have just been taken and there is room", () => {
    const filling = { running: 3, slots: 2, agesMs: [30, 20, 10], batch };
    expect(turnoversBefore(filling, 2).turnovers).to.be.at.most(0);
    expect(turnoversBefore(filling, 5).turnovers, "no slot has room for so many").to.equal(1);
    const begun = { ...filling, agesMs: [90, 80, 70] };
    expect(turnoversBefore(begun, 2), "the others would have been taken").to.include({
      turnovers: 1,
      perhapsNow: false,
    });
  });

  it("is about as far off as calls are ahead", () => {
    const snapshot: QueueSnapshot = {
      ...{ queue: "jobs", waiting: 90, scheduled: 0, paused: false, resting: false, workers: 1 },
      ...serviceTimes(1000, 10),
      ...full,
    };
    expect(estimate(snapshot, { state: "waiting", index: 79 }, 0)?.seconds).to.be.within(9, 11);
  });

  it("asks for as many slots as full calls need", () => {
    const snapshot = {
      waiting: 320,
      running: 0,
      paused: false,
      resting: false,
      workers: 1,
      ...serviceTimes(1000, 0, 9),
    };
    const quiet = { acceptedLastMinute: 0, finishedLastMinute: 0 };
    const wanted = (of: object) => slotsWanted({ snapshot: { ...snapshot, ...of }, ...quiet }, 1000);
    expect(wanted({})).to.equal(161);
    expect(wanted({ batch: { max: 32, waitMs: 0 } })).to.equal(6);
  });

  it("is told by the store what the workers have reported, until one reports otherwise", async () => {
    const t = await openEngine();
    try {
      const slots = new Map([["jobs", 2]]);
      const seen = async () => (await t.engine.queues.figures(["jobs"]))[0]?.snapshot;
      await t.engine.workers.heartbeat("w1", 60_000, slots, { batches: new Map([["jobs", batch]]) });
      expect(await seen()).to.deep.include({ slots: 2, batch });
      await t.engine.workers.heartbeat("w2", 60_000, slots);
      expect(await seen())
        .to.include({ slots: 4 })
        .and.not.have.property("batch");
    } finally {
      await t.close();
    }
  });

  it("is based on one service time for each call, without the time for which its tasks waited", async () => {
    const t = await openEngine();
    try {
      const seen = async () => (await t.engine.queues.figures(["jobs"]))[0]?.snapshot;
      for (const [id, serviceMs] of [
        ["a", "none"],
        ["b", 0.25],
      ] as const) {
        await t.submit({ id });
        const [task] = await t.reserve(1);
        const lease = { queue: "jobs", id, fence: task?.fence ?? "" };
        expect(await t.engine.leases.complete(lease, resultOf("x"), t.settings, { serviceMs })).to.equal("done");
        if (serviceMs === "none") expect(await seen()).to.include({ samples: 0 });
      }
      expect(await seen()).to.deep.include({ samples: 1, timesMs: [0.25] });
    } finally {
      await t.close();
    }
  });
});
