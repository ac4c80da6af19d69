import { readConfig } from "../../src/config/config.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { type QueueSettings, settingsOf } from "../../src/engine/settings.ts";
import { defineHandler, type Handler } from "../../src/handler/define.ts";
import { createLog, type Logger } from "../../src/log.ts";
import type { ReservedTask } from "../../src/store/line/reserve.ts";
import { Attempt } from "../../src/workers/attempt/attempt.ts";

/** What an attempt of {@link attemptOf} is made of. */
export interface AttemptOptions {
  readonly task?: Partial<ReservedTask>;
  readonly settings?: Partial<QueueSettings>;
  readonly own?: Partial<ConstructorParameters<typeof Attempt>[3]>;
  /** The parts of an engine that it calls. */
  readonly engine?: unknown;
  readonly log?: Logger;
}

export const LIMITS = { maxResultBytes: 1000, maxOutputBytes: 1000 };

/** An attempt at a task of the queue "jobs" whose input is `1`, without a store. */
export function attemptOf({ task, settings, own, engine, log = createLog("silent") }: AttemptOptions = {}): Attempt {
  const handler = defineHandler({ queue: "jobs", run: () => undefined }) as Handler;
  const given: ReservedTask = {
    ...{ id: "task-1", fence: "1", attempt: 1, lost: 0, createdMs: 0 },
    stoodMs: 0,
    announced: false,
    unbegun: false,
    ...{ input: Buffer.from("1"), inputBytes: 1, mediaType: "application/json", query: "", caller: "", trace: "" },
    ...task,
  };
  return new Attempt(
    given,
    { ...settingsOf(handler, readConfig({})), ...settings },
    { engine: engine as Engine, log, limits: LIMITS },
    { takenAt: performance.now(), ...own },
  );
}
