import { expect } from "chai";
import { readConfig } from "../../src/config.ts";
import { Engine } from "../../src/engine/engine.ts";
import { settingsOf } from "../../src/engine/settings.ts";
import { defineHandler, type Handler } from "../../src/handler.ts";
import { giveUp } from "../../src/intent.ts";
import { createLog } from "../../src/log.ts";
import { Notices } from "../../src/store/notices.ts";
import { connect } from "../../src/store/redis.ts";
import { supervisor } from "../../src/workers/supervisor.ts";
import { Ticker } from "../../src/workers/ticker.ts";
import { Worker } from "../../src/workers/worker.ts";
import { openEngine, type TestEngine } from "../helpers/engine.ts";
import { eventually } from "../helpers/eventually.ts";
import { storeUrl } from "../helpers/store.ts";

/** A booking of three steps, of which the last may fail; the journal tells in which order all was done and undone. */
function booking(journal: string[], last: () => unknown, undoHotel: () => void = () => undefined): Handler {
  return defineHandler<{ name: string }>({
    queue: "jobs",
    attempts: 1,
    run: async ({ name }, task) => {
      const flight = await task.step("flight", () => journal.push("flight") && `flight of ${name}`, {
        undo: (value) => journal.push(`undo ${value}`),
      });
      await task.step("hotel", () => journal.push("hotel") && "hotel", {
        undo: (value) => {
          undoHotel();
          journal.push(`undo ${value}`);
        },
      });
      await task.step("car", last, { undo: () => journal.push("undo car") });
      return { flight };
    },
    undo: ({ name }) => journal.push(`undo all of ${name}`),
  }) as Handler;
}

describe("the supervisor", () => {
  let t: TestEngine;
  let worker: Worker;
  let ticker: Ticker;
  let close: () => Promise<void>;

  const open = async (handler: Handler) => {
    t = await openEngine();
    const log = createLog("silent");
    const config = readConfig({});
    const handlers = new Map([[handler.queue, handler]]);
    const undoing = supervisor(handlers);
    const all = new Map([...handlers, [undoing.queue, undoing]]);
    const subscriber = await connect(storeUrl(), "test-supervisor", log);
    const engine = new Engine({
      scripts: t.scripts,
      keys: t.keys,
      notices: new Notices(subscriber),
      queues: new Map([...all].map(([queue, h]) => [queue, settingsOf(h, config)])),
      fallback: t.settings,
    });
    t = { ...t, engine, settings: engine.settings("jobs") };
    worker = new Worker({ engine, handlers: all, log, maxResultBytes: 1e6, drainTimeoutMs: 1000 });
    ticker = new Ticker(engine, log);
    await worker.start();
    ticker.start();
    close = async () => {
      await worker.stop();
      await ticker.stop();
      subscriber.disconnect();
      await t.close();
    };
  };
  afterEach(() => close());

  const submit = (id: string) =>
    t.engine.submitter.submit(
      {
        ...{ id, queue: "jobs", input: '{"name":"Ada"}', mediaType: "application/json", query: {}, caller: null },
        ...{ priority: 3, delayMs: 0, maxIndex: null, dryRun: false, webhook: null },
      },
      t.settings,
    );
  const undone = (id: string) =>
    eventually(
      async () => (await t.engine.inspector.inspect(`${id}:undo:jobs`, { result: false }))?.state === "succeeded",
    );

  it("undoes the steps that succeeded in reverse order, then the task, when it fails for good", async () => {
    const journal: string[] = [];
    await open(
      booking(journal, () => {
        throw giveUp({ status: 409, title: "no car" });
      }),
    );
    await submit("a");
    await undone("a");
    expect(journal).to.deep.equal(["flight", "hotel", "undo hotel", "undo flight of Ada", "undo all of Ada"]);
  });

  it("undoes what a task has done when its result is destroyed", async () => {
    const journal: string[] = [];
    await open(booking(journal, () => "car"));
    await submit("b");
    await eventually(async () => (await t.engine.inspector.inspect("b", { result: false }))?.state === "succeeded");
    expect(await t.engine.cancel("b", "jobs")).to.equal("destroyed");
    await undone("b");
    expect(journal.slice(2)).to.deep.equal(["undo car", "undo hotel", "undo flight of Ada", "undo all of Ada"]);
  });

  it("does not undo again what was undone when a later undo fails and is tried again", async () => {
    const journal: string[] = [];
    let failures = 1;
    await open(
      booking(
        journal,
        () => "car",
        () => {
          failures -= 1;
          if (failures >= 0) throw new Error("the hotel does not answer");
        },
      ),
    );
    await submit("c");
    await eventually(async () => (await t.engine.inspector.inspect("c", { result: false }))?.state === "succeeded");
    await t.engine.cancel("c", "jobs");
    await undone("c");
    expect(journal.filter((line) => line === "undo car")).to.have.length(1);
    expect(journal.filter((line) => line === "undo hotel")).to.have.length(1);
  });

  it("leaves alone a task that never began", async () => {
    const journal: string[] = [];
    await open(booking(journal, () => "car"));
    await worker.stop();
    await submit("d");
    expect(await t.engine.cancel("d", "jobs")).to.equal("canceled");
    expect(await t.engine.inspector.inspect("d:undo:jobs", { result: false })).to.equal(null);
  });
});
