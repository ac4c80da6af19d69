/** Files of src, and the tests that are tried on their mutants. */
export interface Suite {
  /** How the paths of its files begin. */
  readonly files: string;
  /** Folders and files of tests. */
  readonly tests: readonly string[];
}

/** Folders, which end in a slash, and files of tests in a folder. */
const tests = (folder: string, names: string): string[] =>
  names.split(" ").map((name) => `test/${folder}/${name.endsWith("/") ? name.slice(0, -1) : `${name}.test.ts`}`);

const engine = (names: string) => tests("engine", names);
const http = (names: string) => tests("http", names);
const store = (names: string) => tests("store", names);
const webhooks = (names: string) => tests("webhooks", names);
const workers = (names: string) => tests("workers", names);

/** Tests of the engine that call each verb of the store, and take seconds together. */
const VERBS = [
  ...engine("attempt/ groups/ limit/ monitoring/ reading/ reservation/ watching/ keyed/order keyed/pointers deadline"),
  ...engine("left-behind line lost-workers/suspects maintenance/dead-letters maintenance/tick maintenance/verify"),
  ...engine("orphans presence results"),
];

/** Tests of what is directly in src/engine: its settings, and how its parts are joined. */
const ENGINE = engine(
  "settings queues leases orphans life line deadline results presence attempt/ groups/groups monitoring/ submission/ keyed/partitions",
);

const SUITES_OF_ENGINE: Readonly<Record<string, string[]>> = {
  attempt: [...engine("attempt/ keyed/partitions results watching/"), ...workers("context")],
  calls: engine("calls/ attempt/ keyed/partitions lost-workers/ presence"),
  estimates: engine("estimates/"),
  groups: engine("groups/"),
  "large-values": engine("large-values/ attempt/output"),
  maintenance: engine("maintenance/ orphans left-behind limit/verify reading/page keyed/partitions groups/groups"),
  monitoring: [
    ...engine("monitoring/ estimates/slots-wanted orphans"),
    ...http("routes/queues/history routes/queues/queues"),
  ],
  opening: engine("opening/"),
  partitions: engine("partitions/ keyed/partitions keyed/pointers results"),
  reading: engine("reading/ presence results keyed/partitions line deadline large-values/large-values"),
  reservation: engine("reservation/"),
  submission: [
    ...engine("submission/ keyed/order keyed/partitions keyed/refused limit/limit fair/newcomer"),
    ...http("dialects/allocations"),
  ],
  watching: [...engine("watching/"), ...http("live/held-output live/long-poll live/live-tasks live/output")],
};

/** A file belongs to the first that fits. */
export const SUITES: readonly Suite[] = [
  { files: "src/auth/", tests: ["test/auth", ...http("security/keys")] },
  { files: "src/backoff.ts", tests: ["test/backoff.test.ts"] },
  ...Object.entries(SUITES_OF_ENGINE).map(([folder, tests]) => ({ files: `src/engine/${folder}/`, tests })),
  { files: "src/engine/", tests: ENGINE },
  { files: "src/http/headers/", tests: http("headers/") },
  { files: "src/http/submission/", tests: http("submission/") },
  { files: "src/http/task/access.ts", tests: http("task/access") },
  { files: "src/http/task/actions.ts", tests: http("task/actions") },
  { files: "src/http/task/find.ts", tests: http("task/find") },
  { files: "src/http/task/result-body.ts", tests: http("task/stored-values") },
  { files: "src/http/task/stored-input.ts", tests: http("task/stored-values") },
  { files: "src/http/task/documents/", tests: http("task/documents task/timeline") },
  {
    files: "src/http/task/",
    tests: [
      ...tests("http/task", "access bad-records documents links result-headers"),
      ...http("routes/tasks/ contract/headers"),
    ],
  },
  {
    files: "src/net/guarded-request.ts",
    tests: ["test/handler/fetch", "test/net/guarded-request.test.ts", ...webhooks("request")],
  },
  { files: "src/net/", tests: ["test/net"] },
  { files: "src/store/access.ts", tests: engine("opening/access") },
  { files: "src/store/data-version.ts", tests: engine("opening/data-version") },
  { files: "src/store/library/", tests: store("library/") },
  { files: "src/store/standby.ts", tests: store("standby standby-reopening standby-requests") },
  { files: "src/store/verbs/", tests: [...store("verbs/"), ...VERBS] },
  { files: "src/store/", tests: store("cluster-routing connection durability keys names notice pubsub result tls") },
  { files: "src/webhooks/delivery.ts", tests: webhooks("deliverer") },
  { files: "src/webhooks/", tests: webhooks("event receivers request schedule signature target") },
  { files: "src/workers/attempt/", tests: workers("attempt/ context output steps deadline") },
  { files: "src/workers/batch-call", tests: workers("batch-calls batches") },
  { files: "src/workers/occupancy.ts", tests: workers("occupancy") },
  {
    files: "src/workers/sandbox/",
    tests: workers("sandbox/in-process sandbox/executors sandbox/sandbox sandbox/result results batches"),
  },
  { files: "src/workers/runner.ts", tests: workers("runner") },
  { files: "src/workers/slots.ts", tests: workers("slots-room") },
  { files: "src/workers/taker.ts", tests: workers("taker") },
  { files: "src/workers/ticker.ts", tests: workers("tick-pauses") },
  { files: "src/workers/undo.ts", tests: workers("undo/") },
  { files: "src/workers/pool.ts", tests: workers("pool") },
  { files: "src/workers/worker.ts", tests: workers("slots drain deadline") },
  { files: "src/workers/", tests: workers("breaker-report call-times heartbeat lease-renewer returns") },
];
