import { expect } from "chai";
import { defineHandler } from "../../src/handler/define.ts";
import { createLog } from "../../src/log.ts";
import { Ticker } from "../../src/workers/ticker.ts";
import { deferred } from "../helpers/deferred.ts";
import { type ClockedRedis, canSetClocks, startClockedRedis } from "../helpers/store/clocked-redis.ts";
import { openWorkshop, type Workshop } from "../helpers/workshop.ts";
import { eventually } from "../shared/eventually.ts";

const [SECOND_MS, MINUTE_MS, HOUR_MS, DAY_MS] = [1000, 60_000, 3_600_000, 86_400_000];
/** A lease of 9 s is renewed every 3 s: right after a renewal, the next one is further off than the usual tick. */
const LEASES = ["1s", "9s", "15m"] as const;

/** A store with a clock of its own, a worker whose tasks run until they are let go, and the usual ticks of two processes. */
interface Scene extends Workshop {
  readonly store: ClockedRedis;
  readonly ids: readonly string[];
  /** How often a handler has begun. */
  readonly runs: () => number;
  /** How often the leases of a queue have been renewed. */
  readonly renewals: (queue: string) => number;
  finish(): Promise<void>;
}

async function openScene(): Promise<Scene> {
  const store = await startClockedRedis();
  const done = deferred();
  let runs = 0;
  const handlers = LEASES.map((lease) =>
    defineHandler({
      ...{ queue: lease, lease, concurrency: 2 },
      run: async () => {
        runs += 1;
        await done.promise;
      },
    }),
  );
  const shop = await openWorkshop(handlers, { url: store.url, timeless: true });
  const renewed: string[] = [];
  const { leases } = shop.engine;
  const renew = leases.renew.bind(leases);
  leases.renew = async (lease, leaseMs) => {
    const verdict = await renew(lease, leaseMs);
    renewed.push(lease.queue);
    return verdict;
  };
  const log = createLog("silent");
  const tickers = [new Ticker(shop.engine, log), new Ticker(shop.engine, log)];
  for (const ticker of tickers) ticker.start();
  await shop.worker();
  const ids = await Promise.all(LEASES.flatMap((queue) => [1, 2].map((n) => shop.submit(n, { queue }))));
  await eventually(() => runs === ids.length);
  return {
    ...shop,
    ...{ store, ids, runs: () => runs },
    renewals: (queue) => renewed.filter((one) => one === queue).length,
    async finish() {
      done.resolve();
      for (const id of ids) await shop.ended(id);
      await Promise.all(tickers.map((ticker) => ticker.stop()));
      await shop.close();
      await store.stop();
    },
  };
}

describe("a worker that lives while the clock of the store is set forward", function () {
  this.timeout(90_000);
  before(function () {
    if (!canSetClocks()) this.skip();
  });

  it("loses nothing, whatever the step and its leases", async () => {
    const steps = [2 * SECOND_MS, 12 * SECOND_MS, 14 * MINUTE_MS, HOUR_MS, DAY_MS];
    const seen = await Promise.all(
      steps.map(async (stepMs) => {
        const scene = await openScene();
        await eventually(() => scene.renewals("1s") >= 2);
        const before = scene.renewals("9s");
        scene.store.setAhead(stepMs);
        await eventually(() => scene.renewals("9s") >= before + 2);
        const tasks = await Promise.all(scene.ids.map((id) => scene.look(id)));
        const runs = scene.runs();
        await scene.finish();
        return { stepMs, runs, lost: tasks.map(({ lost }) => lost), states: tasks.map(({ state }) => state) };
      }),
    );
    for (const { stepMs, runs, lost, states } of seen) {
      expect([runs, ...lost, ...states], `after a step of ${stepMs} ms`).to.deep.equal([
        LEASES.length * 2,
        ...lost.map(() => 0),
        ...states.map(() => "running"),
      ]);
    }
  });
});
