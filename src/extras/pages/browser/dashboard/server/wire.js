/**
 * What the server answers.
 *
 * @typedef {import("../../../../../wire/task.ts").Eta} Eta
 * @typedef {import("../../../../../wire/queue.ts").Queue} Queue
 * @typedef {import("../../../../../wire/service.ts").Access} Access
 * @typedef {import("../../../../../wire/task.ts").Task} Task
 * @typedef {import("../../../../../wire/task.ts").ListedTask} ListedTask
 * @typedef {import("../../../../../wire/page.ts").Page<ListedTask>} Page
 * @typedef {import("../../../../../wire/task.ts").Search} Search
 * @typedef {import("../../../../../wire/timeline.ts").Timeline} Timeline
 * @typedef {import("../../../../../wire/timeline.ts").Attempt} Attempt
 * @typedef {import("../../../../../wire/timeline.ts").Shown} Shown
 * @typedef {import("../../../../../wire/history.ts").Histories} History
 * @typedef {import("../../../../../wire/history.ts").History} QueueHistory
 * @typedef {import("../../../../../wire/history.ts").Series} Series
 * @typedef {import("../../../../../wire/worker.ts").Worker} Worker
 * @typedef {import("../../../../schedules/wire.ts").Schedule} Schedule
 * @typedef {import("../../../../../wire/event.ts").DeploymentEvent} DeploymentEvent
 * @typedef {import("../../../../../wire/bulk.ts").BulkStep} BulkStep
 * @typedef {import("../../../../../wire/bulk.ts").DeadErrors} DeadErrors
 * @typedef {import("../../../../../wire/bulk.ts").DeadError} DeadError
 */

export {};
