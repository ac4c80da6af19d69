import type { Call, CallAnswer, Told } from "./history.ts";

/** Refusals of a submission that store nothing, by docs/concepts.md; every other 4xx does not either. */
const STORES_NOTHING = new Set(["queue-full", "line-too-long", "store-full"]);
/** Problems that say how a task ended. */
const ENDS: Readonly<Record<string, Told>> = {
  ...{ "task-failed": "failed", "task-timeout": "failed", "worker-lost": "failed" },
  ...{ canceled: "canceled", deleted: "deleted", unknown: "unknown", pending: "pending" },
};

/** What an answer of a call means for the task; `body` is undefined if the answer did not arrive. */
export function heard(kind: Call["kind"], status: number, body: string | undefined): CallAnswer {
  if (body === undefined) return { outcome: "unknown", answer: "no answer" };
  const { type, ...document } = JSON.parse(body) as Body;
  const code = typeof type === "string" ? type.replace("/problems/", "") : undefined;
  const answer = code === undefined ? String(status) : `${status} ${code}`;
  const told = code === undefined ? toldBy(kind, status, document) : ENDS[code];
  if (told !== undefined) return { outcome: "ok", answer, told, ...factsOf(document) };
  const isRefused = status < 500 || STORES_NOTHING.has(code ?? "");
  return { outcome: isRefused ? "failed" : "unknown", answer };
}

interface Body {
  readonly type?: unknown;
  readonly state?: string;
  readonly index?: number | null;
  readonly fence?: number;
  readonly task?: { readonly state: string };
  readonly attempts?: readonly { readonly number: number }[];
}

function toldBy(kind: Call["kind"], status: number, { state, task }: Body): Told | undefined {
  if (kind === "status") return toldByState(state);
  if (kind === "timeline") return toldByState(task?.state);
  if (status === 202) return "pending";
  return status === 200 ? "succeeded" : undefined;
}

/** What a state says about a task. */
export function toldByState(state: string | null | undefined): Told {
  return state === "succeeded" || state === "failed" || state === "canceled" ? state : "pending";
}

/** Members that the answer, or the result in it, has. */
function factsOf({ index, fence, attempts }: Body): Pick<CallAnswer, "index" | "fence" | "starts"> {
  return {
    ...(typeof index === "number" ? { index } : {}),
    ...(fence === undefined ? {} : { fence }),
    ...(attempts === undefined ? {} : { starts: attempts.length }),
  };
}
