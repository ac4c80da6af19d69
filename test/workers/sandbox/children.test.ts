import { expect } from "chai";
import { lossOf } from "../../../src/engine/upkeep/tick.ts";
import * as fixtures from "../../fixtures/handlers/workers/handlers.ts";
import { processGone } from "../../helpers/process.ts";
import { openProcesses, type ProcessGroup } from "../../helpers/process-group.ts";
import { passDeadline, type Workshop } from "../../helpers/workshop.ts";
import { eventually } from "../../shared/eventually.ts";

describe("a task that has lost its worker", function () {
  this.timeout(60_000);
  let group: ProcessGroup;
  let shop: Workshop;
  let journal: string;

  beforeEach(async () => {
    const { slow, spare, pill, stubborn, orderedApart } = fixtures;
    group = await openProcesses("workers", [slow, spare, pill, stubborn, orderedApart], { timeless: true });
    ({ shop, journal } = group);
  });
  afterEach(() => group.close());

  const start = (env: Readonly<Record<string, string>> = {}) => group.start({ ROLE: "worker", ...env });
  const begun = (id: string) => group.begun(id);
  const ends = async () => (await group.lines()).filter((line) => line.includes("ends"));

  for (const how of ["kill", "exit"]) {
    it(`is dead after it has killed its process repeatedly (${how}), and costs no other task a loss`, async () => {
      const first = await start();
      const early = await Promise.all(
        Array.from({ length: 4 }, () => shop.submit({ journal, ms: 60_000, againMs: 500 })),
      );
      await eventually(async () => (await Promise.all(early.map(begun))).every((pids) => pids.length === 1));
      const pill = await shop.submit({ journal, how }, { queue: "pill" });
      expect(await first.ended).to.equal(how === "kill" ? "SIGKILL" : 0);
      await group.leave(first);

      const second = await start();
      const late = await Promise.all(Array.from({ length: 6 }, () => shop.submit({ journal, ms: 20 })));
      expect(await shop.ended(pill)).to.include({ state: "failed", errorCode: "worker-lost", lost: 3 });
      const innocents = await Promise.all([...early, ...late].map((id) => shop.ended(id)));
      expect(innocents.map(({ state }) => state)).to.deep.equal(innocents.map(() => "succeeded"));
      expect(innocents.map(({ lost }) => lost)).to.deep.equal([...early.map(() => 1), ...late.map(() => 0)]);
      expect(await ends()).to.have.length(innocents.length);

      // Suspects ran in child processes, one after the other in those that live, the others in the worker's.
      const alone = (await Promise.all(early.map(begun))).flatMap((pids) => pids.slice(1));
      const deadly = (await begun(pill)).slice(1);
      expect(new Set(deadly).size, "processes that the pill killed").to.equal(2);
      expect([...alone, ...deadly]).not.to.include(second.pid);
      expect(new Set((await Promise.all(late.map(begun))).flat())).to.deep.equal(new Set([second.pid]));
      expect(second.child.exitCode).to.equal(null);
      for (const pid of deadly) await processGone(pid);
      second.child.kill("SIGKILL");
      for (const pid of alone) await processGone(pid);
    });
  }

  /** Lets a worker take what there is in its queue, and die before a child process could start. */
  const dieInVain = async (...ids: readonly string[]) => {
    const are = async (state: string) => (await Promise.all(ids.map(shop.look))).every((task) => task.state === state);
    const worker = await start({ TEST_CHILDREN_LOAD_MS: "60000" });
    await eventually(() => are("running"));
    await group.kill(worker);
    await eventually(async () => {
      await shop.engine.upkeep.tick(0);
      return are("waiting");
    });
  };
  /** Tasks of a queue that have lost a worker each. */
  const losers = async (queue: string, count: number, order: Omit<fixtures.Order, "journal"> = { ms: 20 }) => {
    const ids = await Promise.all(Array.from({ length: count }, () => shop.submit({ journal, ...order }, { queue })));
    const request = { queue, worker: "gone", reservation: "only", count, leaseMs: 60_000, rate: undefined };
    for (const { id, fence } of (await shop.engine.leases.reserve(request)).tasks)
      await shop.engine.call("lose", { ...lossOf(shop.engine.queues.settings(queue)), queue, id, fence });
    return ids;
  };

  it("counts no loss for a worker that dies while an isolated handler runs in its child process", async () => {
    const first = await start();
    const id = await shop.submit({ journal, ms: 2000, account: "a" }, { queue: "ordered-apart", key: "a" });
    await eventually(async () => (await begun(id)).length === 1);
    await group.kill(first);
    await start();
    expect(await shop.ended(id)).to.include({ state: "succeeded", lost: 0, attempts: 1 });
  });

  it("counts no loss for a worker that dies before its handler begins, and then runs", async () => {
    const [id = ""] = await losers("slow", 1);
    await dieInVain(id);
    expect(await shop.look(id)).to.include({ lost: 1, attempts: 0 });
    await start();
    expect(await shop.ended(id)).to.include({ state: "succeeded", lost: 1, attempts: 1 });
    const pids = await begun(id);
    expect(pids).to.have.length(1);
    // Of its starts only those count in which its handler began.
    const { values } = await shop.engine.outputs.read({ id, queue: "jobs" }, 0);
    expect(values).to.deep.equal([{ run: 2, attempt: 1, json: JSON.stringify(pids[0]) }]);
  });

  it("runs in its worker if no child process can be started, which is logged; then its losses count", async () => {
    const [id = ""] = await losers("slow", 1);
    const first = await start({ TEST_CHILDREN_BROKEN: "1" });
    expect(await shop.ended(id)).to.include({ state: "succeeded", lost: 1, attempts: 1 });
    expect(await begun(id)).to.deep.equal([first.pid]);
    for (const words of [/could not start a child process/, /no child process could be started: .*not in a child/])
      expect(first.logged.some((line) => words.test(line))).to.equal(true);

    const pill = await shop.submit({ journal, how: "kill" }, { queue: "pill" });
    expect(await first.ended).to.equal("SIGKILL");
    await group.leave(first);
    for (let n = 0; n < 2; n += 1) {
      const next = await start({ TEST_CHILDREN_BROKEN: "1" });
      expect(await next.ended).to.equal("SIGKILL");
      await group.leave(next);
    }
    await start();
    expect(await shop.ended(pill)).to.include({ state: "failed", errorCode: "worker-lost", lost: 3 });
  });

  it("waits for a child process in a slot, and keeps its lease, while other queues go on", async () => {
    const suspects = await losers("slow", 12);
    const worker = await start({ TEST_CHILDREN_LOAD_MS: "60000" });
    for (let n = 0; n < 8; n += 1) {
      const other = await shop.submit({ journal }, { queue: "spare" });
      expect(await shop.ended(other)).to.include({ state: "succeeded", lost: 0 });
      await shop.ranFor(suspects[0] ?? "", 250 * n);
    }
    for (const id of suspects) {
      const seen = await shop.look(id);
      expect(seen.state).to.be.oneOf(["running", "retrying", "waiting"]);
      expect(seen).to.include({ lost: 1, errorCode: null });
    }
    expect(worker.logged.filter((line) => line.includes("lost its worker"))).to.deep.equal([]);
    await group.kill(worker);
    await start();
    for (const id of suspects) expect(await shop.ended(id)).to.include({ state: "succeeded", lost: 1, attempts: 1 });
  });

  it("shares a child process with other suspects, one at a time", async () => {
    const first = await start();
    const ids = await Promise.all(Array.from({ length: 4 }, () => shop.submit({ journal, ms: 60_000, againMs: 1 })));
    await eventually(async () => (await Promise.all(ids.map(begun))).every((pids) => pids.length === 1));
    await group.kill(first);
    await start();
    await Promise.all(ids.map((id) => shop.ended(id)));
    const again = (await Promise.all(ids.map(begun))).map((pids) => pids[1]);
    expect(new Set(again).size).to.be.within(1, 2);
  });

  it("fails instead of being lost if what ended its process is an error thrown outside of it", async () => {
    const first = await start();
    const pill = await shop.submit({ journal, how: "throw outside" }, { queue: "pill" });
    expect(await first.ended).to.equal(1);
    await group.leave(first);
    await start();
    const seen = await shop.ended(pill);
    expect(seen).to.include({ state: "failed", errorCode: "task-failed", lost: 1, attempts: 2 });
    expect(seen.errors[0]).to.equal("nobody catches this");
  });

  it("can be canceled, and ends with its worker, even if it blocks its event loop", async () => {
    const first = await start();
    const ids = [
      await shop.submit({ journal }, { queue: "stubborn" }),
      await shop.submit({ journal }, { queue: "slow" }),
    ];
    const [stubborn = ""] = ids;
    await eventually(async () => (await begun(stubborn)).length === 1);
    await group.kill(first);
    const second = await start();
    await eventually(async () => (await begun(stubborn)).length === 2);
    await shop.engine.call("cancel", { id: stubborn, queue: "stubborn" });
    expect((await shop.ended(stubborn)).state).to.equal("canceled");
    await processGone(Number((await begun(stubborn))[1]));

    const other = await shop.submit({ journal }, { queue: "stubborn" });
    await eventually(async () => (await begun(other)).length === 1);
    await group.kill(second);
    const third = await start();
    await eventually(async () => (await begun(other)).length === 2);
    await group.kill(third);
    await processGone(Number((await begun(other))[1]));
  });

  it("is asked to stop at its deadline, in its child process", async () => {
    const first = await start();
    const id = await shop.submit({ journal, ms: 60_000 }, { queue: "slow", deadlineMs: 3_600_000 });
    await eventually(async () => (await begun(id)).length === 1);
    await group.kill(first);
    const second = await start();
    await eventually(async () => (await begun(id)).length === 2);
    expect((await begun(id))[1]).not.to.equal(second.pid);
    await passDeadline(shop, id);
    expect(await shop.ended(id)).to.include({ state: "canceled", errorCode: "deadline-passed", lost: 1 });
    expect(await ends()).to.deep.equal([]);
  });

  it("is handed back when its worker drains, and the signals of a terminal do not lose it", async () => {
    const first = await start();
    const id = await shop.submit({ journal, ms: 60_000 });
    await eventually(async () => (await begun(id)).length === 1);
    await group.kill(first);
    const second = await start({ DRAIN_TIMEOUT: "500ms" });
    await eventually(async () => (await begun(id)).length === 2);
    const [, alone = 0] = await begun(id);
    // As Ctrl-C would: to all of the group.
    for (const pid of [alone, second.pid]) process.kill(pid, "SIGINT");
    expect(await second.ended).to.equal(0);
    expect(await shop.look(id)).to.include({ state: "waiting", lost: 1, attempts: 0 });
    await processGone(alone);
  });
});
