/** Files in test/workers. */
function ofWorkers(...names: string[]): string[] {
  return names.map((name) => `test/workers/${name}.test.ts`);
}

/** Files of src, and the tests that are tried on their mutants. */
export interface Suite {
  /** How the paths of its files begin. */
  readonly files: string;
  /** Folders and files of tests. */
  readonly tests: readonly string[];
}

/** Tests of the engine that call each verb of the store, and take seconds together. */
const CALLS = [
  ...[
    "attempt",
    "groups",
    "limit",
    "monitoring",
    "reading",
    "reservation",
    "watching",
    "keyed/order.test.ts",
    "keyed/pointers.test.ts",
  ],
  ...[
    "deadline.test.ts",
    "left-behind.test.ts",
    "line.test.ts",
    "lost-workers/suspects.test.ts",
    "maintenance/dead-letters.test.ts",
    "maintenance/tick.test.ts",
    "maintenance/verify.test.ts",
  ],
  ...["orphans.test.ts", "presence.test.ts", "results.test.ts"],
].map((path) => `test/engine/${path}`);

/** Those of the files directly in src/store. */
const ROOT_OF_STORE = [
  ...["cluster-routing", "connection", "durability", "keys", "names", "notice", "pubsub", "result", "tls"],
].map((name) => `test/store/${name}.test.ts`);

/** Tests of submissions that start no other process. */
const SUBMIT = ["again", "fair", "keyed", "limit", "submit"].map((name) => `test/http/routes/submit/${name}.test.ts`);

/** Those of test/http/task but for the actions, which take long. */
const HTTP_TASK = ["access", "bad-records", "documents", "links", "result-headers"].map(
  (name) => `test/http/task/${name}.test.ts`,
);

/** Those of the parts of webhooks. */
const WEBHOOKS = ["event", "receivers", "request", "schedule", "signature", "target"].map(
  (name) => `test/webhooks/${name}.test.ts`,
);

/** A file belongs to the first that fits. */
export const SUITES: readonly Suite[] = [
  { files: "src/auth/", tests: ["test/auth", "test/http/security/keys.test.ts"] },
  { files: "src/backoff.ts", tests: ["test/backoff.test.ts"] },
  {
    files: "src/engine/attempt/",
    tests: [
      ...["test/engine/attempt", "test/engine/keyed/partitions.test.ts", "test/engine/results.test.ts"],
      ...["test/engine/watching", "test/workers/context.test.ts"],
    ],
  },
  {
    files: "src/engine/calls/",
    tests: [
      ...["test/engine/calls", "test/engine/attempt", "test/engine/keyed/partitions.test.ts"],
      ...["test/engine/lost-workers", "test/engine/presence.test.ts"],
    ],
  },
  { files: "src/engine/estimates/", tests: ["test/engine/estimates"] },
  { files: "src/engine/groups/", tests: ["test/engine/groups"] },
  { files: "src/engine/large-values/", tests: ["test/engine/large-values", "test/engine/attempt/output.test.ts"] },
  {
    files: "src/engine/maintenance/",
    tests: [
      ...["test/engine/maintenance", "test/engine/orphans.test.ts", "test/engine/left-behind.test.ts"],
      ...[
        "test/engine/limit/verify.test.ts",
        "test/engine/reading/page.test.ts",
        "test/engine/keyed/partitions.test.ts",
      ],
      "test/engine/groups/groups.test.ts",
    ],
  },
  {
    files: "src/engine/monitoring/",
    tests: [
      ...["test/engine/monitoring", "test/engine/estimates/slots-wanted.test.ts", "test/engine/orphans.test.ts"],
      ...["test/http/routes/queues/history.test.ts", "test/http/routes/queues/queues.test.ts"],
    ],
  },
  {
    files: "src/engine/opening/",
    tests: ["test/engine/opening"],
  },
  {
    files: "src/engine/partitions/",
    tests: [
      ...["test/engine/keyed/partitions.test.ts", "test/engine/keyed/pointers.test.ts"],
      ...["test/engine/fair/places.test.ts", "test/engine/results.test.ts"],
    ],
  },
  {
    files: "src/engine/reading/",
    tests: [
      ...["test/engine/reading", "test/engine/presence.test.ts", "test/engine/results.test.ts"],
      ...["test/engine/keyed/partitions.test.ts", "test/engine/line.test.ts", "test/engine/deadline.test.ts"],
      "test/engine/large-values/large-values.test.ts",
    ],
  },
  { files: "src/engine/reservation/", tests: ["test/engine/reservation"] },
  {
    files: "src/engine/submission/",
    tests: [
      ...["test/engine/submission", "test/engine/keyed/order.test.ts", "test/engine/keyed/partitions.test.ts"],
      ...["test/engine/keyed/refused.test.ts", "test/engine/limit/limit.test.ts"],
      ...["test/engine/fair/newcomer.test.ts", "test/http/dialects/allocations.test.ts"],
    ],
  },
  {
    files: "src/engine/watching/",
    tests: [
      ...["test/engine/watching", "test/http/live/held-output.test.ts", "test/http/live/long-poll.test.ts"],
      ...["test/http/live/live-tasks.test.ts", "test/http/live/output.test.ts"],
    ],
  },
  { files: "src/engine/", tests: ["test/engine"] },
  { files: "src/http/headers/", tests: ["test/http/headers"] },
  { files: "src/http/submission/line-keys.ts", tests: ["test/http/submission"] },
  { files: "src/http/submission/refusal.ts", tests: ["test/http/submission"] },
  { files: "src/http/submission/", tests: SUBMIT },
  { files: "src/http/task/access.ts", tests: ["test/http/task/access.test.ts"] },
  { files: "src/http/task/actions.ts", tests: ["test/http/task/actions.test.ts"] },
  { files: "src/http/task/documents/", tests: ["test/http/task/documents.test.ts", "test/http/task/timeline.test.ts"] },
  { files: "src/http/task/", tests: [...HTTP_TASK, "test/http/routes/tasks", "test/http/contract/headers.test.ts"] },
  { files: "src/net/", tests: ["test/net"] },
  { files: "src/store/library/", tests: ["test/store/library"] },
  { files: "src/store/verbs/", tests: ["test/store/verbs", ...CALLS] },
  { files: "src/store/access.ts", tests: ["test/engine/opening/access.test.ts"] },
  { files: "src/store/data-version.ts", tests: ["test/engine/opening/data-version.test.ts"] },
  { files: "src/store/standby.ts", tests: ["test/store/standby.test.ts", "test/store/standby-requests.test.ts"] },
  { files: "src/store/", tests: ROOT_OF_STORE },
  { files: "src/webhooks/delivery.ts", tests: ["test/webhooks/delivery.test.ts", "test/webhooks/group.test.ts"] },
  { files: "src/webhooks/", tests: WEBHOOKS },
  {
    files: "src/workers/attempt/",
    tests: ["test/workers/attempt", ...ofWorkers("context", "output", "steps", "deadline")],
  },
  { files: "src/workers/batch-call", tests: ofWorkers("batch-calls", "batches") },
  {
    files: "src/workers/sandbox/",
    tests: ofWorkers(
      "sandbox/in-process",
      "sandbox/executors",
      "sandbox/sandbox",
      "sandbox/result",
      "results",
      "batches",
    ),
  },
  { files: "src/workers/undo.ts", tests: ["test/workers/undo"] },
  {
    files: "src/workers/",
    tests: [
      ...ofWorkers("breaker-report", "call-times", "heartbeat", "lease-renewer", "returns", "runner", "tick-pauses"),
      ...ofWorkers("results", "slots", "drain", "deadline"),
    ],
  },
];
