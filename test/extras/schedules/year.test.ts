import { expect } from "chai";
import { DueTimes, dueNow, type Times } from "../../../src/extras/schedules/due-times.ts";
import { randomOf } from "../../shared/random.ts";

const FROM = Date.UTC(2026, 0, 1);
const TO = Date.UTC(2027, 0, 1);
const QUARTER_MS = 900_000;
const DAY_MS = 86_400_000;

/** What a clock on a wall shows. */
interface Wall {
  readonly date: string;
  readonly day: number;
  readonly weekday: string;
  /** "02:30". */
  readonly time: string;
}

/** What a clock on a wall of a zone shows at each quarter of an hour, by Intl alone: it knows nothing of cron. */
function wallsOf(timeZone: string): (readonly [ms: number, wall: Wall])[] {
  const parts = { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit" } as const;
  const format = new Intl.DateTimeFormat("en-GB", { timeZone, ...parts, weekday: "short", hourCycle: "h23" });
  const walls: [number, Wall][] = [];
  for (let ms = FROM - DAY_MS; ms < TO; ms += QUARTER_MS) {
    const of = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, value]));
    const { year, month, day = "", hour, minute, weekday = "" } = of;
    walls.push([ms, { date: `${year}-${month}-${day}`, day: Number(day), weekday, time: `${hour}:${minute}` }]);
  }
  return walls;
}

/**
 * Once on each day that counts: at the first moment at which the clock shows the time, or a later one where that time is left out in spring.
 */
function onceADay(timeZone: string, time: string, counts: (wall: Wall) => boolean): number[] {
  const walls = wallsOf(timeZone);
  const done = new Set<string>();
  return walls.flatMap(([ms, wall]) => {
    if (wall.time < time || done.has(wall.date)) return [];
    done.add(wall.date);
    return ms >= FROM && counts(wall) ? [ms] : [];
  });
}

const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri"];
const SCHEDULES: readonly (readonly [name: string, times: Times, expected: () => number[]])[] = [
  [
    "a time that is left out in spring and comes twice in autumn, in Berlin",
    { cron: "30 2 * * *", timeZone: "Europe/Berlin" },
    () => onceADay("Europe/Berlin", "02:30", () => true),
  ],
  [
    "working days in New York",
    { cron: "0 9 * * MON-FRI", timeZone: "America/New_York" },
    () => onceADay("America/New_York", "09:00", ({ weekday }) => WEEKDAYS.includes(weekday)),
  ],
  [
    "the first Sunday of a month in New York, when summer time ends in November, with six fields",
    { cron: "0 15 1 * * SUN#1", timeZone: "America/New_York" },
    () => onceADay("America/New_York", "01:15", ({ weekday, day }) => weekday === "Sun" && day <= 7),
  ],
  [
    "the last day of a month on Lord Howe, whose summer time is half an hour",
    { cron: "0 0 L * *", timeZone: "Australia/Lord_Howe" },
    () =>
      onceADay("Australia/Lord_Howe", "00:00", ({ date }) => new Date(Date.parse(date) + DAY_MS).getUTCDate() === 1),
  ],
  [
    "every 6 hours from a time to another, both inclusive",
    { every: "6h", timeZone: "UTC", startAt: "2026-03-01T01:00:00+01:00", endAt: "2026-11-30T18:00:00Z" },
    () => Array.from({ length: 275 * 4 }, (_, n) => Date.UTC(2026, 2, 1) + n * 6 * 3_600_000),
  ],
];

describe("a simulated year of schedules", () => {
  for (const [n, [name, times, expected]] of SCHEDULES.entries()) {
    it(`submits exactly the expected times: ${name}`, function () {
      this.timeout(60_000);
      const random = randomOf(n + 1);
      const due = new DueTimes(times, FROM);
      const submitted: number[] = [];
      let afterMs = FROM - 1;
      // Each look comes some time after what is due, as when processes are busy, and at the latest after half a minute.
      for (let nowMs = FROM; ; ) {
        const plan = dueNow(due, "once", { afterMs, retry: null, goneMs: 0, nowMs });
        submitted.push(...plan.due);
        afterMs = plan.due.at(-1) ?? afterMs;
        if (plan.nextMs === null || plan.nextMs >= TO) break;
        nowMs = plan.nextMs + Math.floor(random() * 30_000);
      }
      expect(submitted.map((ms) => new Date(ms).toISOString())).to.deep.equal(
        expected().map((ms) => new Date(ms).toISOString()),
      );
    });
  }
});
