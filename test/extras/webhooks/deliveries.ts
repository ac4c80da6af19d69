import { readConfig } from "../../../src/config/config.ts";
import type { Duration } from "../../../src/config/duration.ts";
import { Engine } from "../../../src/engine/engine.ts";
import { settingsOf } from "../../../src/engine/settings.ts";
import { groupDocument } from "../../../src/extras/groups/group-document.ts";
import { groupsOf } from "../../../src/extras/groups/groups.ts";
import { type DeliveryParts, deliverer } from "../../../src/extras/webhooks/delivery.ts";
import { defineHandler, type Handler } from "../../../src/handler/define.ts";
import { monitorDocument } from "../../../src/http/task/task-document.ts";
import { createLog } from "../../../src/log.ts";
import { Loop } from "../../../src/loop.ts";
import { AddressGuard, parseAllowList } from "../../../src/net/ssrf-guard.ts";
import { connect } from "../../../src/store/connection.ts";
import { PubSub } from "../../../src/store/pubsub.ts";
import { Worker } from "../../../src/workers/worker.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { storeUrl } from "../../helpers/store/run-store.ts";
import { storedKey } from "../../helpers/store/stored.ts";
import { eventually } from "../../shared/eventually.ts";
import { submissionOf } from "../../shared/submission.ts";

/** A worker that runs the queue `jobs` and delivers its webhooks to 127.0.0.1, without pauses between attempts. */
export interface Deliveries {
  readonly engine: Engine;
  readonly redis: TestEngine["redis"];
  /** Submits a task that ends as its input says, with a webhook. */
  submit(id: string, webhook: string, input?: unknown): Promise<void>;
  /** Resolves with the id of the task that delivers this task's event, once there is one. */
  follower(id: string): Promise<string>;
  /** Resolves when a task is in this state. */
  until(id: string, state: string): Promise<void>;
  close(): Promise<void>;
}

/** Opens one, with handlers and parts other than the usual. */
export async function openDeliveries(
  run: (input: never) => unknown,
  parts: Partial<DeliveryParts> & { attempts?: number; resultTtl?: Duration } = {},
): Promise<Deliveries> {
  const t = await openEngine();
  const log = createLog("silent");
  const config = readConfig({});
  const { resultTtl = "1h" } = parts;
  const jobs = defineHandler({ queue: "jobs", attempts: 1, resultTtl, run: (input) => run(input as never) });
  const whole: Handler = deliverer({
    guard: new AddressGuard(parseAllowList(["127.0.0.1"]), { plainHttp: "listed" }),
    secrets: [],
    look: (id) => engine.inspector.inspect(id, { result: true }),
    describe: (seen) => monitorDocument(seen, 1),
    lookAtGroup: (id) => groupsOf(engine).inspect(id),
    describeGroup: groupDocument,
    pauseMs: () => 1,
    ...parts,
  });
  const delivering: Handler = { ...whole, attempts: parts.attempts ?? whole.attempts };
  const all = new Map([jobs, delivering].map((handler) => [handler.queue, handler]));
  const subscriber = await connect(storeUrl(), "test-deliveries", log, { subscriber: true });
  const engine = new Engine({
    scripts: t.scripts,
    keys: t.keys,
    pubsub: new PubSub(subscriber),
    queues: new Map([...all].map(([queue, handler]) => [queue, settingsOf(handler, config)])),
    fallback: t.settings,
  });
  const worker = new Worker({
    engine,
    handlers: all,
    log,
    maxResultBytes: 1e6,
    maxOutputBytes: 1e6,
    drainTimeoutMs: 1000,
  });
  // Time passes faster here than by the ticker, so that what is to be retried at once is.
  const ticker = new Loop({
    intervalMs: 20,
    tick: async () => {
      await engine.upkeep.tick(0);
      return undefined;
    },
    onError: () => undefined,
  });
  await worker.start();
  ticker.start();
  return {
    engine,
    redis: t.redis,
    submit: async (id, webhook, input = {}) => {
      await engine.submitter.submit(
        submissionOf(id, "jobs", JSON.stringify(input), { webhook }),
        engine.queues.settings("jobs"),
      );
    },
    follower: (id) =>
      eventually(async () => {
        const [key] = await t.redis.keys(storedKey(t.keys.tag(0), "task", `${id}:webhook:*`));
        return key === undefined ? false : key.slice(storedKey(t.keys.tag(0), "task", "").length);
      }) as Promise<string>,
    until: async (id, state) => {
      await eventually(async () => (await engine.inspector.inspect(id, { result: false }))?.state === state);
    },
    close: async () => {
      await worker.stop();
      await ticker.stop();
      subscriber.disconnect();
      await t.close();
    },
  };
}
