/** The entry of a sandbox: a child process (`fork(this)`) that runs one handler at a time for the worker that started it, and ends with it. */
import { Worker } from "node:worker_threads";
import { type HandlerEnd, TaskAborted } from "../../engine/tasks/attempt-end.ts";
import type { Handler } from "../../handler/define.ts";
import { ownQueueOf } from "../../handler/internal-queues.ts";
import { loadHandlers, prepareHandlers } from "../../handler/load.ts";
import { createLog, type LogLevel, logRejection, runInScope } from "../../log.ts";
import type { StepVerdict } from "../../store/task/attempt.ts";
import type { WriteVerdict } from "../attempt/output.ts";
import { Reporter } from "../attempt/reporter.ts";
import { Context, type TaskActions } from "../attempt/task-context.ts";
import type { StandInModule } from "../stand-in.ts";
import { errorRecord } from "./handler-end.ts";
import type { FromSandbox, Reply, StepsReply, ToSandbox } from "./messages.ts";
import { perform } from "./perform.ts";

/** How often a child process checks whether its parent is alive, ms. */
const PARENT_LOOK_MS = 1000;

const say = (message: FromSandbox): void => {
  process.send?.(message, () => undefined);
};

let handlers: ReadonlyMap<string, Handler> = new Map();
let warmed = Promise.resolve();
let current: { run: number; abort: AbortController } | undefined;
let calls = 0;
const replies = new Map<number, { resolve(value: Reply): void; reject(error: Error): void }>();

async function warm({ handlersDir, modules }: Extract<ToSandbox, { type: "warm" }>): Promise<void> {
  try {
    await prepareHandlers(handlersDir);
    for (const module of modules) await import(module);
  } catch {
    // What hinders it will hinder `open` too, which reports it.
  }
}

async function open({ handlersDir, modules }: Extract<ToSandbox, { type: "open" }>): Promise<void> {
  try {
    await warmed;
    const loaded = await loadHandlers(handlersDir);
    const made = modules.map(async (module) => ((await import(module)) as StandInModule).standIn(loaded));
    handlers = new Map([...loaded, ...(await Promise.all(made)).map((handler) => [handler.queue, handler] as const)]);
    say({ type: "ready" });
  } catch (error) {
    say({ type: "broken", error: errorRecord(error) });
  }
}

async function run(message: Extract<ToSandbox, { type: "run" }>): Promise<void> {
  const { run: id } = message;
  const abort = new AbortController();
  current = { run: id, abort };
  const end = await runInScope({ requestId: message.facts.id }, () => attempt(message, abort.signal));
  current = undefined;
  say({ type: "done", run: id, end: compact(end) });
}

async function attempt(message: Extract<ToSandbox, { type: "run" }>, signal: AbortSignal): Promise<HandlerEnd> {
  const { run: id, facts, input, limits, logLevel } = message;
  const handler = handlers.get(ownQueueOf(facts.queue));
  if (!handler) {
    return { kind: "error", error: errorRecord(new Error(`no handler file has the queue ${facts.queue} any more`)) };
  }
  const ask = <T extends Reply>(question: (call: number) => FromSandbox) =>
    new Promise<T>((resolve, reject) => {
      calls += 1;
      replies.set(calls, { resolve: resolve as (value: Reply) => void, reject });
      say(question(calls));
    });
  const reporter = new Reporter((percent, text) => say({ type: "progress", run: id, percent, message: text }));
  const actions = {
    signal,
    handlerLog: createLog(logLevel as LogLevel, {
      destination: { write: (line) => say({ type: "log", run: id, line }) },
      isRelayed: true,
    }),
    reporter,
    output: { write: (json) => ask<WriteVerdict>((call) => ({ type: "write", run: id, call, json })) },
    steps: {
      load: () => ask<StepsReply>((call) => ({ type: "load", run: id, call })),
      begin: (name, undo) => ask<StepVerdict>((call) => ({ type: "begin", run: id, call, name, undo })),
      keep: (name, json, undo) => ask<StepVerdict>((call) => ({ type: "keep", run: id, call, name, json, undo })),
      undone: (name) => ask<StepVerdict>((call) => ({ type: "undone", run: id, call, name })),
    },
  } satisfies TaskActions;
  const context = new Context(facts, actions, handler, limits);
  return perform(handler, { bytes: input, mediaType: facts.mediaType }, context, limits.maxResultBytes);
}

/** A copy, since the whole underlying buffer of a view would be sent. */
function compact(end: HandlerEnd): HandlerEnd {
  if (end.kind !== "result") return end;
  const { result } = end;
  if (typeof result.body === "string") return end;
  return { ...end, result: { ...result, body: new Uint8Array(result.body) } };
}

function receive(message: ToSandbox): void {
  if (message.type === "warm") warmed = warm(message);
  else if (message.type === "open") void open(message);
  else if (message.type === "run") void run(message);
  else if (message.type === "abort") {
    if (current?.run === message.run) current.abort.abort(new TaskAborted(message.cause));
  } else {
    const waiting = replies.get(message.call);
    replies.delete(message.call);
    if ("error" in message) waiting?.reject(new Error(message.error));
    else waiting?.resolve(message.value);
  }
}

/** A child process ends with its parent, however that ends, and so do the programs of its handlers, its process group. */
function mindTheParent(): void {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
  process.on("disconnect", () => process.kill(-process.pid, "SIGKILL"));
  // A handler that uses the CPU, or waits for a program, blocks all events; a separate thread still notices that the parent is gone.
  const watch = `const { workerData } = require("node:worker_threads");
    setInterval(() => process.ppid === workerData || process.kill(-process.pid, "SIGKILL"), ${PARENT_LOOK_MS});`;
  new Worker(watch, { eval: true, workerData: process.ppid, execArgv: [], stdout: false, stderr: false }).unref();
}

mindTheParent();
// As in the worker's own process: it is no end of a run.
const strayLog = createLog("error", {
  destination: { write: (line) => say({ type: "stray", line }) },
  isRelayed: true,
});
process.on("unhandledRejection", (reason) => logRejection(strayLog, reason));
process.on("message", (message) => receive(message as ToSandbox));
// Without this, the process would end without reporting the error, and that would count as a loss.
process.on("uncaughtException", (error) => {
  // An error without a current run was left behind by an earlier one.
  if (!current) process.exit(1);
  say({ type: "done", run: current.run, end: { kind: "error", error: errorRecord(error) }, spoiled: true });
});
