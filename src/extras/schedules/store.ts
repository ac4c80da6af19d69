import { firstOf } from "../../store/fields.ts";
import { startsOf } from "../../store/keys.ts";
import type { LibraryPart } from "../../store/library/assemble.ts";
import * as verbs from "./verbs.ts";

/** The keys of schedules, in partition 0 only: their tasks are in the partitions of their queues. */
const SCHEDULE_KEYS = {
  schedules: ["schedules", "zset", "all schedules: score = 0, for pages in the order of their ids"],
  schedule: ["sd:<schedule>", "hash", "a schedule, see SCHEDULE_FIELDS"],
  scheduleTimes: ["scheduleTimes", "zset", "those that have a next due time: score = that, ms"],
  scheduleHistory: [
    "sh:<schedule>",
    "list",
    "what became of its latest due times, newest first: the due time (ms), a space, the state; capped",
  ],
  scheduleRuns: [
    "scheduleRuns",
    "zset",
    "due times whose tasks have not ended, as far as known: schedule, a space, due time: score = when to look again, ms",
  ],
  scheduleMissed: [
    "scheduleMissed",
    "zset",
    "those whose latest due times were missed or refused: score = since when, ms",
  ],
  scheduleDeclared: ["scheduleDeclared", "zset", "those that handlers declare: score = until when that counts, ms"],
  scheduleTicks: [
    "scheduleTicks",
    "hash",
    "when a process last looked, and when the latest time without any ended, ms",
  ],
} as const;

/** The fields of a schedule; the Lua file writes `D.definition`. */
const SCHEDULE_FIELDS = {
  definition: ["definition", "what is submitted and when: JSON"],
  queue: ["queue", "the queue of its tasks"],
  times: ["times", "the part of it from which its due times follow"],
  declared: ["declared", "1 if a handler declares it"],
  paused: ["paused", "1 while it submits nothing"],
  created: ["created", "when it was made, ms"],
  revision: ["revision", "when it was last made, changed, paused or resumed, ms; always later than before"],
  after: ["after", "the latest due time that is done with, ms: it never goes back"],
  at: ["at", "the latest due time that was submitted, skipped, missed or refused, ms"],
  state: ["state", "what became of that: submitted, skipped, missed or refused"],
  task: ["task", "the task submitted last for a due time"],
  missed: ["missed", "how many due times were missed last, at most 20, a space, and the latest of them, ms"],
  retryUntil: [
    "retryUntil",
    "that due time was refused for the moment, and is tried again until this one, ms; 0 for no end",
  ],
  held: ["held", "until when nobody else looks at it, ms"],
} as const;

/** The constants of schedules; the Lua file writes `C.scheduleHoldMs`. */
export const SCHEDULE = {
  /** For how long a process that looks at a schedule has it alone, ms. */
  scheduleHoldMs: 10_000,
  /** A schedule is never held for longer, ms. */
  scheduleLongestHoldMs: 60_000,
  /** How many of its due times a schedule remembers. */
  scheduleHistory: 20,
  /** For how long it is told that a schedule has missed due times, ms, unless the next one is submitted. */
  scheduleMissedMs: 3_600_000,
  /** For how long the declaration of a process counts, ms. */
  scheduleDeclaredMs: 15_000,
  /** An answer has no further schedule once those before are this long. */
  scheduleAnswerBytes: 1_048_576,
  /** Where nobody had looked for this long when a process started, no other lived, ms. */
  scheduleGapMs: 10_000,
} as const;

/** What schedules are in the store. */
export const schedulesPart: LibraryPart = {
  name: "schedules",
  folder: new URL(".", import.meta.url),
  files: ["verbs"],
  verbs,
  tables: { P: startsOf(SCHEDULE_KEYS), D: firstOf(SCHEDULE_FIELDS), C: SCHEDULE },
};
