import { expect } from "chai";
import { defineHandler } from "../../src/handler/define.ts";
import { deferred } from "../helpers/deferred.ts";
import { openWorkshop, type Workshop } from "../helpers/workshop.ts";
import { eventually } from "../shared/eventually.ts";

const SLOTS = 2;

describe("handlers that ignore their signal", function () {
  this.timeout(60_000);
  let shop: Workshop;
  afterEach(() => shop.close());

  it("continue outside the slots, up to as many again; beyond that they keep their slots", async () => {
    const gates: ReturnType<typeof deferred>[] = [];
    const handler = defineHandler({
      queue: "deaf",
      concurrency: SLOTS,
      attempts: 1,
      timeout: "20ms",
      run: () => {
        const gate = deferred();
        gates.push(gate);
        return gate.promise;
      },
    });
    shop = await openWorkshop([handler]);
    const worker = await shop.worker({ graceMs: 20 });
    const gauge = async () => /paihao_handlers_overdue\{queue="deaf"\} (\d+)/.exec(await exposition())?.[1];
    const exposition = () => shop.engine.metrics.exposition();
    const ids = await Promise.all(Array.from({ length: 3 * SLOTS }, (_, n) => shop.submit(n)));
    // As many as slots and as many again have run, and are over for their callers.
    await Promise.all(ids.slice(0, 2 * SLOTS).map((id) => shop.ended(id)));
    await eventually(async () => expect(await gauge()).to.equal(String(2 * SLOTS)));
    expect(gates).to.have.length(2 * SLOTS);
    const kept = shop.log.filter(({ msg }) => String(msg).includes("a slot stays taken"));
    expect(kept.map(({ queue, slots }) => ({ queue, slots }))).to.deep.equal(
      Array.from({ length: SLOTS }, () => ({ queue: "deaf", slots: SLOTS })),
    );
    expect((await shop.look(ids.at(-1) ?? "")).state).to.equal("waiting");
    // One ends: one more may begin.
    gates[0]?.resolve(undefined);
    await eventually(() => expect(gates).to.have.length(2 * SLOTS + 1));
    for (const gate of gates) gate.resolve(undefined);
    await eventually(() => expect(gates).to.have.length(3 * SLOTS));
    for (const gate of gates) gate.resolve(undefined);
    await Promise.all(ids.map((id) => shop.ended(id)));
    await eventually(async () => expect(await gauge()).to.equal("0"));
    await worker.stop();
  });
});
