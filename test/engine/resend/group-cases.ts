import { storedKey } from "../../helpers/store/stored.ts";
import { submitItemOf } from "../../shared/submission.ts";
import { KEEP, type Scene } from "./scene.ts";
import type { Resent } from "./twice.ts";

const OPENING = {
  id: "g",
  queue: "jobs",
  caller: "",
  webhook: "https://example.com/",
  limit: 10,
  presenceMs: 30_000,
  openMs: 60_000,
} as const;

const END = { id: "g", lines: 2, closes: true };

/** An open group with two waiting members. */
async function grouped({ scripts, tag }: Scene): Promise<void> {
  await scripts.openGroup(tag, { ...OPENING, ...KEEP });
  await scripts.submit(tag, members("a", "b"));
}

const members = (...ids: readonly string[]) =>
  ids.map((id, line) => submitItemOf({ id, group: "g", line: String(line) }));

/** Calls on groups and their members. */
export const GROUP_CASES: readonly (Resent & { readonly script: string; readonly when: string })[] = [
  {
    ...{ script: "openGroup", when: "of a new group" },
    given: async () => undefined,
    call: async ({ scripts, tag }) => (await scripts.openGroup(tag, { ...OPENING, ...KEEP })).verdict,
    replies: ["new", "new"],
  },
  {
    ...{ script: "submit", when: "of members" },
    given: ({ scripts, tag }) => scripts.openGroup(tag, { ...OPENING, ...KEEP }),
    call: async ({ scripts, tag }) => {
      return (await scripts.submit(tag, members("a", "b"))).verdicts.map(({ verdict }) => verdict);
    },
    replies: [
      ["new", "new"],
      ["replay", "replay"],
    ],
  },
  {
    ...{ script: "reserve", when: "of members" },
    given: grouped,
    call: async ({ scripts, tag }) => {
      const request = { queue: "jobs", worker: "w1", reservation: "r", count: 2, leaseMs: 60_000, rate: undefined };
      return (await scripts.reserve(tag, request)).tasks.map(({ id }) => id);
    },
    replies: [
      ["a", "b"],
      ["a", "b"],
    ],
  },
  {
    ...{ script: "endBatch", when: "of one whose members have ended" },
    given: async (scene) => {
      await grouped(scene);
      await scene.scripts.cancel(
        scene.tag,
        ["a", "b"].map((id) => ({ id, call: id, ...KEEP })),
      );
    },
    call: ({ scripts, tag }) => scripts.endBatch(tag, END),
  },
  {
    ...{ script: "cancel", when: "of the last member of a closed group" },
    given: async (scene) => {
      await grouped(scene);
      await scene.scripts.cancel(scene.tag, [{ id: "a", call: "a", ...KEEP }]);
      await scene.scripts.endBatch(scene.tag, END);
    },
    call: ({ scripts, tag }) => scripts.cancel(tag, [{ id: "b", call: "b", ...KEEP }]),
    replies: [["canceled"], ["canceled"]],
  },
  {
    ...{ script: "cancelGroup", when: "of all members" },
    given: grouped,
    call: ({ scripts, tag }) => scripts.cancelGroup(tag, { id: "g", max: 10 }),
    replies: ["canceled", "canceled"],
  },
  {
    ...{ script: "watchGroups", when: "of one whose members wait" },
    given: grouped,
    call: async ({ scripts, tag }) => (await scripts.watchGroups(tag, "me", ["g"])).groups.length,
    replies: [1, 1],
  },
  {
    ...{ script: "followGroup", when: "of one of whose members one has ended" },
    given: async (scene) => {
      await grouped(scene);
      await scene.scripts.cancel(scene.tag, [{ id: "a", call: "a", ...KEEP }]);
    },
    call: ({ scripts, tag }) => scripts.followGroup(tag, { id: "g" }),
    replies: [1, 1],
  },
  {
    ...{ script: "watchGroups", when: "of one with members" },
    given: grouped,
    call: async ({ scripts, tag }) =>
      (await scripts.watchGroups(tag, "me", ["g"])).groups.map((row) => row?.counts.waiting),
    replies: [[2], [2]],
  },
  {
    ...{ script: "tick", when: "that closes a group and goes on with the cancel of another" },
    given: async (scene) => {
      await grouped(scene);
      const { scripts, tag } = scene;
      await scripts.openGroup(tag, { ...OPENING, id: "left", ...KEEP });
      await scripts.submit(tag, [submitItemOf({ id: "c", group: "left", line: "0" })]);
      await scene.t.redis.zadd(storedKey(tag, "groups"), 1, "left");
      await scripts.cancelGroup(tag, { id: "g", max: 1 });
    },
    call: (scene) => scene.tick().then(({ promoted }) => promoted),
    replies: [0, 0],
  },
];
