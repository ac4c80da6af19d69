import { storedKey } from "../../helpers/store/stored.ts";
import { submitItemOf } from "../../shared/submission.ts";
import { answer, CAP, KEEP, REQUEST, type Scene } from "./scene.ts";
import type { Resent } from "./twice.ts";

const of = (id: string, key = "1 =k") => submitItemOf({ id, key });
const POINTER = { id: "a", queue: "jobs", caller: "", home: 2 };

/** Three tasks of one key, of which the first runs. */
async function running(scene: Scene): Promise<void> {
  await scene.scripts.submit(scene.tag, [of("a"), of("b"), of("c")]);
  const [task] = await scene.t.reserve(3, { reservation: "first" });
  scene.lease = { queue: "jobs", id: "a", fence: task?.fence ?? "" };
}
const startable = ({ t, tag }: Scene) => t.redis.zrange(storedKey(tag, "startable"), "0", "-1");
/** What a call changes of those that may start. */
const then = (call: (scene: Scene) => Promise<unknown>) => async (scene: Scene) => {
  await call(scene);
  return await startable(scene);
};

/** Calls on keyed tasks, and those that say where such tasks are. */
export const KEYED_CASES: readonly (Resent & { readonly script: string; readonly when: string })[] = [
  {
    ...{ script: "submit", when: "of tasks of one key" },
    given: async () => undefined,
    call: then(({ scripts, tag }) => scripts.submit(tag, [of("a"), of("b"), of("n", "1")])),
    replies: [
      ["a", "n"],
      ["a", "n"],
    ],
  },
  {
    ...{ script: "submit", when: "of more tasks of a key than may wait" },
    given: async () => undefined,
    call: async ({ scripts, tag }) => {
      const { verdicts } = await scripts.submit(
        tag,
        ["a", "b", "c"].map((id) => of(id, "1/2 =k")),
      );
      return verdicts.map(({ verdict }) => verdict);
    },
    replies: [
      ["new", "new", "too-many"],
      ["replay", "replay", "too-many"],
    ],
  },
  {
    ...{ script: "reserve", when: "of tasks of one key" },
    given: ({ scripts, tag }) => scripts.submit(tag, [of("a"), of("b"), of("c", "1 =other")]),
    call: async ({ scripts, tag }) => (await scripts.reserve(tag, { ...REQUEST, count: 5 })).tasks.map(({ id }) => id),
    replies: [
      ["a", "c"],
      ["a", "c"],
    ],
  },
  {
    ...{ script: "complete", when: "of a keyed task" },
    given: running,
    call: then(({ scripts, tag, lease }) => scripts.complete(tag, [{ ...lease, ...KEEP, result: answer }])),
    replies: [["b"], ["b"]],
  },
  {
    ...{ script: "fail", when: "of a keyed task with another attempt" },
    given: running,
    call: then((scene) => scene.fail("retry", 3)),
    replies: [[], []],
  },
  {
    ...{ script: "fail", when: "of a keyed task for good" },
    given: running,
    call: then((scene) => scene.fail("retry", 1)),
    replies: [["b"], ["b"]],
  },
  {
    ...{ script: "release", when: "of a keyed task" },
    given: running,
    call: then(({ scripts, tag, lease }) => scripts.release(tag, [{ ...lease, ...KEEP }])),
    replies: [["a"], ["a"]],
  },
  {
    ...{ script: "lose", when: "of a keyed task" },
    given: running,
    call: then(({ scripts, tag, lease, tickQueue }) => scripts.lose(tag, [{ ...lease, ...tickQueue }], CAP)),
    replies: [["a"], ["a"]],
  },
  {
    ...{ script: "cancel", when: "of the next of a key" },
    given: async (scene) => {
      await scene.scripts.submit(scene.tag, [of("a"), of("b")]);
    },
    call: then(({ scripts, tag }) => scripts.cancel(tag, [{ id: "a", call: "1a", ...KEEP }])),
    replies: [["b"], ["b"]],
  },
  {
    ...{ script: "update", when: "that changes the key" },
    given: running,
    call: then(({ scripts, tag }) => scripts.update(tag, { ...of("b", "1 =other"), call: "1a" })),
    replies: [["b"], ["b"]],
  },
  {
    ...{ script: "move", when: "of a keyed task to another priority" },
    given: async ({ scripts, tag }) => {
      await scripts.submit(tag, [of("a"), of("b")]);
    },
    call: then(({ scripts, tag }) => scripts.move(tag, { id: "b", call: "1a", priority: 0 })),
    // Of a line key, arrival counts.
    replies: [["a"], ["a"]],
  },
  {
    ...{ script: "retry", when: "of a dead keyed task" },
    given: async (scene) => {
      await running(scene);
      await scene.fail("retry", 1);
    },
    call: then(({ scripts, tag }) => scripts.retry(tag, [{ id: "a", call: "1a" }])),
    replies: [["b"], ["b"]],
  },
  {
    ...{ script: "tick", when: "with a keyed task that is due" },
    given: async (scene) => {
      await running(scene);
      await scene.fail("retry", 3);
      await scene.t.redis.zadd(storedKey(scene.tag, "scheduled"), "1", "a");
    },
    call: then((scene) => scene.tick()),
    replies: [["a"], ["a"]],
  },
  {
    ...{ script: "point", when: "to a task in another partition" },
    given: async () => undefined,
    call: async ({ scripts, tag }) => (await scripts.point(tag, [POINTER], 60_000)).map(({ verdict }) => verdict),
    replies: [["new"], ["noted"]],
  },
  {
    ...{ script: "repoint", when: "from a task that has gone" },
    given: async ({ scripts, tag, t }) => {
      await scripts.point(tag, [POINTER], 60_000);
      await t.redis.zadd(storedKey(tag, "pointers"), "7", "a");
    },
    call: ({ scripts, tag }) => scripts.repoint(tag, [{ id: "a", score: "7", nextMs: null }]),
    replies: [[], []],
  },
];
