export type { LogEntry } from "./attempt-record.ts";
export { AttemptFailed, type AttemptRecord } from "./attempt-record.ts";
export { type HandlerRun, type RunOptions, runHandler } from "./run-handler.ts";
export { type TestServer, type TestServerOptions, testServer } from "./test-server.ts";
