import { named, names, verb, written } from "./codec.ts";
import { number, text } from "./reply.ts";

/** Asks whether work may be taken from a queue that may rest. */
interface GateQuestion {
  readonly queue: string;
  /** Unique to a request for tasks of one partition; "" for a request that must not probe. */
  readonly request: string;
  /** How long a probe counts without a renewal. */
  readonly leaseMs: number;
  /** `return`: the request has not taken a task after all. */
  readonly verb: "ask" | "return";
}

interface Gate {
  readonly state: "open" | "probe" | "resting";
  /** For how long nobody may probe. */
  readonly waitMs: number;
  /** Consecutive failures of the target so far. */
  readonly failures: number;
}

/** What an attempt has shown about the target of a queue. */
interface TargetReport {
  readonly queue: string;
  /** Of the attempt; unique in the queue. */
  readonly reference: string;
  /** `unclear`: there was no answer, which counts only for a probe. */
  readonly state: "up" | "down" | "unclear";
  /** Why it counts as down. */
  readonly reason: string;
  /** The request that took the task as a probe; "" if it is not a probe. */
  readonly request: string;
}

/** Only one attempt gets `began` or `ended`, and logs it. */
export type TargetVerdict = "open" | "began" | "resting" | "ended";

const QUESTION = names<GateQuestion>("queue", "request", "leaseMs", "verb");
const GATE = ["state", "waitMs", "failures"] as const;
const REPORT = names<TargetReport>("queue", "reference", "state", "reason", "request");

/** Whether work may be taken from a queue that rests while its target is down. */
export const gate = verb(
  { args: QUESTION, answer: GATE },
  (script) =>
    async (tag: string, question: GateQuestion): Promise<Gate> => {
      const { state, waitMs, failures } = named(GATE, await script.text(tag, written(QUESTION, question)));
      return { state: text(state) as Gate["state"], waitMs: number(waitMs), failures: number(failures) };
    },
);

/** Notes what an attempt has shown about the target of a queue. */
export const target = verb(
  { args: REPORT },
  (script) =>
    async (tag: string, report: TargetReport): Promise<TargetVerdict> =>
      text(await script.text(tag, written(REPORT, report))) as TargetVerdict,
);
