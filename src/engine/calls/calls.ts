import { randomBytes } from "node:crypto";
import type { Metrics } from "../../metrics/metrics.ts";
import type { Keys } from "../../store/keys.ts";
import type { Scripts } from "../../store/library/scripts.ts";
import type { BatchVerb, Verb } from "../../store/library/verb.ts";
import * as VERBS from "../../store/library/verbs.ts";
import type { TickQueue } from "../../store/ops/tick.ts";
import { Batch } from "./batch.ts";
import { LARGE_DEFAULTS } from "./large-values.ts";

type Verbs = typeof VERBS;

/** What a verb is asked about one thing, and what it answers. */
type Asked<V> =
  V extends BatchVerb<infer Item, infer Verdict, infer _>
    ? { readonly of: Item; readonly answer: Verdict }
    : V extends Verb<[infer Of], infer Answer>
      ? Of extends readonly unknown[] | string
        ? never
        : { readonly of: Of; readonly answer: Answer }
      : never;

type Of<Name extends keyof Verbs> = Asked<Verbs[Name]>["of"];

/** The members that a call fills in itself: from the settings of the queue, and the word by which a resent call is recognized. */
type Filled = Omit<TickQueue, "queue"> & { readonly call: string };

/** What a caller gives: the rest is filled in. */
type Given<T> = Omit<T, keyof Filled> & Partial<Pick<T, keyof T & keyof Filled>> & { readonly queue: string };

/** A verb on one thing, or on items. */
type AnyVerb = Pick<Verb<never, unknown>, "filled"> & Partial<Pick<BatchVerb<unknown, unknown>, "weights" | "ends">>;

const BY_NAME: Readonly<Record<keyof Verbs, AnyVerb>> = VERBS;

/** A word by which a resent call is recognized: letters and digits. */
export function newCall(): string {
  return randomBytes(6).toString("hex");
}

/** A member of {@link Calls}: calls a verb by its name. */
export type Call = Calls["call"];

/** Calls verbs where their queue is. Calls of one turn of the event loop of a verb on items travel together. */
export class Calls {
  readonly #scripts: Scripts;
  readonly #large: Scripts;
  readonly #keys: Keys;
  readonly #metrics: Metrics;
  readonly #factsOf: (queue: string) => TickQueue;
  readonly #batches = new Map<string, Batch<unknown, unknown>>();

  /**
   * @param large on the connection of large values
   * @param factsOf what a queue says about the ends of its tasks
   */
  constructor(scripts: Scripts, large: Scripts, keys: Keys, metrics: Metrics, factsOf: (queue: string) => TickQueue) {
    this.#scripts = scripts;
    this.#large = large;
    this.#keys = keys;
    this.#metrics = metrics;
    this.#factsOf = factsOf;
  }

  /** Calls a verb on one thing, in the partition of its queue. @throws ProblemError store-unavailable, store-full */
  readonly call = <Name extends keyof Verbs>(
    name: Name,
    given: Given<Of<Name>>,
  ): Promise<Asked<Verbs[Name]>["answer"]> => {
    const verb = BY_NAME[name];
    const of = this.#filled(verb, given);
    const partition = this.#keys.partitionOfQueue(given.queue);
    const isLarge = (verb.weights?.sizeOf?.(of) ?? 0) > LARGE_DEFAULTS.writeBytes;
    if (verb.weights) return this.#batch(name, isLarge).add(partition, of) as Promise<never>;
    return this.#scriptOf(name, isLarge)(this.#keys.tag(partition), of) as Promise<never>;
  };

  #filled({ filled }: AnyVerb, given: { readonly queue: string }): unknown {
    if (filled === undefined) return given;
    const facts = this.#factsOf(given.queue);
    const members = filled.map((name) => [name, name === "call" ? newCall() : facts[name]]);
    return { ...Object.fromEntries(members), ...given };
  }

  #batch(name: keyof Verbs, isLarge: boolean): Batch<unknown, unknown> {
    const key = isLarge ? `${name} large` : name;
    let batch = this.#batches.get(key);
    if (batch === undefined) {
      const { weights, ends } = BY_NAME[name];
      const script = this.#scriptOf(name, isLarge);
      const send = async (partition: number, items: readonly unknown[]) => {
        const verdicts = (await script(this.#keys.tag(partition), items)) as readonly never[];
        if (ends) this.#metrics.countEndings(items as readonly TickQueue[], verdicts);
        return verdicts;
      };
      batch = new Batch({ ...weights, send });
      this.#batches.set(key, batch);
    }
    return batch;
  }

  #scriptOf(name: keyof Verbs, isLarge: boolean) {
    return (isLarge ? this.#large : this.#scripts)[name] as (tag: string, of: unknown) => Promise<unknown>;
  }
}
