import { factsOf, TASK_FACTS } from "../../../../task-record.ts";
import type { Task } from "../../../../wire/task.ts";
import { about, allowed, count, percentage, range, starting } from "../../../../words/numbers.ts";
import type { TicketFact, TicketQuestion, TicketWords } from "../ticket/ticket-words.ts";
import { turnWords } from "./turn-words.ts";

/** How long an estimate counts as current after its time has come, seconds. */
const FRESH_S = 15;

const HEADLINES: Readonly<Record<string, string>> = {
  waiting: "Place in line",
  scheduled: "Scheduled for later",
  running: "In progress",
  retrying: "Waiting to try again",
  succeeded: "Done",
  expired: "Expired",
  failed: "Failed",
  canceled: "Canceled",
};

/** What visitors read in place of what callers read, where a handler has said nothing: no attempts, no workers. */
const FAULTS: readonly (readonly [RegExp, string])[] = [
  [
    /^The (?:task failed|handler failed in each of \d+ attempts\.|task lost its worker too often)$/,
    "Something went wrong on our side.",
  ],
  [/^The (?:task took too long|handler took longer than \d+ ms\.)$/, "It took too long, and was stopped."],
];

/** What a reader of a failed task may do, unless its queue says it. */
const ADVICE = "Tell whoever runs this service: the id below finds it.";

const QUESTION: TicketQuestion = {
  verb: "Cancel",
  title: "Cancel this task?",
  consequence: "It loses its place in line, and what it has done so far is discarded.",
  no: "Keep it",
  yes: "Cancel the task",
};

/** What the words of a task depend on besides its document. */
export interface TaskReading {
  /** How long ago its estimate was made, seconds. */
  readonly agoS?: number;
  /** Whether it is of a queue of turns. */
  readonly isTurn: boolean;
  /** What its queue tells readers of a failed task to do; "" for what we say. */
  readonly support?: string;
  readonly isFramed?: boolean;
  /** By the server's clock. */
  readonly now?: Date;
}

/** The words on the page of a task. */
export function taskWords(task: Task, reading: TaskReading): TicketWords {
  const { isTurn, isFramed = false, now = new Date() } = reading;
  const words = plainWords(task, reading);
  return isTurn || task.turn ? { ...words, ...turnWords(task, { isFramed, now }) } : words;
}

function plainWords(task: Task, { agoS = 0, support = "" }: TaskReading): TicketWords {
  const look = isExpired(task) ? "expired" : task.state;
  const number = numberOf(task);
  const headline = task.cancelRequested && task.state === "running" ? "Stopping" : (HEADLINES[look] ?? task.state);
  const told = task.state === "waiting" && number !== "" ? `Place ${number}` : number || headline;
  return {
    title: `${told} · ${task.queue}`,
    look,
    headline,
    number,
    below: aheadOf(task),
    percent: task.progress?.percent ?? null,
    note: "",
    detail: detailOf(task),
    wait: waitOf(task, agoS),
    advice: task.state === "failed" ? support || ADVICE : "",
    facts: [{ title: "Task", value: task.id }, ...factsOf(TASK_FACTS, task).flatMap((fact) => factOf(fact, look))],
    question: task.actions.includes("cancel") ? QUESTION : null,
  };
}

function factOf({ name, title, value, isTime }: ReturnType<typeof factsOf>[number], look: string): TicketFact[] {
  if (name === "presentUntil")
    return [{ title: "Kept", value: "as long as somebody looks at it, such as on this page" }];
  return name === "expiresAt" && look !== "succeeded" ? [] : [{ title, value, isTime }];
}

/** Whether its result has expired. */
const isExpired = ({ state, links }: Task) => state === "succeeded" && !links.some(({ rel }) => rel === "result");

/** The place in line, or the progress. */
function numberOf({ state, index, progress }: Task): string {
  if (state === "waiting" && index !== null) return count(index + 1);
  return state === "running" && progress ? percentage(progress.percent) : "";
}

function aheadOf({ state, index, eta }: Task): string {
  if (state !== "waiting" || index === null) return "";
  if (index === 0) return "Next in line";
  const before = `${count(index)} before this one`;
  return eta?.rate ? `${allowed(eta.rate)} allowed, ${before}` : before;
}

const plain = (message: string): string => FAULTS.find(([of]) => of.test(message))?.[1] ?? message;

function detailOf(task: Task): string {
  if (task.error) return plain(task.error.message);
  if (isExpired(task)) return "It succeeded, but its result has expired.";
  if (task.held && task.state === "waiting") return "Waits for a task with the same key to end";
  return task.progress?.message ?? "";
}

/** When it starts, as a range. */
function waitOf({ eta, state, finishedAt }: Task, agoS: number): string {
  if (!eta || finishedAt !== null || state === "running") return "";
  const left = eta.seconds - agoS;
  // An old estimate may no longer be true.
  if (left <= 0) return agoS < FRESH_S ? "Any moment now" : "";
  if (eta.basis === "starting") return starting(left).replace(/^./, (first) => first.toUpperCase());
  return `${state === "retrying" ? "Tries again" : "Starts"} in ${range(eta, agoS) || `about ${about(left)}`}`;
}
