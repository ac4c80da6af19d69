import { spawnSync } from "node:child_process";
import { FAULTS } from "../faults.ts";
import { World } from "./deployment.ts";
import { endure } from "./endure.ts";
import { NAMES } from "./faults.ts";

/** A modest load, since the fault is what is tested. */
const LOAD = { pace: { everyMs: 120, secondMs: 50, most: 64 }, chance: Math.random };
/** Maximum time of a fault, ms; most take a tenth of it. */
const LIMIT_MS = 120_000;
/** How many lines of each log are shown if a test fails. */
const LOG_LINES = 20;

const there = spawnSync("redis-server", ["--version"], { stdio: "ignore" }).status === 0;
const suite = there ? describe : describe.skip;

suite(`servers and workers under fault${there ? "" : " (left out: no redis-server on PATH to do it to)"}`, function () {
  this.timeout(LIMIT_MS);
  let world: World;

  before(async () => {
    world = await World.start();
  });
  after(() => world?.stop());

  for (const fault of NAMES) {
    it(`keep their promises in a ${fault}: ${FAULTS[fault].what}`, async () => {
      try {
        await endure(world, [fault], LOAD);
      } catch (error) {
        process.stdout.write(`${world.logs(LOG_LINES)}\n`);
        // The next fault gets new processes, so that it is judged by itself.
        await world.stop();
        world = await World.start();
        throw error;
      }
    });
  }
});
