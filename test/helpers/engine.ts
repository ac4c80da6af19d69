import { readConfig } from "../../src/config/config.ts";
import { Engine } from "../../src/engine/engine.ts";
import { type QueueSettings, settingsOf } from "../../src/engine/settings.ts";
import { catalogueResult } from "../../src/engine/tasks/result.ts";
import type { WithInput } from "../../src/engine/tasks/take.ts";
import type { Inspection } from "../../src/engine/watch/inspect.ts";
import { PARTS } from "../../src/extras/extras.ts";
import { defineHandler } from "../../src/handler/define.ts";
import { createLog } from "../../src/log.ts";
import { type Connection, connect } from "../../src/store/connection.ts";
import { Keys } from "../../src/store/keys.ts";
import { type Scripts, scriptsOf } from "../../src/store/library/scripts.ts";
import { PubSub } from "../../src/store/pubsub.ts";
import type { Result } from "../../src/task.ts";
import { type GivenSubmission, submissionOf } from "../shared/submission.ts";
import { onCluster, storeUrl, uniquePrefix } from "./store/run-store.ts";
import { removeKeysLike } from "./store/scan.ts";
import { type StoredKind, storedKey } from "./store/stored.ts";

/** A separate engine on the run's store, with a fresh key prefix; removes its keys at the end. */
export interface TestEngine {
  readonly engine: Engine;
  readonly redis: Connection;
  readonly keys: Keys;
  readonly scripts: Scripts;
  readonly settings: QueueSettings;
  /** A key in the partition of the test's queue; by default that of the test's queue. */
  key(kind: StoredKind, name?: string): string;
  /** Submits to the test's queue; by default under a new id. */
  submit(options?: GivenSubmission): ReturnType<Engine["submitter"]["submit"]>;
  /** Reserves for a worker. */
  reserve(
    count?: number,
    options?: { worker?: string; lane?: number; reservation?: string; leaseMs?: number },
  ): Promise<readonly WithInput[]>;
  /** Makes a scheduled or retrying task of the test's queue due. */
  makeDue(id: string): Promise<unknown>;
  /** Ends the lease of a running task. */
  endLease(id: string): Promise<unknown>;
  /** Reads a task with its result; throws if it is unknown. */
  look(id: string): Promise<Inspection>;
  close(): Promise<void>;
}

/** The result of a successful task. */
export const resultOf = (text: string): Result => ({
  ...{ status: 200, contentType: "text/plain", headers: { "x-made-by": "test" }, body: Buffer.from(text) },
});

/** A failed attempt. */
export const failureOf = <Kind extends "retry" | "later" | "give-up">(kind: Kind, delayMs = 0) => ({
  ...{ kind, delayMs, error: "boom", code: "task-failed", result: catalogueResult("task-failed") },
});

/** How long the shared store may stand still on a busy machine, ms; such a delay is no failure of the engine. */
const STALLED_MS = 30_000;

let ids = 0;
const fresh = (kind: string): string => {
  ids += 1;
  return `${kind}${ids}`;
};

/** Opens an engine with one queue named `jobs`. */
export async function openEngine(
  options: {
    partitions?: number;
    settings?: Partial<QueueSettings>;
    url?: string;
    prefix?: string;
    /** The queues with a handler; default: `jobs`. */
    queues?: readonly "jobs"[];
    /** Scripts that fail in the way that the test needs. */
    makeScripts?: (redis: Connection) => Scripts;
    /** Other scripts for large values. */
    makeLarge?: (redis: Connection) => Scripts;
  } = {},
): Promise<TestEngine> {
  const config = readConfig({});
  const log = createLog("silent");
  const url = options.url ?? storeUrl();
  const limit = options.url === undefined && !onCluster() ? { commandMs: STALLED_MS } : {};
  const open = (name: string, subscriber: boolean) => {
    const attempt = () => connect(url, name, log, { ...limit, subscriber });
    // The first attempt has a limit of its own.
    return attempt().catch(attempt);
  };
  const redis = await open("test", false);
  const subscriber = await open("test-pubsub", true);
  const keys = new Keys(options.prefix ?? uniquePrefix(), options.partitions ?? 1);
  const scripts = options.makeScripts?.(redis) ?? scriptsOf(redis, { parts: PARTS });
  const settings = {
    ...settingsOf(defineHandler({ queue: "jobs", run: () => undefined }), config),
    ...options.settings,
  };
  const engine = new Engine({
    scripts,
    ...(options.makeLarge && { large: options.makeLarge(redis) }),
    keys,
    pubsub: new PubSub(subscriber),
    queues: new Map((options.queues ?? ["jobs"]).map((queue) => [queue, settings])),
    fallback: settings,
  });
  const key: TestEngine["key"] = (kind, name) => storedKey(keys.tagOfQueue("jobs"), kind, name);
  return {
    engine,
    redis,
    keys,
    scripts,
    settings,
    key,
    makeDue: (id) => redis.zadd(key("scheduled"), "XX", 1, id),
    endLease: (id) => redis.zadd(key("leases"), "XX", 1, id),
    submit: (submission = {}) =>
      engine.submitter.submit(submissionOf(fresh("task-"), "jobs", '{"n":1}', submission), settings),
    reserve: async (count = 1, { worker = "w1", lane = 0, reservation, leaseMs = 15_000 } = {}) => {
      const request = {
        queue: "jobs",
        worker,
        lane,
        count,
        leaseMs,
        rate: settings.rate,
        reservation: reservation ?? fresh("r"),
      };
      const { tasks } = await engine.leases.reserve(request);
      return await Promise.all(
        tasks.map(async (task) => ({ ...task, input: (await engine.values.inputOf(task, "jobs")) ?? Buffer.alloc(0) })),
      );
    },
    look: async (id) => {
      const seen = await engine.inspector.inspect(id, { result: true });
      if (!seen) throw new Error(`${id} is unknown`);
      return seen;
    },
    close: async () => {
      try {
        for (const tag of keys.tags) await removeKeysLike(redis, `${tag}*`);
      } finally {
        redis.disconnect();
        subscriber.disconnect();
      }
    },
  };
}
