import { expect } from "chai";
import type { Inspection } from "../../../src/engine/watch/inspect.ts";
import { Notices } from "../../../src/engine/watch/notices.ts";
import { watchedTasks } from "../../../src/engine/watch/watch.ts";
import { Watchers } from "../../../src/engine/watch/watchers.ts";
import type { PubSub } from "../../../src/store/pubsub.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { eventually } from "../../shared/eventually.ts";

/** As always, but without the waiting. */
const QUICK = { passMs: 20 };

/** What a listener was told, and a way to wait for it. */
function ear() {
  const told: (Inspection | null)[] = [];
  return {
    told,
    listener: (seen: Inspection | null) => told.push(seen),
    /** Resolves when something that fits was told. */
    heard: (fits: (seen: Inspection | null) => boolean) => eventually(() => told.some(fits)),
  };
}

describe("watching tasks", () => {
  let t: TestEngine;
  let looks: string[];
  let engine: Parameters<typeof watchedTasks>[0];
  let stops: (() => void)[];
  beforeEach(async () => {
    t = await openEngine();
    looks = [];
    stops = [];
    const { notices } = t.engine;
    engine = {
      inspector: {
        inspect: (id, wanted) => {
          looks.push(id);
          return t.engine.inspector.inspect(id, wanted);
        },
        attend: (task) => t.engine.inspector.attend(task),
      },
      notices,
      queues: { figures: (names) => t.engine.queues.figures(names) },
    };
  });
  afterEach(async () => {
    for (const stop of stops) stop();
    await t.close();
  });

  const watch = async (watchers: Watchers, id: string, listener: (seen: Inspection | null) => void) => {
    const watched = await watchers.watch({ id, queue: "jobs" });
    stops.push(watched.stop);
    const first = watched.seen;
    void (async () => {
      while (await watched.next()) listener(watched.seen);
    })();
    return { first };
  };

  it("reports changes to all watchers of a task at once, with one read", async () => {
    // A pass would look as well.
    const watchers = new Watchers(watchedTasks(engine), { passMs: 60_000 });
    await t.submit({ id: "a" });
    const ears = [ear(), ear(), ear()];
    for (const { listener } of ears) expect((await watch(watchers, "a", listener)).first?.state).to.equal("waiting");
    expect(watchers.size).to.equal(1);
    looks.length = 0;
    await t.reserve(1);
    for (const { heard } of ears) await heard((seen) => seen?.state === "running");
    expect(looks).to.deep.equal(["a"]);
  });

  it("reports changes of places, although nothing is published for waiting tasks", async () => {
    const watchers = new Watchers(watchedTasks(engine), QUICK);
    for (const id of ["a", "b", "c"]) await t.submit({ id });
    const { listener, heard, told } = ear();
    expect((await watch(watchers, "c", listener)).first?.index).to.equal(2);
    await t.reserve(2);
    await heard((seen) => seen?.index === 0);
    expect(told.every((seen) => seen?.state === "waiting")).to.equal(true);
  });

  it("does not read places in a line that has not moved, except for a few in turn", async () => {
    const watchers = new Watchers(watchedTasks(engine), QUICK);
    await t.submit({ id: "first" });
    for (let n = 0; n < 40; n += 1) {
      await t.submit({ id: `w${n}` });
      await watch(watchers, `w${n}`, () => undefined);
    }
    const passes: number[] = [];
    const figures = engine.queues.figures;
    (engine.queues as { figures: typeof figures }).figures = (names) => {
      passes.push(looks.length);
      looks.length = 0;
      return figures(names);
    };
    await eventually(() => passes.length >= 4);
    // The first pass knows of no earlier figures; each later one looks at a tenth of the forty.
    expect(passes.slice(2)).to.satisfy((counts: number[]) => counts.every((count) => count <= 4));
  });

  it("notices changes without messages", async () => {
    const deaf = { listen: async () => () => undefined } as unknown as PubSub;
    const watchers = new Watchers(watchedTasks({ ...engine, notices: new Notices(deaf, t.keys) }), QUICK);
    await t.submit({ id: "a" });
    const [task] = await t.reserve(1);
    const { listener, heard } = ear();
    await watch(watchers, "a", listener);
    await t.engine.leases.complete(
      { queue: "jobs", id: "a", fence: task?.fence ?? "" },
      { status: 200, contentType: null, headers: {}, body: Buffer.alloc(0) },
      t.settings,
    );
    await heard((seen) => seen?.state === "succeeded");
  });

  it("stops when nobody watches, and starts again", async () => {
    const watchers = new Watchers(watchedTasks(engine), QUICK);
    await t.submit({ id: "a" });
    await t.submit({ id: "b" });
    const first = await watchers.watch({ id: "b", queue: "jobs" });
    first.stop();
    first.stop();
    expect(watchers.size).to.equal(0);
    const { listener, heard } = ear();
    await watch(watchers, "b", listener);
    await t.reserve(1);
    await heard((seen) => seen?.index === 0);
  });

  it("tells that a task is gone", async () => {
    const watchers = new Watchers(watchedTasks(engine), QUICK);
    await t.submit({ id: "a" });
    const { listener, heard, told } = ear();
    await watch(watchers, "a", listener);
    await t.redis.unlink(t.key("task", "a"));
    await heard((seen) => seen === null);
    expect(told.filter((seen) => seen === null)).to.have.length(1);
  });

  it("reads again in the next pass what could not be read after a notice", async () => {
    const errors: unknown[] = [];
    let away = false;
    const inspector: typeof engine.inspector = {
      ...engine.inspector,
      inspect: (...args) => (away ? Promise.reject(new Error("away")) : engine.inspector.inspect(...args)),
    };
    const onError = (error: unknown) => {
      errors.push(error);
      away = false;
    };
    const watchers = new Watchers(watchedTasks({ ...engine, inspector }), { passMs: 200, onError });
    await t.submit({ id: "a" });
    const { listener, heard } = ear();
    await watch(watchers, "a", listener);
    away = true;
    await t.reserve(1);
    await heard((seen) => seen?.state === "running");
    expect(errors.map(String)).to.deep.equal(["Error: away"]);
  });

  it("adds this process to the record of a task once, and to that of another task that has the id later", async () => {
    const watchers = new Watchers(watchedTasks(engine), { passMs: 60_000 });
    const listed: (boolean | undefined)[] = [];
    const { inspect } = engine.inspector;
    (engine.inspector as { inspect: typeof inspect }).inspect = (id, options) => {
      listed.push(options.listen);
      return inspect(id, options);
    };
    await watch(watchers, "a", () => undefined);
    // The first pass begins at once, and reads it as well.
    await eventually(() => listed.length === 2);
    await t.submit({ id: "a" });
    await watch(watchers, "a", () => undefined);
    await watch(watchers, "a", () => undefined);
    expect(listed).to.deep.equal([true, true, true, false]);
  });

  it("does not lose a change that comes while its caller is busy, wakes whoever waits for output, and ends", async () => {
    const watchers = new Watchers(watchedTasks(engine), { passMs: 60_000 });
    await t.submit({ id: "a" });
    const task = { id: "a", queue: "jobs" };
    const [states, output] = [await watchers.watch(task), await watchers.watch(task, { output: true })];
    await t.reserve(1);
    await eventually(() => states.seen?.state === "running");
    expect(await states.next()).to.equal(true);
    expect(await output.next()).to.equal(true);
    const before = output.outputs;
    const woken: string[] = [];
    const listening = [
      states.next().then((goesOn) => woken.push(`states ${goesOn}`)),
      output.next().then((goesOn) => woken.push(`output ${goesOn}`)),
    ];
    t.engine.notices.notify("a", { id: "a", ended: false, output: true, end: null });
    await listening[1];
    expect(woken).to.deep.equal(["output true"]);
    expect(output.outputs).to.be.above(before);
    states.stop();
    await listening[0];
    expect(woken).to.deep.equal(["output true", "states false"]);
    output.stop();
    expect([await states.next(), await output.next(), watchers.size]).to.deep.equal([false, false, 0]);
  });

  it("reports an unknown task, and a store that is down", async () => {
    const watchers = new Watchers(watchedTasks(engine), QUICK);
    expect((await watch(watchers, "nobody", () => undefined)).first).to.equal(null);
    const inspector = { ...engine.inspector, inspect: () => Promise.reject(new Error("away")) };
    const broken = new Watchers(watchedTasks({ ...engine, inspector }));
    const failed = await broken.watch({ id: "a", queue: "jobs" }).catch((error: Error) => error.message);
    expect(failed).to.equal("away");
    expect(broken.size).to.equal(0);
  });
});
