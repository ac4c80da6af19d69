/**
 * What the server answers.
 *
 * @typedef {{ seconds: number, low: number, high: number }} Eta
 *
 * @typedef {import("../../../routes/queues/queues.ts").QueueDocument} Queue
 * @typedef {import("../../../task/documents/monitor-document.ts").MonitorDocument} Task
 * @typedef {import("../../../routes/queues/line.ts").ListedTask} ListedTask
 * @typedef {import("../../../task/documents/timeline.ts").AttemptDocument} Attempt
 * @typedef {import("../../../task/documents/timeline.ts").ShownBytes} Shown
 *
 * @typedef {{ items: ListedTask[], next: string | null, scanned: number }} Page
 *
 * @typedef {import("../../../routes/queues/history.ts").QueueHistory} Series
 * @typedef {{ step: number, at: number[], queues: Series[] }} History
 * @typedef {Series & { step: number, at: number[] }} QueueHistory
 *
 * @typedef {import("../../../routes/tasks/timeline.ts").TimelineDocument} Timeline
 * @typedef {import("../../../routes/leases/workers.ts").WorkerDocument} Worker
 *
 * @typedef {{ matched: number, done: number, scanned: number, next: string | null }} BulkStep
 */

export {};
