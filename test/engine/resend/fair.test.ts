import { storedKey } from "../../helpers/store/stored.ts";
import { CAP, KEEP, REQUEST, type Scene } from "./scene.ts";
import { type Resent, sentTwice } from "./twice.ts";

/** Puts tasks of two keys in a fair line. */
async function line({ t }: Scene): Promise<void> {
  for (const id of ["a", "a2", "b", "a3"]) await t.submit({ id, share: { key: id[0] ?? "", weight: 1 } });
}

/** The first of them is running. */
async function running(scene: Scene): Promise<void> {
  await line(scene);
  const [task] = await scene.t.reserve(1, { reservation: "first" });
  if (!task) throw new Error("nothing to take");
  scene.lease = { queue: "jobs", id: task.id, fence: task.fence };
}

/** What each does to the line and to what is kept of its keys. */
const CASES: Readonly<Record<string, Resent>> = {
  "submit of tasks of several keys": {
    given: line,
    call: async ({ t }) => {
      const more = ["a4", "b2", "c"].map((id) => t.submit({ id, share: { key: id[0] ?? "", weight: 3 } }));
      return (await Promise.all(more)).map(({ verdict, index }) => `${verdict} ${index}`);
    },
  },
  "reserve of the first": {
    given: line,
    call: async ({ scripts, tag }) =>
      (await scripts.reserve(tag, { ...REQUEST, count: 2 })).tasks.map((task) => task.id),
    replies: [
      ["a", "b"],
      ["a", "b"],
    ],
  },
  "cancel of one between others of its key": {
    given: line,
    call: ({ scripts, tag }) => scripts.cancel(tag, [{ id: "a2", call: "1a", ...KEEP }]),
    replies: [["canceled"], ["canceled"]],
  },
  "cancel of the last of its key": {
    given: line,
    call: ({ scripts, tag }) => scripts.cancel(tag, [{ id: "a3", call: "1a", ...KEEP }]),
    replies: [["canceled"], ["canceled"]],
  },
  "lose of one that returns to its place": {
    given: running,
    call: ({ scripts, tag, lease, tickQueue }) => scripts.lose(tag, [{ ...lease, ...tickQueue }], CAP),
    replies: [["waiting"], ["waiting"]],
  },
  "retry of a dead one, to the end of its key": {
    given: async (scene) => {
      await running(scene);
      await scene.fail("retry", 1);
    },
    call: ({ scripts, tag }) => scripts.retry(tag, [{ id: "a", call: "1a" }]),
    replies: [["waiting"], ["waiting"]],
  },
  "tick with one that is due": {
    given: async (scene) => {
      await line(scene);
      await scene.t.submit({ id: "a9", share: { key: "a", weight: 1 }, delayMs: 1 });
      await scene.t.redis.zadd(storedKey(scene.tag, "scheduled"), "XX", 1, "a9");
    },
    call: async (scene) => (await scene.tick()).promoted,
    replies: [1, 0],
  },
};

describe("a script sent twice in a fair line", () => {
  for (const [name, resent] of Object.entries(CASES)) {
    it(`has the effect of one call: ${name}`, () => sentTwice(resent));
  }
});
