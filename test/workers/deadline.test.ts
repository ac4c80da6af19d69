import { expect } from "chai";
import { defineHandler } from "../../src/handler/define.ts";
import { deferred } from "../helpers/deferred.ts";
import { firing, openWorkshop, passDeadline, type Workshop } from "../helpers/workshop.ts";
import { eventually } from "../shared/eventually.ts";

const HOUR_MS = 3_600_000;

describe("the deadline of a running task", () => {
  let shop: Workshop;
  afterEach(() => shop.close());

  it("fires its signal with the reason deadline, and undoes what it did", async () => {
    const reasons: string[] = [];
    const [booked, undone] = [deferred<unknown>(), deferred<unknown>()];
    shop = await openWorkshop([
      defineHandler({
        queue: "jobs",
        attempts: 3,
        lease: "60s",
        run: async (_, task) => {
          booked.resolve(await task.step("book", () => 7));
          reasons.push(await firing(task.signal));
          throw task.signal.reason;
        },
        undo: { book: (booking) => undone.resolve(booking) },
      }),
    ]);
    await shop.worker();
    const id = await shop.submit(1, { deadlineMs: HOUR_MS });
    await booked.promise;
    await passDeadline(shop, id);
    expect(await shop.ended(id)).to.include({ state: "canceled", errorCode: "deadline-passed" });
    expect(reasons).to.deep.equal(["deadline"]);
    expect(await undone.promise).to.equal(7);
  });

  it("begins no further step, although the handler ignores its signal", async () => {
    const [begun, go] = [deferred(), deferred()];
    const thrown: unknown[] = [];
    shop = await openWorkshop([
      defineHandler({
        queue: "jobs",
        run: async (_, task) => {
          begun.resolve();
          await go.promise;
          await task.step("late", () => 1).catch((error: { cause: unknown }) => thrown.push(error.cause));
        },
        undo: { late: () => undefined },
      }),
    ]);
    await shop.worker();
    const id = await shop.submit(1, { deadlineMs: HOUR_MS });
    await begun.promise;
    await passDeadline(shop, id);
    await eventually(async () => (await shop.look(id)).cancelRequested);
    go.resolve();
    expect(await shop.ended(id)).to.include({ state: "canceled", errorCode: "deadline-passed" });
    expect(thrown).to.deep.equal(["deadline"]);
  });

  it("ends the wait for another attempt", async () => {
    shop = await openWorkshop([
      defineHandler({
        queue: "jobs",
        attempts: 3,
        backoff: { base: "1h", max: "1h" },
        run: () => {
          throw new Error("not yet");
        },
      }),
    ]);
    await shop.worker();
    const id = await shop.submit(1, { deadlineMs: HOUR_MS });
    await shop.ended(id, "retrying");
    await passDeadline(shop, id);
    expect(await shop.ended(id)).to.include({ state: "canceled", errorCode: "deadline-passed", attempts: 1 });
  });
});
