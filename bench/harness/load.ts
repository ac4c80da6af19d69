import { once } from "node:events";
import path from "node:path";
import { forkSubject } from "./process.ts";

/** The load to generate. */
export interface LoadPlan {
  readonly port: number;
  readonly connections: number;
  /** How long it is measured, after running unmeasured for `warmSeconds`. */
  readonly seconds: number;
  readonly warmSeconds: number;
  /**
   * Requests per second of an open loop: each is due at its time, whether or not earlier ones were answered, and its latency
   * counts from then. Null for a closed loop: each connection sends when its previous request is answered.
   */
  readonly rate: number | null;
  readonly method: string;
  /** `{id}` is replaced by the id of a task drawn among the first `ids`, see {@link benchId}. */
  readonly path: string;
  readonly ids: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The result of a load. Latencies are in ms. */
export interface Load {
  readonly requests: number;
  /** All requests sent, including those before the measurement. */
  readonly sent: number;
  readonly seconds: number;
  readonly perSecond: number;
  readonly latency: {
    readonly p50: number;
    readonly p90: number;
    readonly p99: number;
    readonly p999: number;
    readonly max: number;
  };
  /** Answers by status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** For an open loop: requests that had no answer when the grace period was over. */
  readonly unanswered: number;
  /** Bodies that contained a problem, such as the answer to a batch. */
  readonly problems: number;
  /** Seconds of CPU that the generator itself used. */
  readonly cpuSeconds: number;
}

/** The nth id of a benchmark: a UUID, so that ids have their usual length. */
export function benchId(n: number): string {
  return `00000000-0000-4000-8000-${n.toString(16).padStart(12, "0")}`;
}

const DEFAULTS = {
  connections: 64,
  warmSeconds: 0.5,
  rate: null,
  method: "POST",
  path: "/v1/requests",
  ids: 0,
  headers: { "Content-Type": "application/json", Prefer: "respond-async" },
  body: "",
} as const;

/** Generates load in a separate process, with as little effect on the server under test as possible. */
export async function makeLoad(plan: Partial<LoadPlan> & Pick<LoadPlan, "port" | "seconds">): Promise<Load> {
  const child = forkSubject(path.join("..", "harness", "load-process"), [JSON.stringify({ ...DEFAULTS, ...plan })]);
  const [load] = (await Promise.race([
    once(child, "message"),
    once(child, "exit").then(() => {
      throw new Error("the load generator ended without a result");
    }),
  ])) as [Load];
  return load;
}

/** A JSON body of exactly this many bytes. */
export function bodyOf(bytes: number): string {
  const frame = JSON.stringify({ text: "" }).length;
  return JSON.stringify({ text: "x".repeat(Math.max(0, bytes - frame)) });
}

/** What a handler returns: this many bytes of JSON, or a short value. */
export function resultOf(bytes: number | undefined): unknown {
  return bytes === undefined ? { ok: true } : JSON.parse(bodyOf(bytes));
}
