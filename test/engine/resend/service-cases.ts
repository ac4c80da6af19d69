import * as ALLOCATIONS from "../../../src/extras/allocations/verbs.ts";
import { storedKey } from "../../helpers/store/stored.ts";
import type { Resent } from "./twice.ts";

const slots = new Map([["jobs", 4]]);
const ALLOCATION = { id: "a-1", value: "{}", ttlMs: 60_000, queue: "jobs", limit: 10 };
const KEPT = { verdict: "kept", waiting: 0, scheduled: 0 };

/** Calls for workers, the operator and the deployment, in situations of their own. */
export const SERVICE_CASES: readonly (Resent & { readonly script: string; readonly when: string })[] = [
  {
    ...{ script: "register", when: "of a queue" },
    given: async () => undefined,
    call: async ({ scripts, tag, tickQueue }) => {
      return (
        await scripts.register(tag, [{ ...tickQueue, leaseMs: 60_000, warmup: "70000 8", rate: "5 1000" }], 60_000)
      ).map(({ queue }) => queue);
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
    call: ({ scripts, tag }) => scripts.heartbeat(tag, "w1", 60_000, slots, "{}", false),
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
    ...{ script: "claim", when: "of the number of partitions" },
    given: async () => undefined,
    call: ({ scripts, tag }) => scripts.claim(tag, { partitions: 3 }),
    replies: [3, 3],
  },
  {
    ...{ script: "probe", when: "of the rights of the store's user" },
    given: async () => undefined,
    call: ({ scripts, tag }) => scripts.probe(tag, "PUBLISH"),
    replies: [[], []],
  },
  {
    ...{ script: "sample", when: "of a queue that has changed" },
    given: ({ t, tag }) => t.redis.zadd(storedKey(tag, "scheduled"), 1, "a"),
    call: ({ scripts, tag }) => scripts.sample(tag, "p", ["jobs"], false).then(() => "taken"),
    replies: ["taken", "taken"],
  },
  {
    ...{ script: "secret", when: "of the deployment's secret" },
    given: async () => undefined,
    call: ({ scripts, tag }) => scripts.secret(tag, { proposal: "mine" }),
    replies: ["mine", "mine"],
  },
  {
    ...{ script: "version", when: "of the version of the data" },
    given: async () => undefined,
    call: ({ scripts, tag }) => scripts.version(tag, { version: 2 }),
    replies: [2, 2],
  },
];
