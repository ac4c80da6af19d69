import { ROOT_CONTEXT, SpanKind } from "@opentelemetry/api";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  type IdGenerator,
  ParentBasedSampler,
  RandomIdGenerator,
  type Sampler,
  SamplingDecision,
  TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace";
import type { OtelConfig } from "../config/otel.ts";

/** The position of the last digit of the flags in a stored trace, the only one that is ever set. */
const FLAGS = 54;
const SAMPLED = 1;

/**
 * Decides which traces are recorded before any span is created. It also makes the ids, since the decision for a new trace
 * depends on its id.
 */
export class Sampling implements IdGenerator {
  /** Makes the same decision for spans that are created without asking first. */
  readonly sampler: Sampler;
  readonly #root: Sampler;
  readonly #isParentBased: boolean;
  readonly #ids = new RandomIdGenerator();
  #decidedId: string | undefined;

  constructor({ sampler, ratio }: NonNullable<OtelConfig["traces"]>) {
    this.#root = sampler.endsWith("always_off")
      ? new AlwaysOffSampler()
      : sampler.endsWith("traceidratio")
        ? new TraceIdRatioBasedSampler(ratio)
        : new AlwaysOnSampler();
    this.#isParentBased = sampler.startsWith("parentbased_");
    this.sampler = this.#isParentBased ? new ParentBasedSampler({ root: this.#root }) : this.#root;
  }

  /**
   * The trace to pass on if it is not recorded; undefined if it is: then its span must be created at once, with the same parent.
   * @param parent the stored trace of the sender; "" for none
   */
  passedOn(parent: string): string | undefined {
    if (parent === "") {
      const traceId = this.#ids.generateTraceId();
      if (!this.#isRecorded(traceId)) return `00-${traceId}-${this.generateSpanId()}-00`;
      this.#decidedId = traceId;
      return undefined;
    }
    const flags = Number(parent[FLAGS]);
    const isSampled = (flags & SAMPLED) !== 0;
    if (this.#isParentBased ? isSampled : this.#isRecorded(parent.slice(3, 35))) return undefined;
    return isSampled ? `${parent.slice(0, FLAGS)}${flags - SAMPLED}${parent.slice(FLAGS + 1)}` : parent;
  }

  generateTraceId(): string {
    const id = this.#decidedId ?? this.#ids.generateTraceId();
    this.#decidedId = undefined;
    return id;
  }

  generateSpanId(): string {
    return this.#ids.generateSpanId();
  }

  #isRecorded(traceId: string): boolean {
    // These samplers look at nothing else.
    const { decision } = this.#root.shouldSample(ROOT_CONTEXT, traceId, "", SpanKind.INTERNAL, {}, []);
    return decision === SamplingDecision.RECORD_AND_SAMPLED;
  }
}
