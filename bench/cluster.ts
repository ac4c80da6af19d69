import { startCluster } from "../test/shared/redis-cluster.ts";
import type { Bench } from "./harness/bench.ts";
import { compare } from "./harness/judge.ts";
import { cpuSecondsOf } from "./harness/process.ts";
import { startCallable } from "./harness/rpc.ts";
import { openStore } from "./harness/store.ts";
import { inTurns } from "./harness/turns.ts";
import type { PaihaoCalls } from "./subjects/paihao.ts";

const MASTERS = 3;
/** The number that docs/deploy.md recommends, and the fewest that give each master one. */
const PARTITIONS = { six: 6, three: 3 } as const;
const CONCURRENCY = 100;

/**
 * What a task costs on three masters, submitted and run, compared with one Redis: by the CPU time of the masters and of our own
 * process, since all share this machine and wall time would only reflect its number of cores.
 */
export const cluster: Bench = {
  name: "cluster",
  title: "A Redis Cluster of three masters against one Redis, by CPU time per task",
  async run(options) {
    const count = options.quick ? 20_000 : 60_000;
    const single = await openStore("no persistence");
    const spread = await startCluster({ masters: MASTERS, replicas: 0 });
    const one = startCallable<PaihaoCalls>("paihao", [single.url, "ph"]);
    const of = (partitions: number) =>
      startCallable<PaihaoCalls>("paihao", [spread.url, `ph${partitions}`, String(partitions)]);
    const [six, three] = [of(PARTITIONS.six), of(PARTITIONS.three)];
    const masters = () => spread.nodes.reduce((sum, { server }) => sum + cpuSecondsOf(server.pid), 0);
    const turn = (peer: typeof one, storeCpu: () => number) => async () => {
      const cpu = async () => ({ store: storeCpu(), own: await peer.call("cpuSeconds", undefined) });
      const before = await cpu();
      await peer.call("fill", { count, bytes: 56 });
      await peer.call("work", { count, concurrency: CONCURRENCY });
      const after = await cpu();
      const micros = (seconds: number) => (seconds / count) * 1e6;
      return { store: micros(after.store - before.store), own: micros(after.own - before.own) };
    };
    try {
      const turns = await inTurns(options.pairs, {
        one: turn(one, single.cpuSeconds),
        six: turn(six, masters),
        three: turn(three, masters),
      });
      const figure = (
        peer: keyof typeof PARTITIONS,
        name: string,
        pick: (of: { store: number; own: number }) => number,
        atMost: number | null,
      ) =>
        compare({
          figure: name,
          against: "one Redis, one partition",
          store: "no persistence",
          ours: turns[peer].map(pick),
          theirs: turns.one.map(pick),
          show: (value) => `${value.toFixed(1)} µs per task`,
          target: atMost === null ? null : { atMost },
        });
      const figuresOf = (peer: keyof typeof PARTITIONS, atMost: number | null) => [
        figure(
          peer,
          `${MASTERS} masters, ${PARTITIONS[peer]} partitions: masters and our process`,
          ({ store, own }) => store + own,
          atMost,
        ),
        figure(peer, "of that, the masters", ({ store }) => store, null),
        figure(peer, "of that, our process", ({ own }) => own, null),
      ];
      return {
        figures: [...figuresOf("six", 1.3), ...figuresOf("three", null)],
      };
    } finally {
      await Promise.all([one.stop(), six.stop(), three.stop()]);
      await single.stop();
      await spread.stop();
    }
  },
};
