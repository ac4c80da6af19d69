import { expect } from "chai";
import { verify } from "../../../src/engine/maintenance/verify.ts";
import { openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { storedKey } from "../../helpers/store/stored.ts";
import { submissionOf } from "../../shared/submission.ts";

const PROCESSES = 5;
const CALLERS = ["ada", "ben", "cyn"] as const;
const LIMITS = { keyedConcurrency: 2, keyedWaiting: 7 };
/** Of one caller to each process. */
const TASKS = 12;

for (const partitions of [1, 3]) {
  describe(`limits of a caller, of many processes over ${partitions} partition(s)`, () => {
    const processes: TestEngine[] = [];
    let first: TestEngine;
    beforeEach(async () => {
      first = await openEngine({ partitions, settings: LIMITS });
      processes.push(first);
      while (processes.length < PROCESSES) {
        processes.push(await openEngine({ partitions, settings: LIMITS, prefix: first.keys.prefix }));
      }
    });
    afterEach(async () => {
      const { disagreeing } = await verify(first.redis, first.scripts, first.keys, { heal: false });
      for (const one of processes.splice(0)) await one.close();
      expect(disagreeing, "verify").to.deep.equal([]);
    });

    /** All processes submit at once, half of them in batches; returns the accepted ids of each caller. */
    const submitAll = async (round: string) => {
      const of = (caller: string, n: number, nth: number) =>
        submissionOf(`${round}-${caller}-${n}-${nth}`, "jobs", "1", { key: caller });
      const accepted = new Map<string, string[]>(CALLERS.map((caller) => [caller, []]));
      const sent = processes.flatMap(({ engine, settings }, n) =>
        CALLERS.map(async (caller) => {
          const all = Array.from({ length: TASKS }, (_, nth) => of(caller, n, nth));
          const ends =
            n % 2 === 0
              ? await Promise.allSettled(all.map((one) => engine.submitter.submit(one, settings)))
              : await engine.submitter.submitAll(all, settings);
          for (const [nth, end] of ends.entries()) {
            if (end.status === "rejected") throw end.reason;
            expect(end.value.verdict).to.be.oneOf(["new", "too-many"]);
            if (end.value.verdict === "new") accepted.get(caller)?.push(all[nth]?.id ?? "");
          }
        }),
      );
      await Promise.all(sent);
      return accepted;
    };
    const take = async ({ engine }: TestEngine, name: string) => {
      const request = { queue: "jobs", worker: name, count: 3, leaseMs: 60_000, rate: undefined, reservation: name };
      return (await engine.leases.reserve(request)).tasks;
    };

    it("accept exactly as many as may wait, at once and again when all have ended", async () => {
      for (const round of ["one", "two"]) {
        for (const [caller, ids] of await submitAll(round)) {
          expect(ids, caller).to.have.length(LIMITS.keyedWaiting);
          for (const id of ids) expect(await first.look(id), id).to.include({ state: "waiting" });
        }
        // Every process works at once. What a worker has is running, and what it gave back no longer is.
        const running = new Map<string, number>();
        let ended = 0;
        const work = processes.map(async (one, n) => {
          for (let serial = 0; ended < CALLERS.length * LIMITS.keyedWaiting; serial += 1) {
            const tasks = await take(one, `${round}${n}-${serial}`);
            for (const { id } of tasks) {
              const caller = id.split("-")[1] ?? "";
              running.set(caller, (running.get(caller) ?? 0) + 1);
              expect(running.get(caller), caller).to.be.at.most(LIMITS.keyedConcurrency);
            }
            for (const { id, fence } of tasks) {
              const caller = id.split("-")[1] ?? "";
              running.set(caller, (running.get(caller) ?? 0) - 1);
              ended += 1;
              const end = await one.engine.leases.complete({ queue: "jobs", id, fence }, resultOf(id), one.settings);
              expect(end).to.equal("done");
            }
          }
        });
        await Promise.all(work);
      }
      const lines = first.keys.tags.map((tag) => CALLERS.map((caller) => storedKey(tag, "keyLine", `jobs =${caller}`)));
      for (const line of lines.flat()) expect(await first.redis.exists(line), line).to.equal(0);
    });

    it("free the id of a refused submission for another queue", async () => {
      const accepted = [...(await submitAll("one")).values()].flat();
      const plain = { ...first.settings, queue: "plain", keyedConcurrency: undefined, keyedWaiting: undefined };
      for (let n = 0; n < TASKS; n += 1) {
        const id = `one-ada-0-${n}`;
        const { verdict } = await first.engine.submitter.submit(submissionOf(id, "plain", "1"), plain);
        expect(verdict, id).to.equal(accepted.includes(id) ? "elsewhere" : "new");
      }
    });
  });
}
