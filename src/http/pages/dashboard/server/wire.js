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
 * @typedef {{ caller: string | null, keys: boolean, scopes: string[] }} Rights
 *
 * @typedef {{
 *   name: string, own: boolean, waiting: number[], running: number[], scheduled: number[], dead: number[],
 *   accepted: number[], started: number[], finished: number[], failed: number[],
 *   serviceP50: (number | null)[], serviceP95: (number | null)[], waitP50: (number | null)[], waitP95: (number | null)[],
 * }} Series
 *
 * @typedef {{ step: number, at: number[], queues: Series[] }} History
 * @typedef {Series & { step: number, at: number[] }} QueueHistory
 *
 * @typedef {{ name: string, number: number, state: string, undoable: boolean, bytes: number, value: unknown, truncated: boolean }} Step
 * @typedef {{
 *   id: string, url: string | null, state: string, attempt: number, maxAttempts: number, nextAttemptAt: string | null,
 *   startedAt: string | null, finishedAt: string | null, errors: string[],
 * }} Delivery
 * @typedef {{
 *   task: Task, caller: string | null, priority: number, key: string | null, dueAt: string | null,
 *   query: Record<string, unknown> | null, attempts: Attempt[], attemptsOmitted: boolean, steps: Step[], stepsOmitted: number,
 *   undo: { id: string, state: string, attempt: number, startedAt: string | null, finishedAt: string | null, error: string | null } | null,
 *   webhooks: Delivery[], input: Shown | null, result: (Shown & { status: number }) | null,
 * }} Timeline
 *
 * @typedef {{
 *   id: string, kind: "process" | "remote", host: string | null, pid: number | null, role: string | null, version: string | null,
 *   startedAt: string | null, seenAt: string | null, slots: Record<string, number>,
 *   running: { id: string, queue: string, startedAt: string | null, attempt: number }[],
 * }} Worker
 *
 * @typedef {{ matched: number, done: number, scanned: number, next: string | null }} BulkStep
 */

export {};
