import { spawnSync } from "node:child_process";
import { endure, type Row } from "./endure.ts";
import { FAULTS } from "./faults.ts";
import { table } from "./table.ts";
import { World } from "./world.ts";

/** A modest load, since the fault is what is tested. */
const LOAD = { clients: 4, pauseMs: 10, workMs: 40 };
/** Maximum time of a fault, ms; most take a tenth of it. */
const LIMIT_MS = 120_000;
/** How many lines of each log are shown if a test fails. */
const LOG_LINES = 20;

const there = spawnSync("redis-server", ["--version"], { stdio: "ignore" }).status === 0;
const suite = there ? describe : describe.skip;

suite(`servers and workers under fault${there ? "" : " (left out: no redis-server on PATH to do it to)"}`, function () {
  this.timeout(LIMIT_MS);
  const rows: Row[] = [];
  let world: World;

  before(async () => {
    world = await World.start();
  });
  after(async () => {
    await world?.stop();
    process.stdout.write(`\n${table(rows)}\n`);
  });

  for (const fault of FAULTS) {
    it(`lose nothing to ${fault.name}`, async () => {
      try {
        rows.push(await endure(world, [fault], LOAD));
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
