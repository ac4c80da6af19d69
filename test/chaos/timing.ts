import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { expect } from "chai";
import { startTcpProxy } from "../helpers/tcp-proxy.ts";
import { eventually } from "../shared/eventually.ts";
import type { Fault } from "./endure.ts";
import type { World } from "./world.ts";

const HOUR_MS = 3_600_000;
/** For how long replies are late, ms, and by how much at most; now and then one is lost. */
const LATE = { forMs: 3000, mostMs: 200, lostEveryMs: 150 } as const;
/** Tasks that are submitted twice at the same time. */
const TWICE = 20;
/** Longer than the lease of a task of these queues, ms. */
const FROZEN_MS = 1300;
/** The scripts at which a worker is stopped, and how long it may take to call the next one, ms. */
const SCRIPTS = { least: 3, most: 8, quietMs: 5000 } as const;
/** Maximum time to wait for anything, ms: the machine may be busy. */
const PATIENCE_MS = 60_000;
/** A call of a function of the library: its verb, then the digest. */
const CALL = /FCALL(?:_RO)?\r\n\$\d+\r\n([a-z_]+?)_(?:ro_)?[0-9a-f]+\r\n/gi;

/** The environment of a process whose clock is wrong by this much. */
const clock = (aheadMs: number): Readonly<Record<string, string>> => ({
  NODE_OPTIONS: `--import=${pathToFileURL(path.join(import.meta.dirname, "wrong-clock.mjs")).href}`,
  CHAOS_CLOCK_AHEAD_MS: String(aheadMs),
});

function hasRun(world: World, pid: number): Promise<unknown> {
  return eventually(() => world.journal.executions().some((run) => run.pid === pid && run.ended), PATIENCE_MS);
}

export const clocksApart: Fault = {
  name: "clocks: workers an hour ahead and an hour behind, the API two",
  async strike(world) {
    await world.replaceApi(clock(2 * HOUR_MS));
    const workers = await Promise.all([world.startWorker(clock(HOUR_MS)), world.startWorker(clock(-HOUR_MS))]);
    await Promise.all(workers.map(({ pid }) => hasRun(world, pid)));
    for (const { child, ended } of workers) {
      child.kill("SIGTERM");
      expect(await ended, "the end of a worker that drains").to.equal(0);
    }
    await world.replaceApi();
    return {};
  },
};

export const repliesLate: Fault = {
  name: "network: replies late or lost, and every call sent twice",
  async strike(world, load) {
    const over = performance.now() + LATE.forMs;
    world.proxy.delayReplies(() => Math.random() * LATE.mostMs);
    const ids = Array.from({ length: TWICE }, (_, n) => `twice-${n}-${performance.now().toFixed(0)}`);
    const twice = ids.flatMap((id) => [load.submit(id, "work", { ms: 10 }), load.submit(id, "work", { ms: 10 })]);
    while (performance.now() < over) {
      void world.proxy.loseReply();
      await delay(LATE.lostEveryMs);
    }
    world.proxy.delayReplies(() => 0);
    await Promise.all(twice);
    return {};
  },
};

export const frozenAtScripts: Fault = {
  name: "worker: SIGSTOP past the lease at each of its scripts",
  async strike(world) {
    const wire = await startTcpProxy(world.redis.port);
    try {
      const worker = await world.startWorker({ REDIS_URL: `redis://127.0.0.1:${wire.port}` });
      await hasRun(world, worker.pid);
      const seen = new Set<string>();
      let isFrozen = false;
      wire.onRequest((data) => {
        const verb = [...data.matchAll(CALL)].map((match) => match[1] ?? "").find((name) => !seen.has(name));
        if (isFrozen || verb === undefined || seen.size >= SCRIPTS.most) return;
        // The script runs, but nobody reads its reply.
        isFrozen = worker.child.kill("SIGSTOP");
        seen.add(verb);
      });
      const nextFreeze = () =>
        eventually(() => isFrozen, SCRIPTS.quietMs).then(
          () => true,
          () => false,
        );
      while (await nextFreeze()) {
        await delay(FROZEN_MS);
        worker.child.kill("SIGCONT");
        isFrozen = false;
      }
      expect(seen.size, [...seen].join(", ")).to.be.at.least(SCRIPTS.least);
      worker.child.kill("SIGTERM");
      expect(await worker.ended, "the end of a worker that drains").to.equal(0);
    } finally {
      await wire.stop();
    }
    return {};
  },
};
