import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { verify } from "../../../src/engine/upkeep/verify.ts";
import { PARTS } from "../../../src/extras/extras.ts";
import { scriptsOf } from "../../../src/store/library/scripts.ts";
import * as fixtures from "../../fixtures/handlers/totals/handlers.ts";
import { openProcesses, type ProcessGroup } from "../../helpers/process-group.ts";
import type { ServerProcess } from "../../helpers/server-process.ts";
import { storedKey } from "../../helpers/store/stored.ts";
import { eventually } from "../../shared/eventually.ts";

const TOTAL = 2;
const TASKS = 36;
const WORKERS = 3;
/** For so long a slot may stay free while a task waits for it, ms: ticks, which come every second, find what nobody was told of. */
const STALL_MS = 3000;
const FIRST_ENDS = ["succeed", "fail", "succeed", "retry later", "succeed", "die"] as const;

/** What the store says of a queue while it is watched: how many ran at most above what was allowed, and for how long a free slot had no task. */
interface Watched {
  /** Lets so many run: those that run already go on. */
  allow(total: number): void;
  readonly running: number;
  stop(): Promise<{ readonly above: number; readonly stalledMs: number }>;
}

for (const { queue } of Object.values(fixtures)) {
  describe(`a total of ${TOTAL} over ${WORKERS} worker processes: ${queue}`, function () {
    this.timeout(120_000);
    let group: ProcessGroup;
    const workers: ServerProcess[] = [];
    before(async () => {
      const handlers = Object.values(fixtures);
      group = await openProcesses("totals", handlers, { timeless: true });
      workers.push(...(await Promise.all(Array.from({ length: WORKERS }, start))));
    });
    after(() => group?.close());

    const start = () => group.start({ ROLE: "worker", DRAIN_TIMEOUT: "0s" });
    const key = (kind: "leases" | "waiting" | "startable") =>
      storedKey(group.shop.engine.keys.tagOfQueue(queue), kind, queue);

    const watch = async (): Promise<Watched> => {
      const redis = await group.shop.redis();
      const startable = key(queue === "keyed" ? "startable" : "waiting");
      let [allowed, lower, running, above, stalledMs] = [TOTAL, TOTAL, 0, 0, 0];
      let freeSince: number | undefined;
      let watching = true;
      const watched = (async () => {
        while (watching) {
          const [[, leases], [, waiting]] = (await redis.multi().zcard(key("leases")).zcard(startable).exec()) as [
            [unknown, number],
            [unknown, number],
          ];
          running = leases;
          above = Math.max(above, running - allowed);
          if (running <= lower) allowed = lower;
          // What a rate holds back does not stall.
          const isFree = running < lower && waiting > 0 && queue !== "rated";
          if (!isFree) freeSince = undefined;
          else freeSince ??= performance.now();
          if (freeSince !== undefined) stalledMs = Math.max(stalledMs, performance.now() - freeSince);
          await delay(2);
        }
      })();
      return {
        get running() {
          return running;
        },
        allow(total) {
          lower = total;
          allowed = Math.max(allowed, total);
        },
        async stop() {
          watching = false;
          await watched;
          return { above, stalledMs };
        },
      };
    };

    it("is never exceeded, and no slot stays free, while workers die and leave, tasks fail, and it changes", async () => {
      const { shop, journal } = group;
      const watched = await watch();
      const { engine } = shop;
      const ids: string[] = [];
      for (let n = 0; n < TASKS; n += 1) {
        const input = { journal, ms: 60, who: `k${n % 4}`, firstEnd: FIRST_ENDS[n % FIRST_ENDS.length] };
        const key = queue === "keyed" && { key: input.who };
        const share = queue === "fair" && { share: { key: input.who, weight: 1 } };
        ids.push(await shop.submit(input, { queue, ...key, ...share }));
      }
      const begun = async (count: number) => {
        const lines = await group.lines();
        return new Set(lines.filter((line) => line.includes("begins")).map((line) => line.split(" ")[0])).size >= count;
      };
      const setTotal = async (total: number | null) => {
        // More may run as soon as the store has heard of it.
        watched.allow(Math.max(total ?? TOTAL, watched.running));
        await engine.queues.adjust(queue, { total });
        watched.allow(total ?? TOTAL);
      };
      await eventually(() => begun(3));
      for (const id of ids.slice(-2)) await engine.call("cancel", { id, queue });
      const running = await eventually(async () => {
        for (const id of ids) if ((await shop.look(id)).state === "running") return id;
        return false;
      });
      await engine.call("cancel", { id: String(running), queue });
      await setTotal(4);
      await eventually(() => watched.running > TOTAL);
      await setTotal(1);
      await eventually(() => watched.running <= 1);
      await eventually(() => begun(12));
      await setTotal(null);
      await eventually(() => watched.running === TOTAL);
      const [killed, left] = workers;
      killed?.child.kill("SIGKILL");
      await start();
      await eventually(() => begun(16));
      left?.child.kill("SIGTERM");
      await left?.ended;
      await start();
      for (const id of ids) expect(["succeeded", "canceled"], id).to.include((await shop.ended(id)).state);
      const { above, stalledMs } = await watched.stop();
      expect(above, "more than may run").to.equal(0);
      expect(stalledMs, "ms for which a slot was free").to.be.below(STALL_MS);
      const redis = await shop.redis();
      const scripts = scriptsOf(redis, { parts: PARTS });
      expect((await verify(redis, scripts, engine.keys, { heal: false })).disagreeing).to.deep.equal([]);
    });
  });
}
