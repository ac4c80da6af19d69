import { expect } from "chai";
import { retentionOf, settingsOf } from "../../src/engine/settings.ts";
import { defineGateway } from "../../src/extras/gateway/gateway.ts";
import { defineHandler } from "../../src/handler/define.ts";
import { INTERNAL_QUEUES } from "../../src/handler/internal-queues.ts";
import type { HandlerOptions } from "../../src/handler/options.ts";

/** What the environment says. */
const CONFIG = {
  ...{ concurrency: 7, attempts: 4, leaseMs: 16_000, resultTtlMs: 1000, tombstoneTtlMs: 2000, deadTtlMs: 3000 },
  maxWaiting: 99,
  showStacks: false,
};

describe("the settings of a queue", () => {
  const of = (options: Partial<HandlerOptions<unknown>> = {}) =>
    settingsOf(defineHandler({ queue: "jobs", run: () => undefined, ...options }), CONFIG);

  it("are those of the environment, unless its handler says otherwise", () => {
    expect(of()).to.include({ queue: "jobs", ...CONFIG });
    const own = of({ concurrency: 1, attempts: 1, lease: "2s", resultTtl: "3s" });
    expect(own).to.include({ concurrency: 1, attempts: 1, leaseMs: 2000, resultTtlMs: 3000, deadTtlMs: 3000 });
    expect(retentionOf(of())).to.deep.equal({ keepMs: 1000, tombstoneMs: 2000 });
  });

  it("give a task up after some lost workers, but never one of the server's own", () => {
    expect(of({ maxLost: 9 }).maxLost).to.equal(9);
    expect(of().maxLost).to.be.within(1, 100);
    const own = settingsOf(
      { ...defineHandler({ queue: "jobs", run: () => undefined }), queue: INTERNAL_QUEUES.undo },
      CONFIG,
    );
    expect(own.maxLost).to.equal(Number.MAX_SAFE_INTEGER);
  });

  it("have a circuit breaker for a gateway only", () => {
    expect(settingsOf(defineGateway({ queue: "jobs", target: "http://127.0.0.1:1" }), CONFIG).gated).to.equal(true);
    expect(of().gated).to.equal(false);
  });

  it("say how many tasks of one key run and wait: of a keyed line, of callers with a limit, or of none", () => {
    const keys = ({ keyedConcurrency, keyedWaiting }: ReturnType<typeof of>) => [keyedConcurrency, keyedWaiting];
    expect(keys(of())).to.deep.equal([undefined, undefined]);
    expect(keys(of({ keyed: { by: () => "a", concurrency: 3 } }))).to.deep.equal([3, undefined]);
    expect(keys(of({ limit: { running: 2, waiting: 5 } }))).to.deep.equal([2, 5]);
    expect(keys(of({ limit: { running: 2 } }))).to.deep.equal([2, Number.POSITIVE_INFINITY]);
    const [running = 0, waiting] = keys(of({ limit: { waiting: 5 } }));
    expect(waiting).to.equal(5);
    expect(running, "as many as there are workers").to.be.above(1_000_000);
  });

  it("let what follows a task wait for the end of its handler if that may undo, or if tasks of a key wait for each other", () => {
    const exclusive = (options: Partial<HandlerOptions<unknown>>) => of(options).exclusive;
    expect(exclusive({})).to.equal(false);
    expect(exclusive({ limit: { waiting: 5 } })).to.equal(false);
    expect(exclusive({ limit: { running: 5 } })).to.equal(true);
    expect(exclusive({ keyed: { by: () => "a" } })).to.equal(true);
    expect(exclusive({ undo: { step: () => undefined } })).to.equal(true);
    expect([of().undo, of({ undo: { step: () => undefined } }).undo]).to.deep.equal([false, true]);
  });
});
