import { expect } from "chai";
import * as ALLOCATIONS from "../../../src/extras/allocations/verbs.ts";
import { PARTS } from "../../../src/extras/extras.ts";
import * as BREAKERS from "../../../src/extras/gateway/verbs.ts";
import * as GROUPS from "../../../src/extras/groups/verbs.ts";
import * as SCHEDULES from "../../../src/extras/schedules/verbs.ts";
import { createLog } from "../../../src/log.ts";
import { connect } from "../../../src/store/connection.ts";
import { scriptsOf } from "../../../src/store/library/scripts.ts";
import * as VERBS from "../../../src/store/library/verbs.ts";
import { encodeResult } from "../../../src/store/task/record.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { onCluster, storeTarget, storeUrlAt } from "../../helpers/store/run-store.ts";
import { QUEUE, storedKey } from "../../helpers/store/stored.ts";
import { startTcpProxy } from "../../helpers/tcp-proxy.ts";
import { submitItemOf } from "../../shared/submission.ts";
import { PLAYED } from "../model/store.ts";
import { contents } from "./dump.ts";

/** A call of one script in one situation; both of its replies where they are told apart. */
interface Case {
  readonly script: string;
  readonly when: string;
  given(scene: Scene): Promise<unknown>;
  call(scene: Scene): Promise<unknown>;
  readonly replies?: readonly [first: unknown, second: unknown] | undefined;
}

const KEEP = { keepMs: 60_000, tombstoneMs: 60_000 };
const REQUEST = { queue: "jobs", worker: "w1", reservation: "r", count: 1, leaseMs: 60_000, rate: undefined };
const TARGET = { queue: "jobs", reference: "e@1", reason: "ECONNREFUSED" };
const SLOTS = new Map([["jobs", 4]]);
const ALLOCATION = { id: "a-1", value: "{}", ttlMs: 60_000, queue: "jobs", limit: 10 };
const KEPT = { verdict: "kept" };
const POINTER = { id: "a", queue: "jobs", caller: "", home: 2 };
const OPENING = {
  ...{ id: "g", queue: "jobs", caller: "", webhook: "https://example.com/", limit: 10, presenceMs: 30_000 },
  ...{ openMs: 60_000, ...KEEP },
};
const CLAIM = { version: 2, release: "1.0.0", partitions: 3, secret: "mine" };
const SCHEDULE = { id: "s", definition: "{}", queue: "jobs", times: "every 5m", paused: false, declared: true };
const STEP = {
  ...{ id: "s", heldMs: 0, afterMs: 1000, atMs: 1000, state: "submitted" as const, task: "s~1", nextMs: 2000 },
  ...{ retryUntilMs: null, holdMs: 0, missedMs: [] },
} as const;
const scheduledRun = async ({ scripts, tag }: Scene) => {
  await scripts.of(SCHEDULES).putSchedule(tag, SCHEDULE);
  await scripts.of(SCHEDULES).stepSchedule(tag, STEP);
};
const END = { id: "g", lines: 2, closes: true };
const QUEUE_ENDS = { queue: "jobs", maxLost: 1, deadMs: 60_000, ...KEEP };
const answer = encodeResult({ status: 200, contentType: "text/plain", headers: {}, body: Buffer.from("ok") });

/** A store in some state, before the call that is to be sent twice. */
const sceneOf = (t: TestEngine) => {
  const { scripts } = t;
  const tag = t.keys.tag(0);
  return {
    ...{ t, scripts, tag },
    waiting: async () => {
      for (const id of ["a", "b"]) await t.submit({ id });
    },
    /** An open group with two waiting members. */
    grouped: async () => {
      await scripts.of(GROUPS).openGroup(tag, OPENING);
      await scripts.submit(
        tag,
        ["a", "b"].map((id, line) => submitItemOf({ id, group: "g", line: String(line) })),
      );
    },
    cancel: (...ids: string[]) =>
      scripts.cancel(
        tag,
        ids.map((id) => ({ id, call: id, ...KEEP })),
      ),
  };
};
type Scene = ReturnType<typeof sceneOf>;

/** What the model does not play: for workers, the operator and the deployment. */
const NOTE = { event: '{"kind":"queue-full"}', state: "full jobs", value: 60_000, call: "1a" } as const;
const PRESENCE = { worker: "w1", ttlMs: 60_000, remote: false, about: '{"kind":"process"}', event: "{}" };
const CASES: readonly Case[] = [
  {
    ...{ script: "again", when: "of a waiting task" },
    given: (scene) => scene.waiting(),
    call: async ({ scripts, tag }) => {
      const { tasks } = await scripts.inspect(tag, [{ id: "a", result: false }]);
      return await scripts.again(tag, { id: "a", createdMs: tasks[0]?.createdMs ?? 0, again: "b" });
    },
    replies: ["noted", "noted"],
  },
  {
    ...{ script: "reserve", when: "for a request over HTTP" },
    given: (scene) => scene.waiting(),
    call: async ({ scripts, tag }) => {
      const { tasks } = await scripts.reserve(tag, { ...REQUEST, sender: "s" });
      return tasks.map((task) => `${task.id} ${task.attempt}`);
    },
    replies: [["a 1"], ["a 1"]],
  },
  {
    ...{ script: "attemptLog", when: "of a running task" },
    given: async (scene) => {
      await scene.waiting();
      await scene.scripts.reserve(scene.tag, { ...REQUEST, sender: "s" });
    },
    call: async ({ scripts, tag }) => {
      // The same request gets the same task.
      const { tasks } = await scripts.reserve(tag, { ...REQUEST, sender: "s" });
      return await scripts.attemptLog(tag, [{ id: "a", fence: tasks[0]?.fence ?? "", log: '{"log":[]}' }]);
    },
    replies: [["ok"], ["ok"]],
  },
  {
    ...{ script: "cancelAndInspect", when: "of a waiting task" },
    given: (scene) => scene.waiting(),
    call: async ({ scripts, tag }) => {
      const canceled = await scripts.cancelAndInspect(tag, [{ id: "a", call: "1a", ...KEEP }]);
      return canceled.map(({ verdict, row }) => [verdict, row?.state]);
    },
    replies: [[["canceled", "canceled"]], [["canceled", "canceled"]]],
  },
  {
    ...{ script: "breaker", when: "whose probe is due" },
    given: ({ t, tag }) => t.redis.hset(storedKey(tag, "queue"), QUEUE.rest, "1 1 0 ECONNREFUSED"),
    call: async ({ scripts, tag }) => {
      return (await scripts.of(BREAKERS).breaker(tag, { queue: "jobs", request: "r", leaseMs: 60_000, verb: "ask" }))
        .state;
    },
    replies: ["half-open", "half-open"],
  },
  {
    ...{ script: "breakerReport", when: "of the failure that opens it" },
    given: ({ t, tag }) => t.redis.hset(storedKey(tag, "queue"), QUEUE.failures, "a@1 b@1 c@1 d@1"),
    call: ({ scripts, tag }) => scripts.of(BREAKERS).breakerReport(tag, { ...TARGET, state: "down", request: "" }),
    replies: ["opened", "opened"],
  },
  {
    ...{ script: "breakerReport", when: "of the probe that closes it" },
    given: ({ t, tag }) => t.redis.hset(storedKey(tag, "queue"), QUEUE.rest, "1 1 0 ECONNREFUSED", QUEUE.probe, "1 r"),
    call: ({ scripts, tag }) => scripts.of(BREAKERS).breakerReport(tag, { ...TARGET, state: "up", request: "r" }),
    replies: ["recovered", "recovered"],
  },
  {
    ...{ script: "unreserve", when: "of what a request took" },
    given: async (scene) => {
      await scene.waiting();
      await scene.scripts.reserve(scene.tag, { ...REQUEST, sender: "s" });
    },
    call: ({ scripts, tag }) => scripts.unreserve(tag, { ...REQUEST, ...KEEP, sender: "s" }),
    replies: ["handed-back", "handed-back"],
  },
  {
    ...{ script: "watch", when: "of a waiting task" },
    given: (scene) => scene.waiting(),
    call: async ({ scripts, tag }) => {
      const { tasks } = await scripts.watch(tag, "me", [{ id: "a", result: false }]);
      return tasks.map((task) => task?.state);
    },
    replies: [["waiting"], ["waiting"]],
  },
  {
    ...{ script: "endBatch", when: "of one whose members have ended" },
    given: async (scene) => {
      await scene.grouped();
      await scene.cancel("a", "b");
    },
    call: ({ scripts, tag }) => scripts.of(GROUPS).endBatch(tag, END),
  },
  {
    ...{ script: "watchGroups", when: "of one with members" },
    given: (scene) => scene.grouped(),
    call: async ({ scripts, tag }) =>
      (await scripts.of(GROUPS).watchGroups(tag, { process: "me", items: ["g"] })).groups.map(
        (row) => row?.counts.waiting,
      ),
    replies: [[2], [2]],
  },
  {
    ...{ script: "followGroup", when: "of one of whose members one has ended" },
    given: async (scene) => {
      await scene.grouped();
      await scene.cancel("a");
    },
    call: ({ scripts, tag }) => scripts.of(GROUPS).followGroup(tag, { id: "g" }),
    replies: [1, 1],
  },
  {
    ...{ script: "point", when: "to a task in another partition" },
    given: async () => undefined,
    call: async ({ scripts, tag }) =>
      (await scripts.point(tag, [POINTER], { checkMs: 60_000 })).map(({ verdict }) => verdict),
    replies: [["new"], ["noted"]],
  },
  {
    ...{ script: "repoint", when: "from a task that has gone" },
    given: async ({ scripts, tag, t }) => {
      await scripts.point(tag, [POINTER], { checkMs: 60_000 });
      await t.redis.zadd(storedKey(tag, "pointers"), "7", "a");
    },
    call: ({ scripts, tag }) => scripts.repoint(tag, { checked: [{ id: "a", score: "7", nextMs: null }] }),
    replies: [[], []],
  },
  {
    ...{ script: "register", when: "of a queue" },
    given: async () => undefined,
    call: async ({ scripts, tag }) => {
      const queues = [{ ...QUEUE_ENDS, leaseMs: 60_000, warmup: "70000 8", rate: "5 1000", total: "7" }];
      return (await scripts.register(tag, { queues, deleteAfterMs: 60_000 })).map(({ queue }) => queue);
    },
    replies: [["jobs"], ["jobs"]],
  },
  {
    ...{ script: "libraries", when: "of a start" },
    given: ({ scripts, tag }) => scripts.libraries(tag, { name: "paihao_before" }),
    call: ({ scripts, tag }) => scripts.libraries(tag, { name: "paihao_now" }),
    replies: [
      ["paihao_now", "paihao_before"],
      ["paihao_now", "paihao_before"],
    ],
  },
  {
    ...{ script: "heartbeat", when: "of a worker" },
    given: (scene) => scene.waiting(),
    call: ({ scripts, tag }) =>
      scripts.heartbeat(tag, { worker: "w1", ttlMs: 60_000, about: "{}", again: false, quiet: false, slots: SLOTS }),
  },
  ...(["", "begins", "lasted"] as const).map(
    (phase): Case => ({
      ...{ script: "note", when: `of an event${phase && ` that ${phase}`}` },
      given: async () => undefined,
      call: ({ scripts, tag }) => scripts.note(tag, { ...NOTE, phase }),
    }),
  ),
  {
    ...{ script: "note", when: "of the end of a state" },
    given: ({ scripts, tag }) => scripts.note(tag, { ...NOTE, phase: "begins" }),
    call: ({ scripts, tag }) => scripts.note(tag, { ...NOTE, phase: "ends" }),
  },
  {
    ...{ script: "present", when: "of a worker that starts" },
    given: async () => undefined,
    call: ({ scripts, tag }) => scripts.present(tag, PRESENCE),
  },
  {
    ...{ script: "present", when: "of a worker that stops" },
    given: ({ scripts, tag }) => scripts.present(tag, PRESENCE),
    call: ({ scripts, tag }) => scripts.present(tag, { ...PRESENCE, ttlMs: 0 }),
  },
  {
    ...{ script: "overdue", when: "of nobody" },
    given: ({ scripts, tag }) => scripts.present(tag, PRESENCE),
    call: ({ scripts, tag }) => scripts.overdue(tag, {}).then(({ workers }) => workers),
    replies: [[], []],
  },
  {
    ...{ script: "full", when: "of a store that refuses submissions" },
    given: async () => undefined,
    call: ({ scripts, tag }) =>
      scripts.full(tag, { process: "p", refused: 3, hasRoom: false }).then(({ refused }) => refused),
    replies: [3, 3],
  },
  {
    ...{ script: "full", when: "of one that has room again" },
    given: async ({ scripts, tag, t }) => {
      await scripts.full(tag, { process: "p", refused: 3, hasRoom: false });
      await t.redis.hset(storedKey(tag, "refusals"), "latest", 1);
    },
    call: ({ scripts, tag }) =>
      scripts.full(tag, { process: "p", refused: 0, hasRoom: true }).then(({ refused }) => refused),
    replies: [0, 0],
  },
  {
    ...{ script: "room", when: "of a store with room" },
    given: async () => undefined,
    call: ({ scripts, tag }) => scripts.room(tag, {}),
  },
  {
    ...{ script: "losses", when: "of a worker" },
    given: async () => undefined,
    call: ({ scripts, tag }) => scripts.losses(tag, { workerEnd: "w1", ids: ["a", "b"] }),
  },
  {
    ...{ script: "workerLost", when: "with tasks" },
    given: async ({ scripts, tag, t }) => {
      await scripts.present(tag, PRESENCE);
      await scripts.losses(tag, { workerEnd: "w1", ids: ["a"] });
      await t.redis.zadd(storedKey(tag, "present"), 1, "w1");
    },
    call: ({ scripts, tag }) => scripts.workerLost(tag, { worker: "w1", workerEnd: "w1", ids: ["b"] }),
  },
  {
    ...{ script: "verify", when: "with an entry lost" },
    given: async (scene) => {
      await scene.waiting();
      await scene.t.redis.zrem(storedKey(scene.tag, "waiting"), "a");
    },
    call: ({ scripts, tag }) => scripts.verify(tag, { ids: ["a", "b"], heal: true }),
    replies: [["a"], []],
  },
  {
    ...{ script: "allocate", when: "of a new id" },
    given: async () => undefined,
    call: ({ scripts, tag }) => scripts.of(ALLOCATIONS).allocate(tag, ALLOCATION),
    replies: [KEPT, KEPT],
  },
  {
    ...{ script: "deallocate", when: "of an allocated id" },
    given: ({ scripts, tag }) => scripts.of(ALLOCATIONS).allocate(tag, ALLOCATION),
    call: ({ scripts, tag }) => scripts.of(ALLOCATIONS).deallocate(tag, { id: "a-1", queue: "jobs" }),
  },
  {
    ...{ script: "claim", when: "of an empty store" },
    given: async () => undefined,
    call: ({ scripts, tag }) => scripts.claim(tag, CLAIM),
    replies: [CLAIM, CLAIM],
  },
  {
    ...{ script: "probe", when: "of the rights of the store's user" },
    given: async () => undefined,
    call: ({ scripts, tag }) => scripts.probe(tag, { publish: "PUBLISH" }),
    replies: [[], []],
  },
  {
    ...{ script: "sample", when: "of a queue that has changed" },
    given: ({ t, tag }) => t.redis.zadd(storedKey(tag, "scheduled"), 1, "a"),
    call: ({ scripts, tag }) =>
      scripts.sample(tag, { process: "p", queues: ["jobs"], wereEmpty: false }).then(() => "taken"),
    replies: ["taken", "taken"],
  },
  {
    ...{ script: "adjust", when: "of a queue" },
    given: async () => undefined,
    call: ({ scripts, tag }) => scripts.adjust(tag, { queue: "jobs", rate: "5 1000", concurrency: "4", total: "7" }),
  },
  {
    ...{ script: "quiet", when: "of a worker" },
    given: ({ scripts, tag }) =>
      scripts.heartbeat(tag, { worker: "w1", ttlMs: 60_000, about: "{}", again: false, quiet: false, slots: SLOTS }),
    call: ({ scripts, tag }) => scripts.quiet(tag, { worker: "w1", quiet: true, queues: ["jobs"] }),
  },
  {
    ...{ script: "putSchedule", when: "of a new one" },
    given: async () => undefined,
    call: ({ scripts, tag }) => scripts.of(SCHEDULES).putSchedule(tag, SCHEDULE),
  },
  {
    ...{ script: "deleteSchedule", when: "of one that is paused" },
    given: ({ scripts, tag }) => scripts.of(SCHEDULES).putSchedule(tag, { ...SCHEDULE, paused: true }),
    call: ({ scripts, tag }) => scripts.of(SCHEDULES).deleteSchedule(tag, { id: "s" }),
  },
  {
    ...{ script: "tickSchedules", when: "of one that is due" },
    given: ({ scripts, tag }) => scripts.of(SCHEDULES).putSchedule(tag, SCHEDULE),
    call: ({ scripts, tag }) =>
      scripts.of(SCHEDULES).tickSchedules(tag, { max: 10, skip: 0, livedMs: 0, queues: ["jobs"], declared: ["s"] }),
  },
  {
    ...{ script: "stepSchedule", when: "by the look that holds it" },
    given: ({ scripts, tag }) => scripts.of(SCHEDULES).putSchedule(tag, SCHEDULE),
    call: ({ scripts, tag }) => scripts.of(SCHEDULES).stepSchedule(tag, STEP),
  },
  {
    ...{ script: "openRuns", when: "of a task that was just submitted" },
    given: scheduledRun,
    call: ({ scripts, tag }) => scripts.of(SCHEDULES).openRuns(tag, { limit: 10 }),
  },
  {
    ...{ script: "endRun", when: "of a task that has ended" },
    given: scheduledRun,
    call: ({ scripts, tag }) =>
      scripts.of(SCHEDULES).endRun(tag, { id: "s", atMs: STEP.atMs, state: "succeeded" as const }),
  },
  {
    ...{ script: "noteKeyUses", when: "of two keys" },
    given: () => Promise.resolve(),
    call: ({ scripts, tag }) => scripts.noteKeyUses(tag, { keys: ["ci 1234abcd", "shop 5678abcd"] }),
  },
  {
    ...{ script: "watchIncidents", when: "of the process that looks" },
    given: async () => undefined,
    call: ({ scripts, tag }) => scripts.watchIncidents(tag, { process: "p" }).then(({ isWatching }) => isWatching),
    replies: [true, true],
  },
  {
    ...{ script: "tellIncidents", when: "of one that has begun" },
    given: ({ scripts, tag }) => scripts.watchIncidents(tag, { process: "p" }),
    call: ({ scripts, tag }) =>
      scripts.tellIncidents(tag, { process: "p", lookedMs: 1, list: "[]", events: ['{"kind":"incident-began"}'] }),
  },
];

/** They write nothing, and Redis holds them to that. */
const READERS = [
  ...["inspect", "queue", "page", "allocation", "output", "finished", "group", "history", "home", "lifetimes"],
  ...["details", "members", "workers", "events", "lostWorkers", "schedules"],
  ...["deploys", "incidents", "keyUses", "missedSchedules"],
];

describe("a script sent twice, as after a lost reply", () => {
  it("is tested for every verb, by the model or here", () => {
    const tested = [...CASES.map(({ script }) => script), ...READERS, ...PLAYED];
    expect([...new Set(tested)].sort()).to.deep.equal(
      Object.keys(Object.assign({}, VERBS, ...PARTS.map(({ verbs }) => verbs))).sort(),
    );
  });

  for (const { script, when, given, call, replies } of CASES) {
    it(`has the effect of one call: ${script} ${when}`, async () => {
      const [once, twice] = await Promise.all([openEngine(), openEngine()]);
      try {
        const [single, double] = [sceneOf(once), sceneOf(twice)];
        await given(single);
        await given(double);
        const alone = await call(single);
        const both = await Promise.all([call(double), call(double)]);
        if (replies) expect([alone, ...both]).to.deep.equal([replies[0], ...replies]);
        expect(await contents(twice.redis, double.tag)).to.deep.equal(await contents(once.redis, single.tag));
      } finally {
        await Promise.all([once.close(), twice.close()]);
      }
    });
  }
});

describe("a call that is sent again later", () => {
  let t: TestEngine;
  let tag: string;
  beforeEach(async () => {
    t = await openEngine();
    tag = t.keys.tag(0);
    await sceneOf(t).waiting();
  });
  afterEach(() => t.close());

  it("is answered the same if a worker took the task, or another update came, in between", async () => {
    const update = (call: string, input: string) => t.scripts.update(tag, { ...submitItemOf({ input }), call });
    expect(await update("1a", "7")).to.equal("updated");
    expect(await update("1b", "8")).to.equal("updated");
    expect(await update("1a", "7")).to.equal("updated");
    const [task] = await t.reserve();
    expect(task?.input.toString()).to.equal("8");
    expect(await update("1b", "8")).to.equal("updated");
    expect(await update("1c", "9")).to.equal("conflict");
  });

  it("is answered the same if the task ended in between", async () => {
    const [task] = await t.reserve();
    const cancel = () => t.scripts.cancel(tag, [{ id: "a", call: "1a", ...KEEP }]);
    expect(await cancel()).to.deep.equal(["requested"]);
    const lease = { queue: "jobs", id: "a", fence: task?.fence ?? "" };
    await t.scripts.complete(tag, [{ ...lease, ...KEEP, result: answer }]);
    expect(await cancel()).to.deep.equal(["requested"]);
  });

  it("is what a broken connection does", async function () {
    // The proxy stands before one server.
    if (onCluster()) return this.skip();
    const proxy = await startTcpProxy(storeTarget());
    const broken = await connect(storeUrlAt(proxy.port), "broken", createLog("silent"));
    try {
      const lost = proxy.loseReply();
      const { verdicts } = await scriptsOf(broken, { parts: PARTS }).submit(tag, [submitItemOf({ id: "new" })]);
      await lost;
      expect(verdicts.map(({ verdict }) => verdict)).to.deep.equal(["replay"]);
      expect(await t.redis.zrange(storedKey(tag, "waiting"), "0", "-1")).to.deep.equal(["a", "b", "new"]);
    } finally {
      broken.disconnect();
      await proxy.stop();
    }
  });
});
