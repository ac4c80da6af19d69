import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { isOutcome } from "../../src/task.ts";
import { refuses } from "../helpers/process.ts";
import type { ServerProcess } from "../helpers/server-process.ts";
import { eventually } from "../shared/eventually.ts";
import type { Fault } from "./endure.ts";
import { handover, laggingButDurable, laggingReplica, masterLost } from "./failovers.ts";
import type { Load } from "./load.ts";
import { clocksApart, frozenAtScripts, repliesLate } from "./timing.ts";
import type { World } from "./world.ts";

/** How long faults with a duration last, ms. */
const WHILE_MS = 2000;
/** Tasks that run beside the one that kills its worker. */
const NEIGHBORS = 8;
/** How many callers wait for a result when the API is stopped. */
const CALLERS = 40;
/** How long Redis refuses writes or pauses its clients, ms: longer than a lease. */
const PAUSE_MS = 3000;
/** How often Redis stands still, for how long (more than a lease), and the pause in between, ms. */
const FROZEN_MS = 2500;
const FREEZES = 4;
const THAWED_MS = 700;
/**
 * How many workers are killed one after the other, how far apart, ms, and how many tasks run meanwhile. The times vary: with a fixed
 * interval, each kill would hit the tasks of an earlier one at the same moment of their next run.
 */
const KILLS = 10;
const KILL_AFTER_MS = { min: 700, max: 1300 };
const INNOCENTS = 100;
/** How long after the last kill all its tasks must have run again, ms: a lease, and some time for a busy machine. */
const RERUN_MS = 3000 + 15_000;
/**
 * Maximum number of tasks whose worker is killed after it has reported the beginning of the handler, but before the handler's own note:
 * 8 tasks at once, in two kills of ten.
 */
const MAX_EARLY = 16;
/** How long after SIGSTOP a process may still do something, ms. */
const STANDSTILL_MS = 50;
/** Maximum time to wait for anything, ms: the machine may be busy. */
const PATIENCE_MS = 60_000;
/** What a worker logs if the end of an attempt comes too late. */
const REFUSED = /no longer belongs to this worker|the lease was lost|the lease of a running task/;
/** How much memory is left when it becomes scarce, bytes. */
const SPARE_BYTES = 3 * 1024 ** 2;

/** A worker with running tasks, and those tasks. */
async function busyWorker(world: World): Promise<{ worker: ServerProcess; held: string[] }> {
  return eventually(() => {
    for (const worker of world.workers) {
      const held = world.journal.heldBy(worker.pid);
      if (held.length > 1) return { worker, held };
    }
    throw new Error("no worker is busy");
  });
}

/** Stops a worker with running tasks. They are read only after it stands still, since it might end them before. */
async function stopBusyWorker(world: World): Promise<{ worker: ServerProcess; held: string[] }> {
  for (;;) {
    const { worker } = await busyWorker(world);
    worker.child.kill("SIGSTOP");
    await delay(STANDSTILL_MS);
    const held = world.journal.heldBy(worker.pid);
    if (held.length > 0) return { worker, held };
    worker.child.kill("SIGCONT");
  }
}

function finished(world: World, ids: readonly string[]): Promise<unknown> {
  return eventually(async () => {
    const seen = await Promise.all(ids.map((id) => world.observer.engine.inspector.inspect(id, { result: false })));
    return seen.every((task) => task !== null && isOutcome(task.state));
  }, PATIENCE_MS);
}

/** Repeats something for a while. */
async function during(ms: number, everyMs: number, act: () => Promise<unknown>): Promise<void> {
  const over = performance.now() + ms;
  while (performance.now() < over) {
    await act();
    await delay(everyMs);
  }
}

const workerKilled: Fault = {
  name: "worker: kill -9",
  async strike(world) {
    const { worker, held } = await busyWorker(world);
    worker.child.kill("SIGKILL");
    await worker.ended;
    return { recovered: () => finished(world, held) };
  },
};

const workerStopped: Fault = {
  name: "worker: SIGSTOP past the lease, SIGCONT",
  async strike(world) {
    const { worker, held } = await stopBusyWorker(world);
    return {
      recovered: () => finished(world, held),
      // It finishes its tasks too late. The results show whether that was refused: they name the process that made them.
      afterwards: async () => {
        worker.child.kill("SIGCONT");
        await eventually(() => {
          const open = world.journal.heldBy(worker.pid).filter((id) => held.includes(id));
          expect(open, `what ${worker.pid} does not end`).to.deep.equal([]);
          expect(
            worker.logged.filter((line) => REFUSED.test(line)),
            "late ends that were refused",
          ).not.to.have.length(0);
        }, PATIENCE_MS);
        for (const id of held) {
          if (world.journal.executions().filter((run) => run.id === id).length === 1) continue;
          const seen = await world.observer.engine.inspector.inspect(id, { result: true });
          const { pid } = JSON.parse(Buffer.from(seen?.result?.body ?? "{}").toString()) as { pid?: number };
          expect(pid, `who finished ${id}`).to.not.equal(worker.pid);
        }
      },
    };
  },
};

const workersKilled: Fault = {
  name: "worker: kill -9 every second",
  async strike(world, load) {
    const stamp = performance.now().toFixed(0);
    const ids = Array.from({ length: INNOCENTS }, (_, n) => `innocent-${n}-${stamp}`);
    const accepted = await Promise.all(ids.map((id) => load.submit(id, "innocent", { ms: 100 })));
    expect(new Set(accepted)).to.deep.equal(new Set(["accepted"]));
    for (let n = 0; n < KILLS; n += 1) {
      const worker = await eventually(() => {
        const [oldest] = world.workers;
        if (!oldest) throw new Error("no worker is there");
        return oldest;
      });
      worker.child.kill("SIGKILL");
      await worker.ended;
      await delay(KILL_AFTER_MS.min + Math.random() * (KILL_AFTER_MS.max - KILL_AFTER_MS.min));
    }
    const over = performance.now();
    return {
      recovered: async () => {
        await finished(world, ids);
        expect(performance.now() - over, "ms from the last kill until all were done").to.be.below(RERUN_MS);
        const executions = world.journal.executions();
        const early: string[] = [];
        for (const id of ids) {
          // All but the last, whose end was stored. A handler may return just before its worker is killed, and so before that.
          const cutOff = executions.filter((one) => one.id === id).length - 1;
          const seen = await world.observer.engine.inspector.inspect(id, { result: false });
          expect(seen, id).to.include({ state: "succeeded" });
          // If a task has lost no worker before, its reservation counts as its beginning.
          if ((seen?.lost ?? 0) > cutOff + 1) early.push(`${id}: ${seen?.lost} losses, cut off ${cutOff} times`);
        }
        expect(early.length, `losses before a handler began: ${early.join("; ")}`).to.be.at.most(MAX_EARLY);
      },
    };
  },
};

const apiKilled: Fault = {
  name: "API: kill -9",
  async strike(world) {
    world.api.child.kill("SIGKILL");
    await world.api.ended;
    await world.startApi();
    return {};
  },
};

const apiStopped: Fault = {
  name: "API: SIGTERM under synchronous load",
  async strike(world, load) {
    const { url, child, ended } = world.api;
    const { engine } = world.observer;
    // Workers are paused until the API accepts no more connections, so that all requests are in flight when it stops.
    await engine.queues.pause("work", true);
    const ids = Array.from({ length: CALLERS }, (_, n) => `sync-${n}-${performance.now().toFixed(0)}`);
    const held = ids.map((id) => load.hold(id));
    await eventually(async () => {
      const seen = await Promise.all(ids.map((id) => engine.inspector.inspect(id, { result: false })));
      return seen.every((task) => task !== null);
    });
    child.kill("SIGTERM");
    await eventually(() => refuses(url));
    await engine.queues.pause("work", false);
    expect(await Promise.all(held), "answers of those who wait").to.deep.equal(new Array(CALLERS).fill(200));
    expect(await ended, "the end of an API that stops").to.equal(0);
    await world.startApi();
    return {};
  },
};

const redisCrash: Fault = {
  name: "Redis: kill -9, restart on its AOF",
  async strike(world) {
    await world.crashRedis({ empty: false });
    return {};
  },
};

const redisEmptied: Fault = {
  name: "Redis: restart empty",
  async strike(world, load) {
    await world.crashRedis({ empty: true });
    // An emptied store has lost its tasks. All processes must go on without a restart.
    load.writeOff();
    return {};
  },
};

const functionFlush: Fault = {
  name: "Redis: FUNCTION FLUSH, again and again",
  async strike(world) {
    await during(WHILE_MS, 5, () => world.admin.function("FLUSH"));
    return {};
  },
};

const clientKill: Fault = {
  name: "Redis: CLIENT KILL of all, again and again",
  async strike(world) {
    await during(WHILE_MS, 50, async () => {
      await world.admin.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
      await world.admin.call("CLIENT", "KILL", "TYPE", "pubsub");
    });
    return {};
  },
};

const clientPause: Fault = {
  name: "Redis: CLIENT PAUSE for 3 s",
  async strike(world) {
    await world.admin.call("CLIENT", "PAUSE", PAUSE_MS, "ALL");
    // Answered when the pause is over.
    await world.admin.ping();
    return {};
  },
};

const frozen: Fault = {
  name: "Redis: SIGSTOP beyond the lease, four times",
  async strike(world, load) {
    const stamp = performance.now().toFixed(0);
    const ids = Array.from({ length: NEIGHBORS }, (_, n) => `through-${n}-${stamp}`);
    const ms = FREEZES * (FROZEN_MS + THAWED_MS);
    for (const id of ids) expect(await load.submit(id, "work", { ms })).to.equal("accepted");
    const look = (id: string) => world.observer.engine.inspector.inspect(id, { result: false });
    await eventually(async () => (await Promise.all(ids.map(look))).every((seen) => seen?.state === "running"));
    for (let n = 0; n < FREEZES; n += 1) {
      process.kill(world.redis.pid, "SIGSTOP");
      await delay(FROZEN_MS);
      process.kill(world.redis.pid, "SIGCONT");
      await delay(THAWED_MS);
    }
    return {
      recovered: async () => {
        await finished(world, ids);
        // No worker has died, so no loss may be counted.
        for (const id of ids) expect(await look(id), id).to.include({ state: "succeeded", lost: 0, attempts: 1 });
      },
    };
  },
};

const halfOpen: Fault = {
  name: "network: all connections half-open",
  async strike(world) {
    world.proxy.freeze();
    // What was sent into the dead connections arrives at last, long after new ones have taken over.
    return { afterwards: async () => world.proxy.thaw() };
  },
};

const silence: Fault = {
  name: "notices: every subscriber cut, again and again",
  async strike(world, load) {
    const held = [1, 2, 3].map((n) => load.hold(`held-${n}-${performance.now()}`.replace(".", "-")));
    await during(WHILE_MS, 10, () => world.admin.call("CLIENT", "KILL", "TYPE", "pubsub"));
    expect(await Promise.all(held), "answers of those who wait").to.deep.equal([200, 200, 200]);
    return {};
  },
};

const memoryFull: Fault = {
  name: "Redis: maxmemory reached",
  async strike(world, load) {
    const { engine } = world.observer;
    await engine.queues.pause("work", true);
    const used = async () => Number(/^used_memory:(\d+)/m.exec(await world.admin.info("memory"))?.[1]);
    await world.admin.config("SET", "maxmemory", String((await used()) + SPARE_BYTES));
    await fillUp(load);
    // Well above the limit, so that only drained tasks make room.
    await world.admin.config("SET", "maxmemory", String((await used()) - SPARE_BYTES / 2));
    // A new worker must be able to start, and all must be able to drain, although each task first stores a step.
    const late = await world.startWorker();
    await engine.queues.pause("work", false);
    await eventually(async () => (await load.submit(`again-${performance.now()}`, "work", { ms: 0 })) === "accepted");
    await world.admin.config("SET", "maxmemory", "0");
    late.child.kill("SIGTERM");
    expect(await late.ended, "the end of a worker that drains").to.equal(0);
    return {};
  },
};

async function fillUp(load: Load): Promise<void> {
  for (let n = 0; ; n += 1) {
    const verdict = await load.submit(`filler-${n}-${performance.now()}`.replace(".", "-"), "work", {
      ms: 0,
      step: true,
      ballast: "x".repeat(64 * 1024),
    });
    if (verdict === "store-full") return;
    expect(verdict, "while memory runs out").to.equal("accepted");
  }
}

const readOnly: Fault = {
  name: "Redis: READONLY for 2 s",
  async strike(world) {
    // There is no such master, so the data stay.
    await world.admin.call("REPLICAOF", "127.0.0.1", "1");
    await delay(WHILE_MS);
    await world.admin.call("REPLICAOF", "NO", "ONE");
    return {};
  },
};

const poison: Fault = {
  name: "a task that kills its worker each time",
  async strike(world, load) {
    const stamp = performance.now().toFixed(0);
    const neighbors = Array.from({ length: NEIGHBORS }, (_, n) => `neighbor-${n}-${stamp}`);
    const verdicts = [...neighbors.map((id) => load.submit(id, "neighbor", { ms: 1000 }))];
    verdicts.push(load.submit(`pill-${stamp}`, "pill", { ms: 200 }));
    expect(new Set(await Promise.all(verdicts))).to.deep.equal(new Set(["accepted"]));
    const look = (id: string) => world.observer.engine.inspector.inspect(id, { result: false });
    return {
      recovered: async () => {
        await finished(world, [`pill-${stamp}`]);
        expect(await look(`pill-${stamp}`)).to.include({ state: "failed", errorCode: "worker-lost", lost: 3 });
      },
      // They ran in the process that it killed, and must not be lost a second time.
      afterwards: async () => {
        await finished(world, neighbors);
        for (const id of neighbors) expect(await look(id), id).to.include({ state: "succeeded" });
      },
    };
  },
};

/** All faults; those that replace the Redis come last. */
export const FAULTS: readonly Fault[] = [
  ...[workerKilled, workersKilled, workerStopped, apiKilled, apiStopped],
  ...[functionFlush, clientKill, clientPause, frozen, readOnly, redisCrash, memoryFull],
  ...[halfOpen, silence],
  ...[poison],
  ...[clocksApart, repliesLate, frozenAtScripts],
  ...[handover, masterLost, laggingReplica, laggingButDurable, redisEmptied],
];
