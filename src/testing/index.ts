export { AttemptFailed, type AttemptRecord } from "./attempt-failed.ts";
export type { LogEntry } from "./recorded-log.ts";
export { type HandlerRun, type RunOptions, runHandler } from "./run-handler.ts";
export { type TestServer, type TestServerOptions, testServer } from "./test-server.ts";
