import { list, number, text } from "./reply.ts";
import type { Script } from "./script.ts";

/** Asks whether work may be taken from a queue that may rest. */
interface GateQuestion {
  readonly queue: string;
  /** Unique to a request for tasks of one partition; "" for one that must not probe. */
  readonly request: string;
  /** How long a probe counts without another word. */
  readonly leaseMs: number;
  /** `return`: the request takes no task after all. */
  readonly verb: "ask" | "return";
}

interface Gate {
  readonly state: "open" | "probe" | "resting";
  /** For how long nobody may probe. */
  readonly waitMs: number;
  /** Consecutive failures of the target so far. */
  readonly failures: number;
}

/** Whether work may be taken from a queue that rests while its target is down. */
export const gate =
  (script: Script) =>
  async (tag: string, { queue, request, leaseMs, verb }: GateQuestion): Promise<Gate> => {
    const [state, wait, failures] = list(await script.text(tag, [queue, request, leaseMs, verb]));
    return { state: text(state) as Gate["state"], waitMs: number(wait), failures: number(failures) };
  };
