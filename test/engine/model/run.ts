import { expect } from "chai";
import fc from "fast-check";
import { readConfig } from "../../../src/config/config.ts";
import { Engine } from "../../../src/engine/engine.ts";
import { settingsOf } from "../../../src/engine/settings.ts";
import { verify } from "../../../src/engine/upkeep/verify.ts";
import { PARTS } from "../../../src/extras/extras.ts";
import { groupsOf } from "../../../src/extras/groups/groups.ts";
import { defineHandler } from "../../../src/handler/define.ts";
import { createLog } from "../../../src/log.ts";
import { type Connection, connect } from "../../../src/store/connection.ts";
import { Keys } from "../../../src/store/keys.ts";
import { type Scripts, scriptsOf } from "../../../src/store/library/scripts.ts";
import { PubSub } from "../../../src/store/pubsub.ts";
import { isOutcome } from "../../../src/task.ts";
import { uniquePrefix } from "../../helpers/store/run-store.ts";
import { keysLike } from "../../helpers/store/scan.ts";
import { IDS, type Op, QUEUES, stepArbitrary } from "./calls.ts";
import { Checker, KEPT, WEBHOOK_QUEUE } from "./check.ts";
import { Messages } from "./messages.ts";
import { Model } from "./model.ts";
import { play, type World } from "./play.ts";
import { dump, sendingTwice, TimeTravel } from "./store.ts";
import { MODEL_DEAD_CAP, UNDO_QUEUE } from "./task.ts";
import type { ModelRules } from "./tasks.ts";

/** The scripts with a smaller cap on dead letters, which a short run meets. */
function cappedScripts(redis: Connection): Scripts {
  const scripts = scriptsOf(redis, { parts: PARTS });
  return {
    ...scripts,
    fail: (tag, items) => scripts.fail(tag, items, { deadCap: MODEL_DEAD_CAP }),
    lose: (tag, items) => scripts.lose(tag, items, { deadCap: MODEL_DEAD_CAP }),
    tick: (tag, asked) => scripts.tick(tag, { ...asked, deadCap: MODEL_DEAD_CAP }),
  };
}

/**
 * The queues; those of callers may be fair, and keyed: one runs the tasks of a key one by one, the other two at once. With limits two of a
 * key may wait.
 */
const rulesOf = ({ fair = false, limited = false, keyed = limited, total = false }: LineKind): ModelRules[] => [
  {
    ...{ name: "jobs", attempts: 2, maxLost: 1, rate: undefined, undo: false, dropInput: fair, fair },
    ...{ keyed: keyed ? 1 : undefined, most: limited ? 2 : undefined, total: total ? 2 : undefined },
  },
  {
    ...{
      most: limited ? 2 : undefined,
      name: "other",
      attempts: keyed ? 2 : 1,
      maxLost: 0,
      rate: { max: 4, perMs: 3_600_000 },
      undo: true,
      dropInput: false,
      fair,
    },
    keyed: keyed ? 2 : undefined,
    total: total ? 1 : undefined,
  },
  {
    name: UNDO_QUEUE,
    attempts: 2,
    maxLost: 1,
    rate: undefined,
    undo: false,
    dropInput: false,
    fair: false,
    keyed: undefined,
    most: undefined,
    total: undefined,
  },
];

/** What the lines of callers are. */
export interface LineKind {
  /** The lines of callers are fair; default: they are not. */
  readonly fair?: boolean;
  /** The queues of callers are keyed; default: they are not. */
  readonly keyed?: boolean;
  /** Their handlers have a `limit`; default: they have none. */
  readonly limited?: boolean;
  /** The queues of callers have a total, which changes; default: they have none. */
  readonly total?: boolean;
}

/** How many runs, of how many calls each, and for how long at most; a seed and a path play one failure again. */
export interface PropertyOptions extends LineKind {
  readonly runs: number;
  readonly steps: number;
  readonly limitMs?: number;
  readonly seed?: number;
  readonly path?: string;
  /** Told of each run that went well. */
  onRun?(runs: number): void;
}

/**
 * Plays random calls on the engine and on the model, and holds every promise after each of them.
 * @throws Error with the shortest sequence of calls that breaks a promise, and the command that plays it again
 */
export async function holdAgainstModel(
  url: string,
  options: PropertyOptions,
): Promise<{ runs: number; steps: number }> {
  const played = { runs: 0, steps: 0 };
  const parts = await openParts(url);
  try {
    const property = fc.asyncProperty(
      fc.array(stepArbitrary, { minLength: 1, maxLength: options.steps, size: "max" }),
      async (steps) => {
        await runOnce(parts, steps, options);
        played.runs += 1;
        played.steps += steps.length;
        options.onRun?.(played.runs);
      },
    );
    const details = await fc.check(property, {
      numRuns: options.runs,
      ...(options.seed === undefined ? {} : { seed: options.seed }),
      ...(options.path === undefined ? {} : { path: options.path }),
      ...(options.limitMs === undefined ? {} : { interruptAfterTimeLimit: options.limitMs }),
    });
    if (details.failed) {
      const { seed, counterexamplePath: path } = details;
      // The number of steps shapes what is drawn from the seed: another one plays other calls.
      const queues = `${options.fair ? " --fair" : ""}${options.keyed ? " --keyed" : ""}${options.limited ? " --limited" : ""}${options.total ? " --total" : ""}`;
      const command = `npx tsx test/engine/model/main.ts${queues} --steps=${options.steps} --seed=${seed} --path=${path}`;
      throw new Error(`${await fc.asyncDefaultReportMessage(details)}\nTo play it again: ${command}`, {
        cause: details.errorInstance,
      });
    }
  } finally {
    parts.close();
  }
  return played;
}

/** Plays examples: all calls of one first once each and then twice each, every promise being held after each of them. */
export async function openExamples(
  url: string,
): Promise<{ play(calls: readonly Op[], kind: LineKind): Promise<void>; close(): void }> {
  const parts = await openParts(url);
  return {
    play: async (calls, kind) => {
      for (const twice of [false, true]) {
        const steps = calls.map((call) => ({ twice, call }));
        await runOnce(parts, steps, kind);
      }
    },
    close: parts.close,
  };
}

async function openParts(url: string): Promise<Parts & { close(): void }> {
  const log = createLog("silent");
  const redis = await connect(url, "model", log);
  const subscriber = await connect(url, "model-pubsub", log, { subscriber: true });
  const sending = { twice: false };
  const scripts = sendingTwice(cappedScripts(redis), () => sending.twice);
  const close = () => {
    redis.disconnect();
    subscriber.disconnect();
  };
  return { redis, pubsub: new PubSub(subscriber), scripts, sending, close };
}

/** What all runs share. */
interface Parts {
  readonly redis: Connection;
  readonly pubsub: PubSub;
  readonly scripts: Scripts;
  /** Whether calls are sent twice. */
  readonly sending: { twice: boolean };
}

async function runOnce(
  { redis, pubsub, scripts, sending }: Parts,
  steps: readonly { twice: boolean; call: Op }[],
  options: LineKind,
): Promise<void> {
  const keys = new Keys(uniquePrefix(), 1);
  const tag = keys.tag(0);
  const rules = rulesOf(options);
  const model = new Model(rules);
  const newEngine = () =>
    new Engine({ scripts, keys, pubsub, queues: new Map(rules.map(settings)), fallback: fallback() });
  // As many processes: one does not publish to itself.
  const [engine, submitter] = [newEngine(), newEngine()];
  const messages = await Messages.open(redis, submitter);
  const world: World = {
    ...{ model, engine, submitter, time: new TimeTravel(redis, keys, model) },
    ...{ leases: [], reservations: new Map(), groups: new Map(), serial: 0 },
  };
  const checker = new Checker(model);
  try {
    // Registers the totals.
    await engine.upkeep.tick(0);
    for (const step of steps) {
      sending.twice = step.twice;
      await play(world, step.call);
      await world.time.settleDue();
      sending.twice = false;
      const ids = [...new Set([...IDS, ...model.tasks.keys()])];
      const [instant, healed, ...seen] = await Promise.all([
        dump(redis, tag, ids, [...QUEUES, WEBHOOK_QUEUE]),
        scripts.verify(tag, { ids, heal: true }),
        ...ids.map((id) => engine.inspector.inspect(id, { result: true })),
      ]);
      checker.check(instant, new Map(ids.map((id, n) => [id, seen[n] ?? null])));
      for (const id of model.groups.ids) checker.checkGroup(id, await groupsOf(engine).inspect(id));
      await messages.check(model, step.call.op, instant);
      expect(healed, "verify").to.deep.equal([]);
    }
    await checkAll(redis, scripts, keys, model);
  } finally {
    const found = await keysOf(redis, tag);
    if (found.length > 0) await redis.unlink(...found);
  }
}

/** At the end of a run: nothing is in the store that the model does not account for, and a verification of it all heals nothing. */
async function checkAll(redis: Connection, scripts: Scripts, keys: Keys, model: Model): Promise<void> {
  const tag = keys.tag(0);
  const told = model.told.length;
  const report = await verify(redis, scripts, keys, { heal: false });
  expect(report, "verify").to.deep.include({ tasks: model.tasks.size + told, disagreeing: [] });
  const ownerless = (await keysOf(redis, tag)).filter((key) => {
    const [kind, ...id] = key.slice(tag.length).split(":");
    if (!["t", "b", "r", "s", "o"].includes(kind ?? "")) return false;
    return !model.tasks.has(id.join(":")) && !id.includes("webhook");
  });
  expect(ownerless, "keys of no task").to.deep.equal([]);
  const open = [...model.tasks.values()].filter(({ state }) => !isOutcome(state));
  const lines = new Set(open.map(({ queue, key }) => key && `pk:${queue} =${key}`));
  const stored = (await keysOf(redis, `${tag}pk:`)).map((key) => key.slice(tag.length));
  expect(stored.sort(), "lines of keys").to.deep.equal([...lines].filter((line) => line !== null).sort());
}

async function keysOf(redis: Connection, tag: string): Promise<string[]> {
  return await keysLike(redis, `${tag}*`);
}

function settings({ fair: _, keyed, most, ...rule }: ModelRules) {
  const limits = { keyedConcurrency: keyed, keyedWaiting: most };
  return [rule.name, { ...fallback(), queue: rule.name, ...rule, ...limits }] as const;
}

function fallback() {
  const config = readConfig({});
  return {
    ...settingsOf(defineHandler({ queue: QUEUES[0], run: () => undefined }), config),
    ...{ resultTtlMs: KEPT.result, tombstoneTtlMs: KEPT.tombstone, deadTtlMs: KEPT.dead },
  };
}
