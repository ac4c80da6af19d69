import { expect } from "chai";
import { defineHandler, type Handler, type HandlerOptions } from "../../../src/handler/define.ts";
import { giveUp, retryLater } from "../../../src/handler/intents.ts";
import { monitorDocument } from "../../../src/http/task/task-document.ts";
import { deferred } from "../../helpers/deferred.ts";
import { storedKey } from "../../helpers/store/stored.ts";
import { openWorkshop, type Workshop } from "../../helpers/workshop.ts";
import { eventually } from "../../shared/eventually.ts";

const BACKOFF = { base: "1ms", max: "1ms" };

describe("a failing undo", () => {
  let shop: Workshop;
  let journal: string[];
  afterEach(() => shop.close());

  const open = async (options: Partial<HandlerOptions<unknown>>, attempts = 2, handler = defined(options)) => {
    journal = [];
    shop = await openWorkshop([handler], { undo: { attempts, backoff: BACKOFF } });
  };
  const defined = (options: Partial<HandlerOptions<unknown>>): Handler =>
    defineHandler({
      ...{ queue: "jobs", attempts: 1 },
      run: async (_, task) => {
        for (const name of ["flight", "hotel:42", "car"]) await task.step(name, () => name);
        throw giveUp({ status: 409 });
      },
      ...options,
    });
  const undoing = async (id: string, state: "succeeded" | "failed") => {
    await shop.ended(id);
    return shop.ended(`${id}:undo:jobs`, state);
  };
  const note = (line: string) => journal.push(line);

  for (const [what, thrown] of [
    ["an error", () => new Error("no answer")],
    ["giveUp", () => giveUp({ status: 410, title: "gone" })],
    ["retryLater", () => retryLater("1ms")],
    ["something that is no error", () => "a string"],
  ] as const) {
    it(`is tried again, and becomes a dead letter that names the steps that were not undone: ${what}`, async () => {
      await open({
        undo: {
          flight: () => note("flight"),
          hotel: () => {
            note("hotel");
            throw thrown();
          },
          car: () => note("car"),
          "*": () => note("all"),
        },
      });
      await shop.worker();
      const seen = await undoing(await shop.submit(1), "failed");
      expect(journal).to.deep.equal(["car", "hotel", "hotel"]);
      expect(seen).to.include({ attempts: 2, errorCode: "task-failed" });
      const { error } = monitorDocument(seen, 2);
      expect(error).to.deep.include({ code: "task-failed", steps: ["flight", "hotel:42"] });
      expect(error?.message).to.match(/could not be undone/);
      const [row] = await shop.engine.queues.figures(["paihao.undo"]);
      expect(row?.dead).to.equal(1);
    });
  }

  it("continues where it was if it is retried by hand", async () => {
    let broken = true;
    await open({
      undo: {
        flight: () => note("flight"),
        hotel: () => {
          if (broken) throw new Error("no answer");
          note("hotel");
        },
        car: () => note("car"),
      },
    });
    await shop.worker();
    const id = await shop.submit(1);
    await undoing(id, "failed");
    broken = false;
    expect(await shop.engine.deadLetters.retryAll("paihao.undo")).to.equal(1);
    await undoing(id, "succeeded");
    expect(journal).to.deep.equal(["car", "hotel", "flight"]);
  });

  it("includes a step that was recorded as undoable but has no undo any more", async () => {
    const undo = { flight: () => note("flight"), "hotel:42": () => note("hotel") };
    const handler = { ...defined({ undo }) };
    await open({}, 2, handler);
    await shop.engine.queues.pause("paihao.undo", true);
    await shop.worker();
    const id = await shop.submit(1);
    await shop.ended(id);
    // As a new version of the handler would have it.
    Object.assign(handler, { undo: { flight: undo.flight } });
    await shop.engine.queues.pause("paihao.undo", false);
    const seen = await undoing(id, "failed");
    expect(seen.errors[0]).to.match(/hotel:42 .* no undo for it any more/);
    expect(monitorDocument(seen, 2).error?.steps).to.deep.equal(["flight", "hotel:42"]);
    expect(journal).to.deep.equal([]);
  });

  it("ends at the handler's timeout even if it ignores its signal, so slots become free", async () => {
    const never = deferred();
    let hanging = 0;
    await open(
      {
        // Long enough for the step to begin on a busy machine: one that never began has nothing to undo.
        timeout: "2s",
        undo: {
          car: (_, { task }) => {
            hanging += 1;
            expect(task.signal.aborted).to.equal(false);
            return never.promise;
          },
        },
      },
      1,
    );
    await shop.worker();
    const ids = await Promise.all([1, 2, 3, 4, 5, 6].map((n) => shop.submit(n)));
    for (const id of ids) {
      const seen = await undoing(id, "failed");
      expect(seen.errorCode).to.equal("task-timeout");
      expect(monitorDocument(seen, 1).error?.steps).to.deep.equal(["car"]);
    }
    expect(hanging).to.equal(6);
    never.resolve();
  }).timeout(60_000);

  it("becomes a dead letter too if the input of the task is gone", async () => {
    await open({ undo: { car: () => note("car"), "*": () => note("all") } });
    await shop.engine.queues.pause("paihao.undo", true);
    await shop.worker();
    const id = await shop.submit("x".repeat(1000));
    await shop.ended(id);
    await (await shop.redis()).del(storedKey(shop.engine.keys.tag(0), "input", `${id}:undo:jobs`));
    await shop.engine.queues.pause("paihao.undo", false);
    const seen = await undoing(id, "failed");
    expect(monitorDocument(seen, 2).error?.steps).to.deep.equal(["car"]);
    expect((await shop.engine.queues.figures(["paihao.undo"]))[0]?.dead).to.equal(1);
    expect(journal).to.deep.equal([]);
  });

  it("is never abandoned because of lost workers", async () => {
    await open({ maxLost: 0, undo: { "*": () => note("all") } });
    await shop.engine.queues.pause("paihao.undo", true);
    const first = await shop.worker();
    const id = await shop.submit(1);
    await shop.ended(id);
    await first.stop();
    await shop.engine.queues.pause("paihao.undo", false);
    for (let losses = 1; losses <= 5; losses += 1) {
      const request = { queue: "paihao.undo", worker: "w", reservation: `r${losses}`, count: 1, leaseMs: 1 };
      await shop.engine.leases.reserve({ ...request, rate: undefined });
      await eventually(async () => (await shop.look(`${id}:undo:jobs`)).lost === losses);
    }
    await shop.worker();
    await undoing(id, "succeeded");
    expect(journal).to.deep.equal(["all"]);
  });
});
