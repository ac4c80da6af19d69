import type { Extension } from "../../extension.ts";
import { missedFaults } from "./missed.ts";
import { scheduleRoutes } from "./routes.ts";
import { Schedules } from "./schedules.ts";
import { schedulesPart } from "./store.ts";
import { ScheduleTicker } from "./ticker.ts";
import { schedule, scheduleBody, schedules } from "./wire.ts";

/** Tasks that are submitted by the clock. */
export const schedulesExtension: Extension = {
  part: schedulesPart,
  start: ({ handlers, log }) => {
    const startedMs = performance.now();
    let wake = () => {};
    return {
      role: async (engine) => {
        const schedules = new Schedules({ engine, handlers, log });
        await schedules.synchronize();
        engine.incidents.add(() => missedFaults(schedules));
        const late = engine.metrics.gauges.add(
          "paihao_schedule_late_seconds",
          "How long the first due time of a schedule has waited to be submitted, 0 if none is due",
        );
        const ticker = new ScheduleTicker({ schedules, engine, log, startedMs, late });
        wake = () => ticker.wake();
        return ticker;
      },
      routes: (api) => scheduleRoutes(api, new Schedules(api), () => wake()),
      tags: [{ name: "Schedules", description: "Tasks that are submitted by the clock." }],
      schemas: { Schedule: schedule, Schedules: schedules, ScheduleBody: scheduleBody },
    };
  },
};
