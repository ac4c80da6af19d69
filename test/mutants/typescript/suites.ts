/** Files of src, and the tests that are tried on their mutants. */
export interface Suite {
  /** How the paths of its files begin. */
  readonly files: string;
  /** Folders and files of tests. */
  readonly tests: readonly string[];
}

/** A file belongs to the first that fits. */
export const SUITES: readonly Suite[] = [
  { files: "src/auth/", tests: ["test/auth", "test/http/security/keys.test.ts"] },
  { files: "src/backoff.ts", tests: ["test/backoff.test.ts"] },
  { files: "src/engine/", tests: ["test/engine"] },
  { files: "src/http/headers/", tests: ["test/http/headers"] },
  { files: "src/http/submission/", tests: ["test/http/routes/submit", "test/http/batches", "test/http/contract"] },
  { files: "src/http/task/", tests: ["test/http/task", "test/http/contract", "test/http/routes/tasks"] },
  { files: "src/net/", tests: ["test/net"] },
  { files: "src/store/", tests: ["test/store", "test/engine"] },
  { files: "src/webhooks/", tests: ["test/webhooks"] },
  { files: "src/workers/", tests: ["test/workers"] },
];
