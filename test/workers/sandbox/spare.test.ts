import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { defineHandler, type Handler } from "../../../src/handler/define.ts";
import { Children } from "../../../src/workers/sandbox/children.ts";
import * as fixtures from "../../fixtures/handlers/workers/handlers.ts";
import { attemptOf, LIMITS } from "../../helpers/attempt.ts";
import { childrenOf, processGone } from "../../helpers/process.ts";
import { openProcesses } from "../../helpers/process-group.ts";
import { recordingLog } from "../../helpers/recording-log.ts";
import { storedKey } from "../../helpers/store/stored.ts";
import { openWorkshop, type Workshop } from "../../helpers/workshop.ts";
import { eventually } from "../../shared/eventually.ts";

const LEASE_MS = 2000;
const where = defineHandler({ queue: "where", lease: LEASE_MS, run: () => "not in a child process" }) as Handler;

/** Takes a task, as a worker that dies with it. */
async function takeAndDie(shop: Workshop, queue: string): Promise<void> {
  const request = { queue, worker: "gone", reservation: "only", count: 1, leaseMs: LEASE_MS, rate: undefined };
  expect((await shop.engine.leases.reserve(request)).tasks).to.have.length(1);
}

/** Lets less than half of a lease be left, again and again, until it is over. */
async function untilLeaseNearlyEnds(shop: Workshop, queue: string, id: string, isOver: () => boolean): Promise<void> {
  const { keys } = shop.engine;
  const redis = await shop.redis();
  await eventually(async () => {
    await redis.zadd(storedKey(keys.tagOfQueue(queue), "leases", queue), "XX", Date.now() + 0.45 * LEASE_MS, id);
    return isOver();
  }, 30_000);
}

describe("a child process that is prepared for suspects", function () {
  this.timeout(60_000);
  let dir: string;
  let loaded: string;
  let others: number[];
  const open: { stop(): Promise<unknown> }[] = [];

  before(function () {
    if (process.platform !== "linux") this.skip();
  });
  beforeEach(async () => {
    dir = await mkdtemp(path.join(tmpdir(), "paihao-spare-"));
    loaded = path.join(dir, "loaded");
    const handlers = `import { appendFileSync } from "node:fs";
      import { defineHandler } from "paihao";
      appendFileSync(${JSON.stringify(loaded)}, process.pid + "\\n");
      const run = () => ({ pid: process.pid, cwd: process.cwd(), env: process.env, flags: process.execArgv });
      export const where = defineHandler({ queue: "where", lease: ${LEASE_MS}, run });`;
    await writeFile(path.join(dir, "where.mjs"), handlers);
    others = childrenOf(process.pid);
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((one) => one.stop()));
    await rm(dir, { recursive: true });
  });

  const { log, messages } = recordingLog();
  const openChildren = (idleMs?: number) => {
    const limits = { ...LIMITS, maxResultBytes: 100_000 };
    const children = new Children({ handlersDir: dir, limits, log, ...(idleMs !== undefined && { idleMs }) });
    open.push(children);
    return children;
  };
  const processes = () => childrenOf(process.pid).filter((pid) => !others.includes(pid));
  const theProcess = async () => {
    await eventually(() => processes().length === 1);
    return processes()[0] ?? 0;
  };
  const runIn = async (children: Children) => {
    const engine = { call: async () => "ok" };
    const attempt = attemptOf({ task: { lost: 1 }, settings: { queue: "where" }, engine });
    const end = await children.execute(attempt, where);
    if (end.kind !== "result") throw new Error(`it ended with ${JSON.stringify(end)}`);
    return JSON.parse(Buffer.from(end.result.body).toString()) as { readonly pid: number };
  };
  const loads = async () => (await readFile(loaded, "utf8").catch(() => "")).split("\n").filter(Boolean).map(Number);

  it("loads no handler before a task needs it, and runs it as any other would", async () => {
    const children = openChildren();
    children.expect();
    children.expect();
    const spare = await theProcess();
    // That takes longer than to prepare one.
    const cold = await runIn(openChildren());
    expect(await loads()).to.deep.equal([cold.pid]);
    expect(await runIn(children)).to.deep.equal({ ...cold, pid: spare });
    expect(await loads()).to.deep.equal([cold.pid, spare]);
    children.expect();
    expect(processes(), "one that is idle is enough").to.have.members([cold.pid, spare]);
  });

  it("takes a task while it is still being prepared", async () => {
    const children = openChildren();
    children.expect();
    const [spare] = processes();
    expect((await runIn(children)).pid).to.equal(spare);
  });

  it("is replaced if it dies, by the next one that is expected or needed", async () => {
    const children = openChildren();
    children.expect();
    const first = await theProcess();
    process.kill(first, "SIGKILL");
    let second = 0;
    await eventually(() => {
      children.expect();
      second = processes().find((pid) => pid !== first) ?? 0;
      return second > 0;
    });
    // Nobody knows yet that it is dead.
    process.kill(second, "SIGKILL");
    expect((await runIn(children)).pid).not.to.be.oneOf([first, second]);
    expect(messages.filter((message) => message.includes("could not start"))).to.deep.equal([]);
  });

  it("ends when nothing was expected for a time, or its worker stops", async () => {
    const children = openChildren(50);
    children.expect();
    await processGone(await theProcess());
    const stopped = openChildren();
    stopped.expect();
    const spare = await theProcess();
    await stopped.stop();
    await processGone(spare);
    stopped.expect();
    expect(processes()).to.deep.equal([]);
  });

  it("is there when the lease of a dead worker ends, and ends with its own worker", async () => {
    const shop = await openWorkshop([where]);
    open.push({ stop: () => shop.close() });
    const id = await shop.submit(1, { queue: "where" });
    await takeAndDie(shop, "where");
    const worker = await shop.worker({ handlersDir: dir });
    await untilLeaseNearlyEnds(shop, "where", id, () => processes().length > 0);
    const spare = await theProcess();
    expect(await loads()).to.deep.equal([]);
    expect(await shop.answer(id)).to.include({ pid: spare });
    await worker.stop();
    await processGone(spare);
  });

  it("ends with its worker, also after SIGKILL", async () => {
    const group = await openProcesses("workers", [fixtures.slow], { timeless: true });
    open.push({ stop: () => group.close() });
    const { shop, journal } = group;
    const id = await shop.submit({ journal, ms: 20 });
    await takeAndDie(shop, "slow");
    const server = await group.start({ ROLE: "worker" });
    await untilLeaseNearlyEnds(shop, "slow", id, () => childrenOf(server.pid).length > 0);
    const [spare = 0] = childrenOf(server.pid);
    await group.kill(server);
    await processGone(spare);
  });
});
