import { expect } from "chai";
import type { QueueSettings } from "../../../src/engine/settings.ts";
import { failureOf, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { submissionOf } from "../../shared/submission.ts";
import { verifiedEngines } from "./verified.ts";

const TASKS = 1000;
/** Verifications beside them, at least. */
const VERIFICATIONS = 3;
/** Tasks that are submitted together; fewer are taken, so that some wait. */
const TOGETHER = 40;
const TAKEN = 20;
const KEYS = 7;

describe("a verification under load", () => {
  const { open, found } = verifiedEngines();

  /** What a task is submitted with beside its id. */
  type Options = (n: number) => {
    settings: Partial<QueueSettings>;
    key?: string;
    share?: { key: string; weight: number };
  };

  /** Tasks that come, run and end in every way; before each step it is asked whether there are to be more than usual. */
  async function work(t: TestEngine, options: Options, onStep: () => boolean): Promise<void> {
    const partitions = [...t.keys.tags.keys()];
    let serial = 0;
    const take = async (count: number) => {
      const request = { queue: "jobs", worker: "w", leaseMs: 60_000, rate: undefined };
      serial += 1;
      return (await t.engine.leases.reserve({ ...request, reservation: `r${serial}`, count })).tasks;
    };
    const end = ({ id, fence }: { id: string; fence: string }, n: number) => {
      const lease = { queue: "jobs", id, fence };
      if (n % 6 === 0) return t.engine.leases.fail(lease, failureOf("retry"), t.settings);
      if (n % 7 === 0) return t.engine.leases.fail(lease, failureOf("give-up"), t.settings);
      if (n % 11 === 0) return t.engine.call("release", lease);
      return t.engine.leases.complete(lease, resultOf(id), t.settings);
    };
    for (let from = 0; onStep() || from < TASKS; from += TOGETHER) {
      const numbers = Array.from({ length: TOGETHER }, (_, n) => from + n);
      const submitted = numbers.map((n) => {
        const { settings, key, share } = options(n);
        const priority = n % 5 === 0 ? 1 : 3;
        const task = submissionOf(`t${n}`, "jobs", "1", { key, share, priority, delayMs: n % 13 === 0 ? 20 : 0 });
        return t.engine.submitter.submit(task, { ...t.settings, ...settings });
      });
      await Promise.all(submitted);
      const taken = await take(TAKEN);
      await Promise.all([
        ...taken.map(end),
        ...numbers.filter((n) => n % 9 === 0).map((n) => t.engine.call("cancel", { id: `t${n}`, queue: "jobs" })),
        ...partitions.map((partition) => t.engine.upkeep.tick(partition)),
      ]);
    }
  }

  const lines: readonly (readonly [name: string, partitions: number, options: Options])[] = [
    ["a fair line", 1, (n) => ({ settings: {}, share: { key: `s${n % KEYS}`, weight: 1 + (n % 3) } })],
    ["a keyed line over three partitions", 3, (n) => ({ settings: { keyedConcurrency: 2 }, key: `k${n % KEYS}` })],
    [
      "a line that becomes keyed, and lets more and fewer of a key run",
      1,
      (n) => {
        const keyedConcurrency = [undefined, 1, 3, 2][Math.floor((4 * n) / TASKS)];
        return keyedConcurrency ? { settings: { keyedConcurrency }, key: `k${n % KEYS}` } : { settings: {} };
      },
    ],
  ];
  for (const [name, partitions, options] of lines) {
    it(`finds nothing, in ${name}`, async () => {
      const t = await open({ partitions, settings: { attempts: 3 } });
      const verifier = await open({ partitions, prefix: t.keys.prefix });
      let working = true;
      let verifications = 0;
      let steps = 0;
      const disagreeing: string[] = [];
      const verifying = async () => {
        for (; working; verifications += 1) {
          for (const id of await found(verifier, verifications % 2 === 1)) disagreeing.push(`${id} in step ${steps}`);
        }
      };
      const verified = verifying();
      await work(t, options, () => {
        steps += 1;
        return verifications < VERIFICATIONS;
      }).finally(() => {
        working = false;
      });
      await verified;
      expect(disagreeing).to.deep.equal([]);
      expect(await found(verifier, false), "at the end").to.deep.equal([]);
    }).timeout(60_000);
  }
});
