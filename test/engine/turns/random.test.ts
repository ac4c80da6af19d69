import { expect } from "chai";
import type { QueueSettings } from "../../../src/engine/settings.ts";
import { isOutcome } from "../../../src/task.ts";
import { openEngine, resultOf, type TestEngine } from "../../helpers/engine.ts";
import { randomOf } from "../../shared/random.ts";
import type { GivenSubmission } from "../../shared/submission.ts";

const STEPS = 150;
const HOUR_MS = 3_600_000;
const TURNS = { total: 2, turns: { longestMs: HOUR_MS, all: true }, attempts: 1 } as const;
/** A line in which tasks for workers stand, too. */
const MIXED = { ...TURNS, turns: { longestMs: HOUR_MS, all: false } } as const;

type LineKind = "plain" | "fair" | "keyed" | "mixed" | "mixed and keyed";
const KINDS: Readonly<Record<LineKind, Partial<QueueSettings>>> = {
  plain: TURNS,
  fair: TURNS,
  keyed: { ...TURNS, keyedConcurrency: 1 },
  mixed: MIXED,
  "mixed and keyed": { ...MIXED, keyedConcurrency: 1 },
};

/** What is known of a turn after a step. */
interface Known {
  readonly id: string;
  readonly state: string;
  readonly priority: number;
  readonly fence: number;
}

describe("turns in random order", () => {
  let t: TestEngine;
  afterEach(() => t.close());

  for (const [seed, kind] of (Object.keys(KINDS) as LineKind[]).entries()) {
    it(`are called as soon as they may be, no more than may, each once: in a ${kind} line`, async () => {
      t = await openEngine({ settings: KINDS[kind] });
      // Registers the total.
      await t.engine.upkeep.tick(0);
      await play(kind, randomOf(seed + 1));
    });
  }

  const play = async (kind: LineKind, random: () => number) => {
    const { engine, redis } = t;
    const pick = <T>(of: readonly T[]): T | undefined => of[Math.floor(random() * of.length)];
    const [isKeyed, isMixed] = [kind.endsWith("keyed"), kind.startsWith("mixed")];
    const priorities = new Map<string, number>();
    const tasks = new Set<string>();
    const isTurn = ({ id }: Known) => !tasks.has(id);
    let [total, paused] = [TURNS.total as number, false];
    let before: readonly Known[] = [];
    let lineBefore: readonly string[] = [];
    let lastFence = 0;
    const alive = (...states: string[]) => before.filter(({ state }) => states.includes(state));

    const submit = async () => {
      const priority = pick([0, 3, 3, 3, 7]) ?? 3;
      const who = pick(["a", "b", "c"]) ?? "a";
      const given: GivenSubmission = {
        ...{ priority, presenceMs: HOUR_MS, ...(random() < 0.2 && { delayMs: HOUR_MS }) },
        ...(isMixed && { byDoor: random() < 0.5 }),
        ...(isKeyed && { key: who }),
        ...(kind === "fair" && { share: { key: who, weight: 1 } }),
      };
      const id = `t${priorities.size}`;
      priorities.set(id, priority);
      if (given.byDoor === false) tasks.add(id);
      expect((await t.submit({ id, ...given })).verdict).to.equal("new");
    };
    /** Time has come for a task, as one of its indexes says. */
    const pass = async (index: "leases" | "deadlines" | "scheduled", of: Known | undefined) => {
      if (of) await redis.zadd(t.key(index), "XX", 1, of.id);
      await engine.upkeep.tick(0);
    };
    const done = async () => {
      const of = pick(alive("running"));
      if (!of) return;
      const turn = { queue: "jobs", id: of.id, fence: String(of.fence) };
      expect(await engine.leases.complete(turn, resultOf("x"), t.settings)).to.equal("done");
      expect(await engine.leases.complete(turn, resultOf("x"), t.settings)).to.equal("already");
    };
    const release = async ({ id, fence }: Known) => {
      const kept = { keepMs: HOUR_MS, tombstoneMs: HOUR_MS };
      await engine.call("release", { queue: "jobs", id, fence: String(fence), ...kept });
    };
    const cancel = async () => {
      const of = pick(alive("running", "waiting", "scheduled"));
      if (!of) return;
      const verdict = of.state === "running" && !isTurn(of) ? "requested" : "canceled";
      expect(await engine.call("cancel", { id: of.id, queue: "jobs" })).to.equal(verdict);
      // As its worker would.
      if (verdict === "requested") await release(of);
    };
    const setTotal = async () => {
      total = 1 + Math.floor(random() * 4);
      await engine.queues.adjust("jobs", { total });
    };
    const pause = async () => {
      paused = !paused && random() < 0.5;
      await engine.queues.pause("jobs", paused);
    };
    const acts: readonly (() => Promise<void>)[] = [
      ...[submit, submit, submit, submit, done, done, done, cancel, setTotal, pause],
      () => pass("deadlines", pick([...alive("running").filter(isTurn), ...alive("waiting", "scheduled")])),
      () => pass("leases", pick(alive("running").filter(isTurn))),
      () => pass("scheduled", pick(alive("scheduled"))),
    ];

    for (let step = 0; step < STEPS; step += 1) {
      await pick(acts)?.();
      // A worker takes what it may, however often it must ask.
      let taken = isMixed ? await t.reserve(3) : [];
      for (; taken.length > 0; taken = await t.reserve(3))
        for (const { id } of taken) expect(tasks.has(id), `${id} is for workers`).to.equal(true);
      const open = [...priorities.keys()].filter((id) => !before.some((known) => known.id === id && isEnded(known)));
      const seen = await Promise.all(open.map((id) => t.look(id)));
      const known = seen.map(
        ({ id, state, fence }): Known => ({ id, state, fence: Number(fence ?? 0), priority: priorities.get(id) ?? 0 }),
      );
      const running = known.filter(({ state }) => state === "running");
      const ran = new Set(alive("running").map(({ id }) => id));
      const called = running.filter(({ id }) => !ran.has(id)).sort((a, b) => a.fence - b.fence);
      const what = `step ${step}`;
      expect(await redis.zcard(t.key("leases")), what).to.equal(running.length);
      if (called.length > 0) expect(running.length, what).to.be.at.most(total);
      if (!paused && running.length < total)
        expect(await redis.zcard(t.key(isKeyed ? "startable" : "waiting")), what).to.equal(0);
      for (const { id, worker } of seen)
        if (running.some((of) => of.id === id)) expect(worker !== null, `${id} has a worker`).to.equal(tasks.has(id));
      for (const { id, fence, priority } of called) {
        expect(fence, `the fence of ${id}`).to.be.above(lastFence);
        lastFence = fence;
        if (kind === "plain" || kind === "mixed") expectFirst(id, priority, known);
      }
      const ids = [...priorities.keys()];
      expect(
        await t.scripts.verify(t.keys.tag(0), { ids, heal: true }),
        `what verify heals after ${what}`,
      ).to.deep.equal([]);
      before = [...before.filter(isEnded), ...known];
      lineBefore = await redis.zrange(t.key("waiting"), "0", "-1");
    }
    expect(lastFence, "some were called").to.be.above(0);

    /** None that still waits was before it, and none that waited is as urgent as one that has just come. */
    function expectFirst(id: string, priority: number, known: readonly Known[]): void {
      const at = lineBefore.indexOf(id);
      const waiting = new Set(known.filter(({ state }) => state === "waiting").map((of) => of.id));
      const earlier = lineBefore.filter(
        (other, n) => waiting.has(other) && (at < 0 ? (priorities.get(other) ?? 0) <= priority : n < at),
      );
      expect(earlier, `before ${id}`).to.deep.equal([]);
    }
  };
});

const isEnded = ({ state }: Known): boolean => isOutcome(state as Parameters<typeof isOutcome>[0]);
