import { randomUUID } from "node:crypto";
import type { QueueSettings } from "../src/engine/settings.ts";
import { type GivenSubmission, submissionOf } from "../test/shared/submission.ts";
import { built, openBuiltEngine } from "./harness/built.ts";
import { bodyOf } from "./harness/load.ts";
import type { BenchStore } from "./harness/store.ts";
import { median } from "./harness/turns.ts";

const QUEUE = "default";
/** The keys of the fair and of the keyed line, and the tasks that wait in each. */
const KEYS = 5000;
const WAITING = 10_000;
/** As many tasks as go into one call where each is little work. */
const TOGETHER = 100;
const TURNS = 20;
/** Redis does not log shorter commands, µs: those that a script runs would fill its log, and take time. */
const LOGGED_MICROS = 8;

/** The lines: what a submission and the settings of the queue have besides the usual. */
const LINES: readonly { name: string; given(n: number): GivenSubmission; settings?: Partial<QueueSettings> }[] = [
  { name: "a plain line", given: () => ({}) },
  { name: `a fair line, ${KEYS} keys`, given: (n) => ({ share: { key: `key${n % KEYS}`, weight: 1 } }) },
  {
    name: `a keyed line, ${KEYS} keys`,
    given: (n) => ({ key: `key${n % KEYS}` }),
    settings: { keyedConcurrency: 1 },
  },
];

/**
 * How long the longest script of a hundred submissions and of a hundred cancels holds Redis, through an engine, which decides how many go
 * into a call. Redis counts the time in which another process had its core, too: beside the median of all turns there is the fastest one,
 * and a call that does nothing.
 */
export async function longestCalls(store: BenchStore): Promise<string> {
  const { scriptsOf } = await built<typeof import("../src/store/library/scripts.ts")>("store/library/scripts.js");
  const rows: string[] = [];
  let [fastest, usual] = [0, 0];
  /** The longest script of each turn. */
  const measure = async (name: string, turns: readonly (() => Promise<unknown>)[]) => {
    const each: { micros: number; calls: number }[] = [];
    for (const turn of turns) {
      await store.redis.call("SLOWLOG", "RESET");
      await turn();
      const entries = (await store.redis.call("SLOWLOG", "GET", "-1")) as [number, number, number, string[]][];
      const calls = entries.filter(([, , , [command]]) => command?.toUpperCase() === "FCALL");
      each.push({ micros: Math.max(0, ...calls.map(([, , micros]) => micros)), calls: calls.length });
    }
    const all = each.map(({ micros }) => micros);
    fastest = Math.max(fastest, Math.min(...all));
    usual = Math.max(usual, median(all));
    rows.push(`| ${name} | ${each[0]?.calls} | ${Math.min(...all)} | ${median(all)} | ${Math.max(...all)} |`);
  };
  await store.redis.config("SET", "slowlog-log-slower-than", String(LOGGED_MICROS), "slowlog-max-len", "1000");
  for (const { name, given, settings } of LINES) {
    await store.clear();
    const { engine, close } = await openBuiltEngine(store.url, "ph", [
      { queue: QUEUE, concurrency: 1, run: () => undefined },
    ]);
    try {
      const of = { ...engine.queues.settings(QUEUE), ...settings };
      const ids: string[] = [];
      const submit = async (count: number) => {
        const items = Array.from({ length: count }, () => {
          const id = ids[ids.push(randomUUID()) - 1] ?? "";
          return submissionOf(id, QUEUE, bodyOf(56), given(ids.length));
        });
        for (const end of await engine.submitter.submitAll(items, of)) if (end.status === "rejected") throw end.reason;
      };
      while (ids.length < WAITING) await submit(1000);
      // From all over the line.
      const cancel = () => {
        const some = Array.from({ length: TOGETHER }, (_, n) => ids.splice((n * 97) % ids.length, 1)[0] ?? "");
        return Promise.all(some.map((id) => engine.call("cancel", { id, queue: QUEUE })));
      };
      const turns = <T>(turn: () => T) => Array.from({ length: TURNS }, () => turn);
      await measure(
        `${name}: submit ${TOGETHER}`,
        turns(() => submit(TOGETHER)),
      );
      await measure(`${name}: cancel ${TOGETHER}`, turns(cancel));
    } finally {
      close();
    }
  }
  const { inspect } = scriptsOf(store.redis);
  await measure(
    "nothing",
    Array.from({ length: TURNS }, () => () => inspect("{ph:0}", [{ id: "none", result: false }])),
  );
  await store.redis.config("SET", "slowlog-log-slower-than", "-1");
  return [
    `The longest script, in lines of ${WAITING} tasks: ${fastest} µs in the fastest of ${TURNS} turns, ${usual} µs in the median`,
    "",
    "| work of one turn | scripts | fastest turn | median | slowest |",
    "|---|---|---|---|---|",
    ...rows,
  ].join("\n");
}
