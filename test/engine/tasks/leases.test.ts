import { expect } from "chai";
import type { QueueSettings } from "../../../src/engine/settings.ts";
import { type Gate, Leases, type LeasesParts } from "../../../src/engine/tasks/leases.ts";
import { INTERNAL_QUEUES } from "../../../src/handler/internal-queues.ts";
import { Keys } from "../../../src/store/keys.ts";
import type { Standby } from "../../../src/store/line/standby.ts";
import type { FailVerdict } from "../../../src/store/task/fail.ts";

const LEASE = { queue: "jobs", id: "a", fence: "7" };
const STANDBY = {} as Standby;

describe("the leases of a process", () => {
  /** What was noted: what a gate hears, and when tasks are due. */
  let noted: unknown[];
  beforeEach(() => {
    noted = [];
  });
  const leases = (given: { gated?: boolean; verdict?: FailVerdict } = {}) => {
    const { gated = false, verdict = "retrying" } = given;
    const parts = {
      keys: new Keys("leases:", 4),
      call: async (verb: string) => (verb === "renew" ? { verdict: "ok", leaseMs: 0 } : verdict),
      openStandby: async () => STANDBY,
      settings: () => ({ gated }) as QueueSettings,
      noteDue: (...due: unknown[]) => noted.push(due),
    };
    const made = new Leases(parts as unknown as LeasesParts);
    made.gate = { renewed: async (_: unknown, leaseMs: number) => noted.push(`gate ${leaseMs}`) } as unknown as Gate;
    return made;
  };

  it("let requests for work wait in the store where only the line decides", async () => {
    expect(await leases().openStandby("jobs")).to.equal(STANDBY);
    expect(await leases({ gated: true }).openStandby("jobs"), "one with a gate").to.equal(undefined);
    expect(await leases().openStandby(INTERNAL_QUEUES.webhooks), "the server's own").to.equal(undefined);
  });

  it("tell the gate of a queue, if it has one, which tasks go on", async () => {
    expect(await leases().renew(LEASE, 9000)).to.equal("ok");
    expect(noted).to.deep.equal([]);
    expect(await leases({ gated: true }).renew(LEASE, 9000)).to.equal("ok");
    expect(noted).to.deep.equal(["gate 9000"]);
  });

  it("let ticks know when a task that failed is due again", async () => {
    const result = { status: 500, contentType: null, headers: {}, body: "" };
    const failure = { kind: "retry", delayMs: 500, error: "", code: "", result } as const;
    const settings = {} as QueueSettings;
    expect(await leases().fail(LEASE, failure, settings)).to.equal("retrying");
    expect(noted).to.deep.equal([[new Keys("leases:", 4).partitionOfQueue(LEASE.queue), 500]]);
    for (const verdict of ["dead", "stale", "canceled"] as const) {
      expect(await leases({ verdict: verdict as FailVerdict }).fail(LEASE, failure, settings)).to.equal(verdict);
    }
    expect(noted).to.have.lengthOf(1);
  });
});
