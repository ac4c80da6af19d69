import { expect } from "chai";
import { Occupancy } from "../../src/workers/occupancy.ts";

describe("a worker's process that suspects want for themselves", () => {
  const opened = (occupancy: Occupancy) => new Promise<void>((resolve) => occupancy.onRelease(resolve));

  it("begins nothing else until it is empty, and then until the suspect has ended", async () => {
    let empty = 0;
    const occupancy = new Occupancy(() => {
      empty += 1;
    });
    occupancy.begin();
    expect(occupancy.claim(), "claimed beside others").to.equal(false);
    expect(occupancy).to.include({ closed: true, claimed: false });
    occupancy.end();
    expect(empty).to.equal(1);
    expect(occupancy.claim()).to.equal(true);
    expect(occupancy).to.include({ closed: true, claimed: true });
    const open = opened(occupancy);
    occupancy.release();
    await open;
    expect(occupancy).to.include({ closed: false, claimed: false });
  });

  it("runs several suspects at once, and begins nothing else until the last of them has ended", () => {
    let released = 0;
    const occupancy = new Occupancy(() => undefined);
    occupancy.onRelease(() => {
      released += 1;
    });
    const begin = () => {
      expect(occupancy.claim()).to.equal(true);
      occupancy.begin();
    };
    const end = () => {
      occupancy.end();
      occupancy.release();
    };
    begin();
    begin();
    end();
    expect([occupancy.closed, released]).to.deep.equal([true, 0]);
    begin();
    end();
    end();
    expect([occupancy.closed, released]).to.deep.equal([false, 1]);
  });

  it("is not shared with a suspect that runs in a child process", () => {
    const occupancy = new Occupancy(() => undefined);
    expect(occupancy.claim()).to.equal(true);
    occupancy.begin();
    occupancy.begin();
    expect(occupancy.claim()).to.equal(false);
  });

  it("does not wait for a long handler for more than a moment, nor again soon after", async () => {
    const occupancy = new Occupancy(() => undefined);
    occupancy.begin();
    const open = opened(occupancy);
    occupancy.claim();
    await open;
    expect(occupancy.closed).to.equal(false);
    occupancy.claim();
    expect(occupancy.closed).to.equal(false);
    // The long handler ends.
    occupancy.end();
    expect(occupancy.claim()).to.equal(true);
  });
});
