import type { Group } from "../../../../wire/group.ts";
import { about, count, counted, percentage } from "../../../../words/numbers.ts";
import {
  type BarPart,
  hasEnded,
  type TicketFact,
  type TicketQuestion,
  type TicketWords,
} from "../ticket/ticket-words.ts";

const QUESTION: TicketQuestion = {
  verb: "Cancel",
  title: "Cancel all its tasks?",
  consequence:
    "Those that wait lose their places in line, and what the others have done so far is discarded. Results stay.",
  no: "Keep them",
  yes: "Cancel the tasks",
};

const STATES = ["waiting", "scheduled", "running", "retrying", "succeeded", "failed", "canceled"] as const;
/** Those in the bar, from its beginning; the rest of it is what has not started. */
const BAR = ["succeeded", "failed", "canceled", "running"] as const;

/**
 * The words on the page of a group.
 * @param agoS how long ago its estimate was made, seconds
 */
export function groupWords(group: Group, agoS = 0): TicketWords {
  const { total, succeeded, failed, canceled, progress, queue } = group;
  const headline = headlineOf(group);
  // At the end the bar says more.
  const number = hasEnded(group) ? "" : percentage(progress.percent);
  return {
    title: `${number || headline} · ${queue}`,
    look: lookOf(group),
    headline,
    number,
    below: `${count(succeeded + failed + canceled)} of ${counted(total, "task")}`,
    percent: progress.percent,
    parts: partsOf(group),
    note: countsOf(group),
    detail: placeOf(group),
    wait: waitOf(group, agoS),
    advice: "",
    facts: factsOf(group),
    question: hasEnded(group) || group.cancelRequested ? null : QUESTION,
  };
}

function factsOf({ id, createdAt, finishedAt, expiresAt }: Group): TicketFact[] {
  const times = { Submitted: createdAt, Ended: finishedAt, "Results kept until": finishedAt && expiresAt };
  const told = Object.entries(times).flatMap(([title, value]) => (value ? [{ title, value, isTime: true }] : []));
  return [{ title: "Group", value: id }, ...told];
}

/** How many of its tasks are in each state; states without tasks are left out. */
const countsOf = (group: Group): string =>
  STATES.flatMap((state) => (group[state] > 0 ? [`${count(group[state])} ${state}`] : [])).join(", ");

function lookOf({ state, failed }: Group): string {
  if (state === "canceled") return "canceled";
  if (state !== "done") return "running";
  return failed > 0 ? "failed" : "succeeded";
}

function headlineOf({ state, failed, cancelRequested }: Group): string {
  if (state === "canceled") return "Canceled";
  if (state === "done") return failed > 0 ? `Done, ${count(failed)} failed` : "Done";
  if (cancelRequested) return "Stopping";
  return state === "open" ? "Open for more tasks" : "In progress";
}

function partsOf(group: Group): BarPart[] {
  let from = 0;
  return BAR.map((state) => {
    const width = (1000 * group[state]) / Math.max(1, group.total);
    from += width;
    return { state, from: from - width, width };
  });
}

/** The place of its last task. */
const placeOf = ({ index }: Group) => (index === null ? "" : `The last is at place ${count(index + 1)} in line`);

/** When its last task will have ended. */
function waitOf(group: Group, agoS: number): string {
  const { eta } = group;
  if (!eta || hasEnded(group)) return "";
  const left = eta.seconds - agoS;
  if (left <= 0) return "Done any moment now";
  return `${eta.basis === "starting" ? "A worker is starting; done in" : "Done in"} about ${about(left)}`;
}
