import { monitorEventLoopDelay } from "node:perf_hooks";
import { Counter, Histogram, type Registry } from "prom-client";

/** The children of a metric under some of its labels, by the next label, down to the children with all labels. */
interface ChildNode<Child> {
  readonly below: Map<string, ChildNode<Child>>;
  child?: Child;
}

/**
 * A child of a metric for each combination of labels, looked up only once, since some change with every task. Label by label, since joining
 * the labels to one key takes longer than three look-ups.
 */
class LabeledChildren<Child> {
  readonly #make: (labels: readonly string[]) => Child;
  readonly #root: ChildNode<Child> = { below: new Map() };

  constructor(make: (labels: readonly string[]) => Child) {
    this.#make = make;
  }

  of(...labels: readonly string[]): Child {
    let node = this.#root;
    for (const label of labels) {
      let next = node.below.get(label);
      if (next === undefined) {
        next = { below: new Map() };
        node.below.set(label, next);
      }
      node = next;
    }
    node.child ??= this.#make(labels);
    return node.child;
  }
}

/** A counter with the labels queue and one of a few words. */
export class WordCounter<Word extends string> {
  readonly #children: LabeledChildren<{ inc(by: number): void }>;
  readonly #words: readonly Word[];

  /** @param words those that are shown before anything has been counted */
  constructor(registry: Registry, name: string, help: string, label: string, words: readonly Word[]) {
    const counter = new Counter({ name, help, labelNames: ["queue", label], registers: [registry] });
    this.#children = new LabeledChildren((labels) => counter.labels(...labels));
    this.#words = words;
  }

  /** Shows the counters of a queue for these words, at 0 if nothing has been counted, so that the first event is an increase. */
  begin(queue: string): void {
    for (const word of this.#words) this.count(queue, word, 0);
  }

  count(queue: string, word: Word, by = 1): void {
    this.#children.of(queue, word).inc(by);
  }
}

/** Durations, with any labels. */
export class Durations<Labels extends readonly string[]> {
  readonly #histogram: Histogram;
  readonly #children: LabeledChildren<{ observe(seconds: number): void }>;

  constructor(registry: Registry, name: string, help: string, labelNames: string[], buckets: number[]) {
    this.#histogram = new Histogram({ name, help, labelNames, buckets, registers: [registry] });
    this.#children = new LabeledChildren((labels) => this.#histogram.labels(...labels));
  }

  /** Shows the durations with these labels, at 0 if there are none yet. */
  begin(labels: Readonly<Record<string, string>>): void {
    this.#histogram.zero(labels);
  }

  observe(ms: number, ...labels: Labels): void {
    this.#children.of(...labels).observe(ms / 1000);
  }
}

/** Numbers of things, by queue. */
export class Sizes {
  readonly #histogram: Histogram;

  constructor(registry: Registry, name: string, help: string, buckets: number[]) {
    this.#histogram = new Histogram({ name, help, labelNames: ["queue"], buckets, registers: [registry] });
  }

  observe(size: number, queue: string): void {
    this.#histogram.observe({ queue }, size);
  }
}

/** How often the event loop has to turn, ms: shorter blocks are not seen. */
const RESOLUTION_MS = 50;
/** A block is told for at least so long, ms. */
const TOLD_MS = 60_000;

/**
 * The longest block of this process's event loop in the last minute or two. Reading does not end a block's time: those who ask while it is
 * blocked have given up when they are answered.
 */
export class LongestBlock {
  readonly #delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  #sinceMs = performance.now();
  /** Of the minute before, ms. */
  #beforeMs = 0;

  constructor() {
    this.#delays.enable();
  }

  /** Milliseconds. */
  get ms(): number {
    const nowMs = Math.max(0, this.#delays.max / 1e6 - RESOLUTION_MS);
    const longest = Math.max(this.#beforeMs, nowMs);
    if (performance.now() - this.#sinceMs > TOLD_MS) {
      this.#sinceMs = performance.now();
      this.#beforeMs = nowMs;
      this.#delays.reset();
    }
    return longest;
  }
}
