/** What an answer says about a task; "unknown": the server does not know its id. */
export type Told = "pending" | "succeeded" | "failed" | "canceled" | "deleted" | "unknown";

/** A call over HTTP. Times are those of one monotonic clock that all processes of a machine share, ms. */
export interface Call {
  readonly type: "call";
  readonly kind: "submit" | "status" | "collect" | "timeline";
  readonly id: string;
  readonly queue: string;
  /** Its key in a keyed line. */
  readonly key?: string;
  readonly invokedAt: number;
  readonly returnedAt: number;
  /** "failed": it certainly had no effect; "unknown": it may have one, perhaps later. */
  readonly outcome: "ok" | "failed" | "unknown";
  /** HTTP status and the code of the problem, for people. */
  readonly answer: string;
  /** This and the following members only for a call that is "ok". */
  readonly told?: Told;
  readonly index?: number;
  /** The fence of the run whose result it is. */
  readonly fence?: number;
  /** How often the task was taken from the line. */
  readonly starts?: number;
}

/** What the answer of a call says. */
export type CallAnswer = Pick<Call, "outcome" | "answer" | "told" | "index" | "fence" | "starts">;

/** A handler begins or ends, as it notes itself. */
export interface Mark {
  readonly type: "begins" | "ends";
  readonly id: string;
  readonly queue: string;
  readonly key?: string;
  readonly fence: number;
  readonly pid: number;
  readonly at: number;
}

/** A worker gives a task back that it has taken, and whose handler has not begun. Only its log tells of that. */
export interface HandBack {
  readonly type: "handed-back";
  readonly id: string;
  readonly queue: string;
}

/** The hand-back of which a line of a log tells; undefined for any other line. */
export function handBackIn(line: string): HandBack | undefined {
  if (!line.includes('"outcome":"unbegun"')) return undefined;
  const { requestId: id, queue } = JSON.parse(line) as { requestId: string; queue: string };
  return { type: "handed-back", id, queue };
}

/**
 * The store went on with an older state. "nothing": acknowledged writes may be lost, as with DURABILITY=memory; "submissions":
 * those of submissions may not, as with DURABILITY=replica.
 */
export interface Fork {
  readonly type: "fork";
  readonly at: number;
  readonly kept: "nothing" | "submissions";
}

export type HistoryEntry = Call | Mark | HandBack | Fork;

/** A run of a handler. */
export interface Run {
  readonly id: string;
  readonly queue: string;
  readonly key: string | undefined;
  readonly fence: number;
  readonly pid: number;
  readonly beganAt: number;
  /** Undefined if it was cut off. */
  readonly endedAt: number | undefined;
}

/** What is known of one task. */
export interface TaskHistory {
  readonly id: string;
  readonly queue: string;
  readonly key: string | undefined;
  /** In the order in which they were invoked. */
  readonly calls: readonly Call[];
  /** In the order in which they began. */
  readonly runs: readonly Run[];
  /** How often a worker gave it back before its handler had begun. */
  readonly handBacks: number;
}

/** What was recorded while faults struck, by task. */
export interface History {
  readonly tasks: readonly TaskHistory[];
  /** When the store last went on with an older state; -Infinity if it never did. */
  readonly forkedAt: number;
}

/** Finds violations of one promise; each is a sentence for people. */
export type Rule = (history: History) => string[];

/** The entries of a file, one a line. */
export function entriesOf(text: string): HistoryEntry[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as HistoryEntry);
}

/**
 * Sorts entries by task. Answers before a fork that may be lost with it are treated as if they had not arrived, so that all rules hold for
 * the rest.
 */
export function historyOf(entries: readonly HistoryEntry[]): History {
  const forks = entries.filter((entry) => entry.type === "fork");
  const tasks = new Map<string, { calls: Call[]; marks: Mark[]; handBacks: number }>();
  for (const entry of entries) {
    if (entry.type === "fork") continue;
    const of = tasks.get(entry.id) ?? { calls: [], marks: [], handBacks: 0 };
    tasks.set(entry.id, of);
    if (entry.type === "call") of.calls.push(afterForks(entry, forks));
    else if (entry.type === "handed-back") of.handBacks += 1;
    else of.marks.push(entry);
  }
  return {
    tasks: [...tasks].map(([id, { calls, marks, handBacks }]) => ({ ...taskOf(id, calls, marks), handBacks })),
    forkedAt: Math.max(Number.NEGATIVE_INFINITY, ...forks.map(({ at }) => at)),
  };
}

function afterForks(call: Call, forks: readonly Fork[]): Call {
  const { type, kind, id, queue, invokedAt, returnedAt, answer } = call;
  const lost = forks.filter(({ at }) => invokedAt < at);
  if (lost.length === 0 || call.outcome !== "ok") return call;
  const key = call.key === undefined ? {} : { key: call.key };
  const bare = { ...{ type, kind, id, queue, invokedAt, returnedAt, answer }, ...key };
  const isKept = kind === "submit" && lost.every(({ kept }) => kept === "submissions");
  // The task is known, but its place and its outcome are void.
  return isKept ? { ...bare, outcome: "ok", told: "pending" } : { ...bare, outcome: "unknown" };
}

function taskOf(id: string, calls: readonly Call[], marks: readonly Mark[]): Omit<TaskHistory, "handBacks"> {
  const first = calls[0] ?? marks[0];
  return {
    ...{ id, queue: first?.queue ?? "", key: first?.key },
    calls: [...calls].sort((a, b) => a.invokedAt - b.invokedAt),
    runs: marks
      .filter(({ type }) => type === "begins")
      .sort((a, b) => a.at - b.at)
      .map(({ queue, key, fence, pid, at }) => {
        const end = marks.find((mark) => mark.type === "ends" && mark.fence === fence && mark.pid === pid);
        return { id, queue, key, fence, pid, beganAt: at, endedAt: end?.at };
      }),
  };
}

/** The first answer that says how a task ended. */
export function outcomeOf({ calls }: TaskHistory): Call | undefined {
  return calls.find(({ told }) => isTerminal(told));
}

export function isTerminal(told: Told | undefined): boolean {
  return told !== undefined && told !== "pending" && told !== "unknown";
}

/** The run whose result is the outcome of the task, if an answer named it. */
export function winnerOf({ calls, runs }: TaskHistory): Run | undefined {
  const fence = calls.find((call) => call.fence !== undefined)?.fence;
  return runs.find((run) => run.fence === fence);
}

/** When it was first submitted, and when it was known to be accepted; undefined if no answer said so. */
export function acceptance({ calls }: TaskHistory): { invokedAt: number; knownAt: number } | undefined {
  const submits = calls.filter(({ kind }) => kind === "submit");
  const known = submits.filter(({ outcome }) => outcome === "ok").map(({ returnedAt }) => returnedAt);
  const first = submits[0];
  return first && known.length > 0 ? { invokedAt: first.invokedAt, knownAt: Math.min(...known) } : undefined;
}
