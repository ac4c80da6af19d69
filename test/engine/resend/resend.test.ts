import { expect } from "chai";
import { PARTS } from "../../../src/extras/extras.ts";
import * as BREAKERS from "../../../src/extras/gateway/verbs.ts";
import { createLog } from "../../../src/log.ts";
import { connect } from "../../../src/store/connection.ts";
import type { Index } from "../../../src/store/keys.ts";
import type { Move } from "../../../src/store/verbs/move.ts";
import { scriptsOf } from "../../../src/store/verbs/scripts.ts";
import * as VERBS from "../../../src/store/verbs/verbs.ts";
import { openEngine } from "../../helpers/engine.ts";
import { onCluster, storeTarget, storeUrlAt } from "../../helpers/store/run-store.ts";
import { QUEUE, storedKey, TASK } from "../../helpers/store/stored.ts";
import { startTcpProxy } from "../../helpers/tcp-proxy.ts";
import { submitItemOf } from "../../shared/submission.ts";
import { GROUP_CASES } from "./group-cases.ts";
import { KEYED_CASES } from "./keyed-cases.ts";
import { answer, CAP, KEEP, LONG, REQUEST, ROOM, Scene } from "./scene.ts";
import { SERVICE_CASES } from "./service-cases.ts";
import { type Resent, sentTwice } from "./twice.ts";

/** A call of one script in one situation. */
interface Case extends Resent {
  readonly script: string;
  readonly when: string;
}

const submitItem = (id: string, input: string, delayMs = 0) =>
  submitItemOf({
    ...{ id, input, digest: input.length > 64 ? "0".repeat(32) : "", delayMs, deadlineMs: 90_000 },
    ...{ webhook: "https://example.com/", undo: true },
  });

const TARGET = { queue: "jobs", reference: "e@1", reason: "ECONNREFUSED" };
const CASES: readonly Case[] = [
  ...KEYED_CASES,
  ...GROUP_CASES,
  {
    ...{ script: "submit", when: "of new tasks, some for later, some with long inputs" },
    given: async () => undefined,
    call: async ({ scripts, tag }) => {
      const items = [submitItem("n", "1"), submitItem("long", LONG), submitItem("later", "2", 60_000)];
      return (await scripts.submit(tag, items)).verdicts.map(({ verdict }) => verdict);
    },
    replies: [
      ["new", "new", "new"],
      ["replay", "replay", "replay"],
    ],
  },
  {
    ...{ script: "update", when: "of a waiting task" },
    given: (scene) => scene.waiting(),
    call: ({ scripts, tag }) => scripts.update(tag, { ...submitItem("a", LONG), mediaType: "text/plain", call: "1a" }),
    replies: ["updated", "updated"],
  },
  ...[{ place: "first" }, { place: "last" }, { priority: 6 }, { delayMs: 60_000 }].map(
    (to): Case => ({
      ...{ script: "move", when: `of a waiting task, to ${JSON.stringify(to)}` },
      given: (scene) => scene.waiting(),
      call: ({ scripts, tag }) => scripts.move(tag, { id: "a", call: "1a", ...(to as Move) }),
      replies: ["moved", "moved"],
    }),
  ),
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
    ...{ script: "reserve", when: "with more waiting than it takes" },
    given: (scene) => scene.waiting(),
    call: async ({ scripts, tag }) => {
      const { tasks } = await scripts.reserve(tag, { ...REQUEST, rate: { max: 5, perMs: 60_000 } });
      return tasks.map((task) => `${task.id} ${task.attempt}`);
    },
    replies: [["a 1"], ["a 1"]],
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
    ...{ script: "attend", when: "of a task with a presence" },
    given: async (scene) => {
      await scene.t.submit({ id: "a", presenceMs: 30_000 });
    },
    call: ({ scripts, tag }) => scripts.attend(tag, [{ id: "a", queue: "jobs", presenceMs: 30_000, deadlineMs: null }]),
    replies: [["kept"], ["kept"]],
  },
  {
    ...{ script: "renew", when: "of a lease that is held" },
    given: (scene) => scene.running(),
    call: async ({ scripts, tag, lease }) => (await scripts.renew(tag, [{ ...lease, leaseMs: 60_000 }]))[0]?.verdict,
    replies: ["ok", "ok"],
  },
  {
    ...{ script: "complete", when: "of a running task" },
    given: (scene) => scene.running({ webhook: "https://example.com/" }),
    call: async ({ scripts, tag, lease }) => {
      return (await scripts.complete(tag, [{ ...lease, ...KEEP, result: answer }])).verdicts;
    },
    replies: [["done"], ["already"]],
  },
  {
    ...{ script: "fail", when: "with attempts left" },
    given: (scene) => scene.running(),
    call: (scene) => scene.fail("retry", 3),
    replies: [["retrying"], ["retrying"]],
  },
  {
    ...{ script: "fail", when: "asking for later" },
    given: (scene) => scene.running(),
    call: (scene) => scene.fail("later", 1),
    replies: [["retrying"], ["retrying"]],
  },
  {
    ...{ script: "fail", when: "for good, with a step to undo and a webhook to tell" },
    given: async (scene) => {
      await scene.running({ input: LONG, webhook: "https://example.com/" });
      await scene.scripts.step(scene.tag, { ...scene.lease, verb: "keep", name: "s", value: "1", undo: true, ...ROOM });
    },
    call: (scene) => scene.fail("retry", 1),
    replies: [["dead"], ["dead"]],
  },
  {
    ...{ script: "release", when: "of a running task" },
    given: (scene) => scene.running(),
    call: ({ scripts, tag, lease }) => scripts.release(tag, [{ ...lease, ...KEEP }]),
    replies: [["released"], ["released"]],
  },
  {
    ...{ script: "cancel", when: "of a waiting task" },
    given: (scene) => scene.waiting({ webhook: "https://example.com/" }),
    call: ({ scripts, tag }) => scripts.cancel(tag, [{ id: "a", call: "1a", ...KEEP }]),
    replies: [["canceled"], ["canceled"]],
  },
  {
    ...{ script: "cancel", when: "of a running task" },
    given: (scene) => scene.running(),
    call: ({ scripts, tag }) => scripts.cancel(tag, [{ id: "a", call: "1a", ...KEEP }]),
    replies: [["requested"], ["requested"]],
  },
  {
    ...{ script: "cancel", when: "of a finished task that can be undone" },
    given: async (scene) => {
      await scene.running({ input: LONG });
      await scene.scripts.step(scene.tag, { ...scene.lease, verb: "keep", name: "s", value: "1", undo: true, ...ROOM });
      await scene.scripts.complete(scene.tag, [{ ...scene.lease, ...KEEP, result: answer }]);
    },
    call: ({ scripts, tag }) => scripts.cancel(tag, [{ id: "a", call: "1a", ...KEEP }]),
    replies: [["deleted"], ["deleted"]],
  },
  {
    ...{ script: "begin", when: "of a task that has lost a worker before" },
    given: (scene) => scene.suspect(),
    call: ({ scripts, tag, lease }) => scripts.begin(tag, [{ ...lease, leaseMs: 60_000, apart: true }]),
    replies: [["ok"], ["ok"]],
  },
  {
    ...{ script: "lose", when: "of a task whose handler had not begun" },
    given: (scene) => scene.suspect(),
    call: ({ scripts, tag, lease, tickQueue }) => scripts.lose(tag, [{ ...lease, ...tickQueue }], CAP),
    replies: [["released"], ["released"]],
  },
  {
    ...{ script: "lose", when: "of a running task" },
    given: (scene) => scene.running(),
    call: ({ scripts, tag, lease, tickQueue }) => scripts.lose(tag, [{ ...lease, ...tickQueue }], CAP),
    replies: [["waiting"], ["waiting"]],
  },
  {
    ...{ script: "retry", when: "of a dead task" },
    given: (scene) => scene.dead(),
    call: ({ scripts, tag }) => scripts.retry(tag, [{ id: "a", call: "1a" }]),
    replies: [["waiting"], ["waiting"]],
  },
  {
    ...{ script: "deleteDead", when: "of all dead tasks" },
    given: (scene) => scene.dead(),
    call: ({ scripts, tag }) => scripts.deleteDead(tag, { queue: "jobs", limit: 100, call: "1a" }),
    replies: [1, 1],
  },
  {
    ...{ script: "pause", when: "of a queue" },
    given: (scene) => scene.waiting(),
    call: ({ scripts, tag }) => scripts.pause(tag, { queue: "jobs", paused: true }),
  },
  {
    ...{ script: "progress", when: "of a running task" },
    given: (scene) => scene.running(),
    call: ({ scripts, tag, lease }) => scripts.progress(tag, [{ ...lease, progress: "50 half" }]),
    replies: [["ok"], ["ok"]],
  },
  {
    ...{ script: "write", when: "of a running task" },
    given: (scene) => scene.running(),
    call: ({ scripts, tag, lease }) => {
      const item = { ...lease, call: "1a", values: ['"one"', '"two"', '"three"'], maxBytes: 12, all: false };
      return scripts.write(tag, [item]);
    },
    replies: [[2], [2]],
  },
  {
    ...{ script: "step", when: "that is kept" },
    given: (scene) => scene.running(),
    call: async ({ scripts, tag, lease }) =>
      (await scripts.step(tag, { ...lease, verb: "keep", name: "s", value: "1", undo: true, ...ROOM })).verdict,
    replies: ["ok", "ok"],
  },
  {
    ...{ script: "tick", when: "with a task due, a deadline passed, a lease over and a dead letter past its time" },
    given: async (scene) => {
      await scene.dead();
      await scene.t.reserve(1, { reservation: "second" });
      await scene.t.submit({ id: "later", delayMs: 60_000 });
      await scene.t.submit({ id: "late", deadlineMs: 60_000 });
      const store = scene.t.redis;
      const past = (index: Index | "deadlines", id: string) => store.zadd(storedKey(scene.tag, index), "XX", "1", id);
      await Promise.all([
        past("scheduled", "later"),
        past("leases", "b"),
        past("dead", "a"),
        past("deadlines", "late"),
      ]);
      await store.hset(storedKey(scene.tag, "task", "late"), TASK.deadline, 1);
    },
    call: async (scene) => {
      const { promoted, lost, late } = await scene.tick();
      return [promoted, lost.map((task) => task.id), late.map((task) => task.id)];
    },
    replies: [
      [1, ["b"], ["late"]],
      [0, [], []],
    ],
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
  ...SERVICE_CASES,
];

/** They write nothing, and Redis holds them to that. */
const READERS = [
  "inspect",
  "queue",
  "page",
  "allocation",
  "output",
  "finished",
  "group",
  "history",
  "home",
  "lifetimes",
  "details",
  "members",
  "workers",
];

describe("a script sent twice, as after a lost reply", () => {
  it("is tested for every verb", () => {
    expect([...new Set(CASES.map((one) => one.script)), ...READERS].sort()).to.deep.equal(
      Object.keys(Object.assign({}, VERBS, ...PARTS.map(({ verbs }) => verbs))).sort(),
    );
  });

  for (const { script, when, given, call, replies } of CASES) {
    it(`has the effect of one call: ${script} ${when}`, () => sentTwice({ given, call, replies }));
  }

  it("answers an update the same if a worker took the task, or another update came, between the two", async () => {
    const t = await openEngine();
    try {
      const scene = new Scene(t);
      await scene.waiting();
      const update = (call: string, input: string) => t.scripts.update(scene.tag, { ...submitItem("a", input), call });
      expect(await update("1a", "7")).to.equal("updated");
      expect(await update("1b", "8")).to.equal("updated");
      expect(await update("1a", "7")).to.equal("updated");
      const [task] = await t.reserve();
      expect(task?.input.toString()).to.equal("8");
      expect(await update("1b", "8")).to.equal("updated");
      expect(await update("1c", "9")).to.equal("conflict");
    } finally {
      await t.close();
    }
  });

  it("answers a failure the same if the task was reserved again between the two, and a cancel if the task ended", async () => {
    const t = await openEngine();
    try {
      const scene = new Scene(t);
      await scene.running();
      const fail = () => {
        const item = { ...scene.lease, ...KEEP, kind: "later", attempts: 3, delayMs: 0, error: "", code: "" } as const;
        return scene.scripts.fail(scene.tag, [{ ...item, ordered: true, result: answer, deadMs: 1000 }], CAP);
      };
      expect(await fail()).to.deep.equal(["retrying"]);
      await scene.tick();
      const [again] = await t.reserve(1, { reservation: "second" });
      expect(again?.id).to.equal("a");
      expect(await fail()).to.deep.equal(["retrying"]);
      const cancel = () => t.scripts.cancel(scene.tag, [{ id: "a", call: "1a", ...KEEP }]);
      expect(await cancel()).to.deep.equal(["requested"]);
      await t.scripts.complete(scene.tag, [
        { queue: "jobs", id: "a", fence: again?.fence ?? "", ...KEEP, result: answer },
      ]);
      expect(await cancel()).to.deep.equal(["requested"]);
    } finally {
      await t.close();
    }
  });

  it("happens if a connection breaks before the reply", async function () {
    // The proxy stands before one server.
    if (onCluster()) return this.skip();
    const proxy = await startTcpProxy(storeTarget());
    const t = await openEngine();
    const broken = await connect(storeUrlAt(proxy.port), "broken", createLog("silent"));
    try {
      const scripts = scriptsOf(broken, { parts: PARTS });
      const lost = proxy.loseReply();
      const { verdicts } = await scripts.submit(t.keys.tag(0), [submitItem("a", "1")]);
      await lost;
      expect(verdicts.map(({ verdict }) => verdict)).to.deep.equal(["replay"]);
      expect(await t.redis.zrange(storedKey(t.keys.tag(0), "waiting"), "0", "-1")).to.deep.equal(["a"]);
    } finally {
      broken.disconnect();
      await t.close();
      await proxy.stop();
    }
  });
});
