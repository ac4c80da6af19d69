import { expect } from "chai";
import { Redis } from "ioredis";
import { readConfig } from "../../src/config/config.ts";
import { createLog } from "../../src/log.ts";
import { start } from "../../src/server.ts";
import { needsRedisServer } from "../cluster/needs.ts";
import { eventually } from "../shared/eventually.ts";
import { startRedis } from "../shared/redis-server.ts";

/** Ticks come less often than this only where there is nothing to do, ms. */
const IDLE_GAP_MS = 2500;
/** So many ticks are waited for. */
const TICKS = 2;
const PATIENCE_MS = 60_000;

/** How many commands an idle worker costs a second, those that scripts call among them. */
async function commandsPerSecond(partitions: number): Promise<number> {
  const store = await startRedis();
  const redis = new Redis(store.url);
  const config = readConfig({ REDIS_URL: store.url, ROLE: "worker", PARTITIONS: String(partitions) });
  const server = await start(config, createLog("silent"));
  let own = 0;
  const ticked = async () => {
    own += 1;
    return Number(await redis.hget("{ph:0}ticked", "at"));
  };
  const count = async () => {
    const own_ = own;
    const [, total = ""] = /total_commands_processed:(\d+)/.exec(await redis.info("stats")) ?? [];
    own += 1;
    return Number(total) - own_;
  };
  /** When the next tick was, by the clock of the store. */
  const nextTick = async (after: number): Promise<number> => {
    let at = after;
    await eventually(async () => {
      at = await ticked();
      return at > after;
    }, PATIENCE_MS);
    return at;
  };
  try {
    let at = await nextTick(0);
    for (let gapMs = 0; gapMs < IDLE_GAP_MS; ) {
      const next = await nextTick(at);
      gapMs = next - at;
      at = next;
    }
    const [before, beganAt] = [await count(), at];
    for (let n = 0; n < TICKS; n += 1) at = await nextTick(at);
    return ((await count()) - before) / ((at - beganAt) / 1000);
  } finally {
    await server.stop(0);
    redis.disconnect();
    await store.stop("SIGKILL");
  }
}

describe("an idle worker", function () {
  this.timeout(3 * PATIENCE_MS);
  before(async function () {
    await needsRedisServer(this);
  });

  it("costs the store few commands, and few more for each partition", async () => {
    const [one, six] = await Promise.all([commandsPerSecond(1), commandsPerSecond(6)]);
    // About 26 and 69, of which one process of all spends 14 and 38 to look for incidents; half as much again, as rare commands may fall into the
    // time.
    expect(one, "with one partition").to.be.below(39);
    expect(six, "with six partitions").to.be.below(103);
  });
});
