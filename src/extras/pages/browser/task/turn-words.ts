import type { Task, Turn } from "../../../../wire/task.ts";
import { about } from "../../../../words/numbers.ts";
import type { TicketFact, TicketQuestion, TicketWords } from "../ticket/ticket-words.ts";

const LEAVE: TicketQuestion = {
  verb: "Leave the line",
  title: "Leave the line?",
  consequence: "Your place is given up, and cannot be had back.",
  no: "Stay",
  yes: "Leave the line",
};

const GIVE_UP: TicketQuestion = {
  verb: "Give up",
  title: "Give up your turn?",
  consequence: "The next one in line is called at once.",
  no: "Keep it",
  yes: "Give it up",
};

const END: TicketQuestion = {
  verb: "End this request",
  title: "End this request?",
  consequence: "Its caller gets an error, and the next one in line is served.",
  no: "Let it go on",
  yes: "End it",
};

/** For whom the words are. */
export interface TurnReader {
  readonly now: Date;
  /** They are in a frame of another page, which is for who waits, and has no buttons. */
  readonly isFramed: boolean;
}

/** The words of a task of a queue of turns that differ from those of any task. */
export function turnWords(task: Task, reader: TurnReader): Partial<TicketWords> {
  const { turn, state, startedAt, error } = task;
  const canEnd = task.actions.includes("cancel");
  if (turn?.door) return { ...servedWords(task, turn), ...(canEnd && { question: END }) };
  if (turn) return { ...calledWords(task, turn, reader), ...(canEnd && { question: GIVE_UP }) };
  if (state === "canceled")
    return {
      headline: startedAt === null ? "No longer in line" : "The turn is over",
      detail: error?.code === "canceled" ? "" : (error?.message ?? ""),
    };
  if (state === "failed") return { headline: "The turn is over", advice: "" };
  return canEnd ? { question: LEAVE } : {};
}

/** Of a request that is passed on to an API now: its caller has nothing to do. */
function servedWords(task: Task, turn: Turn): Partial<TicketWords> {
  return {
    title: `Being served – ${task.label ?? task.queue}`,
    ...{ headline: "Being served", number: "", below: task.label ?? "", note: "", detail: "", wait: "", advice: "" },
    facts: factsOf(task, turn),
  };
}

function calledWords(task: Task, turn: Turn, { now, isFramed }: TurnReader): Partial<TicketWords> {
  const done = task.links.find(({ rel }) => rel === "done")?.href;
  const isTheirs = done === undefined && !isFramed;
  const whose = isTheirs ? "their" : "your";
  return {
    title: `${isTheirs ? "Their" : "Your"} turn – ${task.label ?? task.queue}`,
    look: "turn",
    headline: `It is ${whose} turn`,
    number: "",
    below: task.label ?? "",
    note: "",
    detail: isTheirs || isFramed ? "" : "Work now; press Done when you have finished.",
    wait: holdText(turn, isTheirs, now),
    facts: factsOf(task, turn),
    ...(done !== undefined && { done }),
  };
}

/** How long it holds. */
function holdText({ until, endsAt }: Turn, isTheirs: boolean, now: Date): string {
  const kept = until === null || isTheirs ? "" : "It is yours as long as this page is open";
  if (endsAt === null) return kept;
  const leftS = (Date.parse(endsAt) - now.getTime()) / 1000;
  if (leftS <= 0) return "Its time is over";
  return kept === "" ? `It ends in ${about(leftS)} at the latest` : `${kept}, for ${about(leftS)} at most`;
}

function factsOf({ id, createdAt, deadlineAt }: Task, { since, endsAt }: Turn): TicketFact[] {
  const times = { Submitted: createdAt, Called: since, "Ends at the latest": endsAt ?? deadlineAt };
  return [
    { title: "Task", value: id },
    ...Object.entries(times).flatMap(([title, value]) => (value === null ? [] : [{ title, value, isTime: true }])),
  ];
}
