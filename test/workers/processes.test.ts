import { expect } from "chai";
import * as fixtures from "../fixtures/handlers/workers/handlers.ts";
import { exchange } from "../helpers/http/server.ts";
import { openProcesses, type ProcessGroup } from "../helpers/process-group.ts";
import type { Workshop } from "../helpers/workshop.ts";
import { eventually } from "../shared/eventually.ts";

describe("worker processes", function () {
  this.timeout(60_000);
  let group: ProcessGroup;
  let shop: Workshop;
  let journal: string;

  beforeEach(async () => {
    // It has no worker in this process, and time passes only in the processes.
    group = await openProcesses("workers", [fixtures.slow, fixtures.crowd], { timeless: true });
    ({ shop, journal } = group);
  });
  afterEach(() => group.close());

  const start = (role: string, env: Readonly<Record<string, string>> = {}) =>
    group.start({ ROLE: role, ...(role === "worker" ? {} : { PORT: "0" }), ...env });
  const begun = (id: string) => eventually(async () => (await group.begun(id)).length > 0);

  it("finish a task whose worker was killed while running it", async () => {
    const first = await start("worker");
    const id = await shop.submit({ journal, ms: 60_000, againMs: 10 });
    await begun(id);
    const second = await start("worker");
    await group.kill(first);
    const { pid } = (await shop.answer(id)) as { pid: number };
    expect(pid).to.not.equal(first.pid);
    expect(await shop.look(id)).to.include({ state: "succeeded", lost: 1, attempts: 1 });
    second.child.kill("SIGTERM");
    expect(await second.ended).to.equal(0);
  });

  it("run each task of a call alone whose worker was killed in the middle of it; each has lost one worker", async () => {
    const first = await start("worker");
    const ids: string[] = [];
    for (let n = 0; n < 6; n += 1)
      ids.push(await shop.submit({ journal, ms: 60_000, againMs: 300 }, { queue: "crowd" }));
    await Promise.all(ids.map(begun));
    await start("worker");
    await group.kill(first);
    for (const id of ids) {
      expect(await shop.answer(id)).to.include({ together: 1 });
      expect(await shop.look(id)).to.include({ state: "succeeded", lost: 1, attempts: 1 });
    }
    const lines = await group.lines();
    expect(
      lines.filter((line) => line.endsWith(`begins ${first.pid} 6`)),
      "in the call",
    ).to.have.length(6);
    for (const id of ids) {
      expect(await group.begun(id), "twice at most").to.have.length(2);
      expect(lines.filter((line) => line.startsWith(`${id} ends`))).to.have.length(1);
    }
  });

  it("begin a call with what it has on SIGTERM, and end it before they exit", async () => {
    const worker = await start("worker", { DRAIN_TIMEOUT: "20s" });
    const ids: string[] = [];
    for (let n = 0; n < 2; n += 1) ids.push(await shop.submit({ journal, ms: 10 }, { queue: "crowd" }));
    await Promise.all(ids.map((id) => shop.ended(id, "running")));
    worker.child.kill("SIGTERM");
    expect(await worker.ended).to.equal(0);
    for (const id of ids) expect(await shop.answer(id)).to.deep.equal({ pid: worker.pid, together: 2 });
  });

  const runInOrder = async (handler: unknown, { keys, each, kills }: Record<"keys" | "each" | "kills", number>) => {
    const keyed = await openProcesses("workers", [handler], { timeless: true });
    try {
      const begin = () => keyed.start({ ROLE: "worker" });
      const workers = await Promise.all([begin(), begin(), begin()]);
      const accounts = Array.from({ length: keys }, (_, n) => `account${n}`);
      const ids = new Map<string, string[]>(accounts.map((account) => [account, []]));
      for (let n = 0; n < each; n += 1) {
        for (const [account, of] of ids) {
          const order = { journal: keyed.journal, ms: 60, account };
          of.push(await keyed.shop.submit(order, { key: account }));
        }
      }
      for (let n = 1; n <= kills; n += 1) {
        await eventually(
          async () => (await keyed.lines()).filter((line) => line.includes("begins")).length >= n * (keys + 2),
        );
        workers.shift()?.child.kill("SIGKILL");
        workers.push(await begin());
      }
      for (const id of [...ids.values()].flat()) {
        expect(await keyed.shop.ended(id), id).to.include({ state: "succeeded" });
      }
      const words = (await keyed.lines()).map((line) => line.split(" "));
      for (const [account, of] of ids) {
        const began = words.flatMap(([id = "", verb]) => (of.includes(id) && verb === "begins" ? [id] : []));
        // One that was killed begins again before the next.
        expect(
          began.filter((id, n) => id !== began[n - 1]),
          account,
        ).to.deep.equal(of);
        const run = words.filter(([id = ""]) => of.includes(id)).map(([id, verb]) => `${id} ${verb}`);
        for (const [n, id] of of.slice(1).entries()) {
          expect(run.indexOf(`${id} begins`), `${id} of ${account}`).to.be.above(run.lastIndexOf(`${of[n]} ends`));
        }
      }
    } finally {
      await keyed.close();
    }
  };

  it("run the tasks of a key one after the other, in order, even if they are killed at any time", () =>
    runInOrder(fixtures.ordered, { keys: 6, each: 10, kills: 4 })).timeout(180_000);

  it("do so if these run in child processes", () =>
    runInOrder(fixtures.orderedApart, { keys: 3, each: 4, kills: 2 })).timeout(180_000);

  it("take no other task with them when one of many quick ones ends its process", async () => {
    const quick = await openProcesses("workers", [fixtures.once, fixtures.again], { timeless: true });
    try {
      for (const queue of ["once", "again"]) {
        const submit = (n: number) => quick.shop.submit({ journal: quick.journal, dies: n === 200 }, { queue });
        const ids = await Promise.all(Array.from({ length: 400 }, (_, n) => submit(n)));
        const [pill = ""] = ids.splice(200, 1);
        // Another process that dies would be replaced, too.
        for (let over = false; !over; ) {
          const worker = await quick.start({ ROLE: "worker" });
          const ended = worker.ended.then(() => false);
          const done = Promise.all([pill, ...ids].map((id) => quick.shop.ended(id))).then(() => true);
          over = await Promise.race([ended, done]);
          if (!over) await quick.leave(worker);
        }
        expect(await quick.shop.look(pill), queue).to.include({ state: "failed", errorCode: "worker-lost" });
        for (const id of ids) {
          expect(await quick.shop.look(id), queue).to.include({ state: "succeeded", attempts: 1, lost: 0 });
        }
        const deaths = (await quick.lines()).filter((line) => line === `${pill} dies`);
        if (queue === "once") expect(deaths).to.have.length(1);
        else expect(deaths).to.have.length.within(2, 3);
      }
    } finally {
      await quick.close();
    }
  });

  it("print one ready line, drain on SIGTERM, and exit with code 0", async () => {
    const worker = await start("worker", { DRAIN_TIMEOUT: "10s", LOG_LEVEL: "info" });
    expect(worker.said.filter((line) => /ready/.test(line))).to.have.length(1);
    expect(worker.said.at(-1)).to.match(/^paihao worker is ready · queues: .*slow.* · store: /);
    const id = await shop.submit({ journal, ms: 1000 });
    await begun(id);
    worker.child.kill("SIGTERM");
    await eventually(() => worker.logged.some((line) => line.includes("waiting for running tasks")));
    const late = await shop.submit({ journal, ms: 1 });
    expect(await worker.ended).to.equal(0);
    expect((await shop.look(id)).state).to.equal("succeeded");
    expect(await shop.look(late)).to.include({ state: "waiting", index: 0 });
  });

  it("hand back tasks that they cannot drain in time to their old places", async () => {
    const worker = await start("worker", { DRAIN_TIMEOUT: "100ms" });
    const id = await shop.submit({ journal, ms: 60_000 });
    await begun(id);
    worker.child.kill("SIGTERM");
    expect(await worker.ended).to.equal(0);
    expect(await shop.look(id)).to.include({ state: "waiting", index: 0, attempts: 0, lost: 0 });
  });

  it("run tasks that an API process accepted before they started, even if it was killed since", async () => {
    const api = await start("api");
    const headers = { Prefer: "respond-async", "Content-Type": "application/json" };
    const ids = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const url = new URL("/v1/queues/slow/requests", api.url);
        const answer = await exchange(url, { method: "POST", headers, body: { journal, ms: 10 } });
        expect(answer.status).to.equal(202);
        return String(answer.headers["x-request-id"]);
      }),
    );
    api.child.kill("SIGKILL");
    await api.ended;
    const [again] = await Promise.all([start("api"), start("worker")]);
    for (const id of ids) {
      let status = 404;
      await eventually(async () => {
        ({ status } = await exchange(new URL(`/v1/requests/${id}`, again.url)));
        return status !== 404;
      });
      expect(status).to.equal(200);
    }
    expect((await group.lines()).filter((line) => line.includes("begins"))).to.have.length(20);
  });
});
