import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { expect } from "chai";
import { isOutcome } from "../../../src/task.ts";
import type { ServerProcess } from "../../helpers/server-process.ts";
import { eventually } from "../../shared/eventually.ts";
import type { Callers } from "../callers.ts";
import type { FaultOf } from "../faults.ts";
import type { Work } from "../work.ts";
import type { Strike, World } from "./deployment.ts";
import { durableFailover, failover, losingFailover, plannedFailover } from "./failovers.ts";

const HOUR_MS = 3_600_000;
/** How long Redis refuses writes, ms: longer than a lease. */
const READ_ONLY_MS = 2000;
/** Tasks that run beside the one that kills its worker. */
const NEIGHBORS = 8;
/** How long after SIGSTOP a process may still do something, ms. */
const STANDSTILL_MS = 50;
/** Maximum time to wait for anything, ms: the machine may be busy. */
const PATIENCE_MS = 60_000;
/** How much memory is left when it becomes scarce, bytes. */
const SPARE_BYTES = 3 * 1024 ** 2;

/** A worker with running tasks, and those tasks. */
function busyWorker(world: World): Promise<{ worker: ServerProcess; held: string[] }> {
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

/** The tasks, once all have ended. */
function ended(world: World, ids: readonly string[]) {
  return eventually(async () => {
    const { inspector } = world.observer.engine;
    const seen = await Promise.all(ids.map((id) => inspector.inspect(id, { result: true })));
    if (!seen.every((task) => task !== null && isOutcome(task.state))) throw new Error("a task does not end");
    return seen;
  }, PATIENCE_MS);
}

let orders = 0;
/** Submits a task of its own to a queue. */
async function order(callers: Callers, queue: string, work: Work): Promise<string> {
  orders += 1;
  const id = `${queue}-${process.pid}-${orders}`;
  await eventually(async () => (await callers.submit({ id, queue }, { work })).outcome === "ok", PATIENCE_MS);
  return id;
}

/** The environment of a process whose clock is wrong by this much. */
const clock = (aheadMs: number): Readonly<Record<string, string>> => ({
  NODE_OPTIONS: `--import=${pathToFileURL(path.join(import.meta.dirname, "wrong-clock.mjs")).href}`,
  CLOCK_AHEAD_MS: String(aheadMs),
});

const crash: Strike = async (world) => {
  const { worker } = await busyWorker(world);
  for (const { child, ended } of [worker, world.api]) {
    child.kill("SIGKILL");
    await ended;
  }
  await world.startApi();
};

const redeployment: Strike = async (world) => {
  const { worker } = await busyWorker(world);
  await world.drain([worker, world.api]);
  await world.startApi();
};

const pause: Strike = async (world) => {
  const { worker, held } = await stopBusyWorker(world);
  const elsewhere = () =>
    world.journal.marks().filter(({ type, id, pid }) => type === "begins" && pid !== worker.pid && held.includes(id));
  const before = elsewhere().length;
  // Beyond its leases: while others do its work, it goes on, and its late ends must be refused.
  await eventually(() => elsewhere().length > before, PATIENCE_MS);
  worker.child.kill("SIGCONT");
  await ended(world, held);
  await eventually(() => {
    const open = world.journal.heldBy(worker.pid).filter((id) => held.includes(id));
    expect(open, `what ${worker.pid} does not end`).to.deep.equal([]);
  }, PATIENCE_MS);
};

const poison: Strike = async (world, callers) => {
  const neighbors = await Promise.all(
    Array.from({ length: NEIGHBORS }, () => order(callers, "neighbor", { ms: 1000 })),
  );
  const pill = await order(callers, "pill", { ms: 200 });
  expect((await ended(world, [pill]))[0]).to.include({ state: "failed", errorCode: "worker-lost", lost: 3 });
  // They ran in the process that it killed, and must not be lost a second time.
  for (const seen of await ended(world, neighbors)) expect(seen).to.include({ state: "succeeded" });
};

const wrongClocks: Strike = async (world) => {
  await world.replaceApi(clock(2 * HOUR_MS));
  const workers = await Promise.all([world.startWorker(clock(HOUR_MS)), world.startWorker(clock(-HOUR_MS))]);
  const hasRun = (pid: number) => world.journal.marks().some((mark) => mark.pid === pid && mark.type === "ends");
  await Promise.all(workers.map(({ pid }) => eventually(() => hasRun(pid), PATIENCE_MS)));
  await world.drain(workers);
  await world.replaceApi();
};

const readOnlyStore: Strike = async (world) => {
  // There is no such master, so the data stay.
  await world.admin.call("REPLICAOF", "127.0.0.1", "1");
  await delay(READ_ONLY_MS);
  await world.admin.call("REPLICAOF", "NO", "ONE");
};

const fullStore: Strike = async (world, callers) => {
  const { queues } = world.observer.engine;
  const used = async () => Number(/^used_memory:(\d+)/m.exec(await world.admin.info("memory"))?.[1]);
  await queues.pause("work", true);
  await world.admin.config("SET", "maxmemory", String((await used()) + SPARE_BYTES));
  const filler = { work: { ms: 0, step: true, ballast: "x".repeat(64 * 1024) } };
  for (let n = 0, answer = ""; !answer.endsWith("store-full"); n += 1)
    ({ answer } = await callers.submit({ id: `filler-${performance.now()}-${n}`, queue: "work" }, filler));
  // Well above the limit, so that only drained tasks make room.
  await world.admin.config("SET", "maxmemory", String((await used()) - SPARE_BYTES / 2));
  // A new worker must be able to start, and all must be able to drain, although each task first stores a step.
  const late = await world.startWorker();
  await queues.pause("work", false);
  await order(callers, "work", { ms: 0 });
  await world.admin.config("SET", "maxmemory", "0");
  await world.drain([late]);
};

/** How each fault is done to real processes; those that replace the Redis come last. */
export const STRIKES: Readonly<Record<FaultOf<"chaos">, Strike>> = {
  ...{ crash, redeployment, pause, poison, "wrong clocks": wrongClocks },
  ...{ "read-only store": readOnlyStore, "full store": fullStore },
  "crash of the store": (world) => world.crashRedis({ empty: false }),
  ...{ "planned failover": plannedFailover, failover },
  ...{ "failover that loses": losingFailover, "durable failover": durableFailover },
  "emptied store": async (world, callers) => {
    await world.crashRedis({ empty: true });
    // It has lost its tasks. All processes must go on without a restart.
    callers.fork("nothing");
  },
};

export const NAMES = Object.keys(STRIKES) as FaultOf<"chaos">[];
