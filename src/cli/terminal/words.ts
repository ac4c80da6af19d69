import type { Status } from "../../client/status.ts";
import type { Group } from "../../wire/group.ts";
import type { Eta, Progress } from "../../wire/task.ts";

/** A time for a person: `0.4 s`, `12 s`, `3 min`, `2 h 5 min`, `4 days`. */
export function durationText(seconds: number): string {
  if (seconds < 10) return `${Math.max(0, Math.round(seconds * 10) / 10)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return `${Math.round(hours / 24)} days`;
}

/** How long ago something was. */
export function ageText(time: string | null, nowMs = Date.now()): string | null {
  return time === null ? null : durationText(Math.max(0, nowMs - Date.parse(time)) / 1000);
}

/** How long it is until then. */
export function untilText(time: string | null, nowMs = Date.now()): string | null {
  return time === null ? null : durationText(Math.max(0, Date.parse(time) - nowMs) / 1000);
}

/** How long something took. */
export function spanText(from: string | null, to: string | null): string | null {
  return from === null || to === null ? null : durationText((Date.parse(to) - Date.parse(from)) / 1000);
}

/** When a task starts, by an estimate of some seconds ago. */
export function startText(eta: Eta | null, agoS = 0): string {
  if (eta === null) return "no estimate yet";
  const left = eta.seconds - agoS;
  if (left <= 0) return "starts any moment";
  const [low, high] = [Math.max(0, eta.low - agoS), eta.high - agoS];
  // A range this narrow adds nothing.
  const range = high - low > Math.max(2, left / 5) ? ` (${durationText(low)} to ${durationText(high)})` : "";
  if (eta.basis === "starting") {
    const about = left < 100 ? `${Math.ceil(left)} s` : durationText(left);
    return `a worker is starting, about ${about}${range}`;
  }
  const why = eta.rate ? `, ${allowedText(eta.rate)} allowed` : "";
  return `starts in about ${durationText(left)}${range}${why}`;
}

const SPANS: ReadonlyMap<string, string> = new Map(
  Object.entries({ "1s": "a second", "1m": "a minute", "1h": "an hour", "1d": "a day" }),
);

/** A rate for a person: `5 a second`, `100 in 30s`. */
export function allowedText({ max, per }: NonNullable<Eta["rate"]>): string {
  return `${max} ${SPANS.get(per) ?? `in ${per}`}`;
}

/** The state of a task in a few words, without the progress of a running one. */
export function statusText(status: Status, agoS = 0): string {
  switch (status.state) {
    case "waiting": {
      const before = status.index === 0 ? "next" : `${status.index} before it`;
      const start = status.held ? "held until another task of its key has ended" : startText(status.eta, agoS);
      return `waiting, place ${status.index + 1} in line (${before}), ${start}`;
    }
    case "scheduled":
      return `scheduled, ${dueText(status.eta, agoS)}`;
    case "retrying":
      return `attempt ${status.attempt} of ${status.maxAttempts} failed, ${dueText(status.eta, agoS)}`;
    case "running": {
      if (status.cancelRequested) return "stopping";
      return status.attempt > 1 ? `running, attempt ${status.attempt} of ${status.maxAttempts}` : "running";
    }
    case "succeeded":
      return `succeeded in ${spanText(status.startedAt, status.finishedAt) ?? "no time"}`;
    case "failed":
    case "canceled":
      return `${status.state}: ${status.error.message}`;
    default:
      // A state from a server of another release.
      return String((status as { state?: unknown }).state);
  }
}

function dueText(eta: Eta | null, agoS: number): string {
  return eta === null ? "due later" : `due in ${durationText(Math.max(0, eta.seconds - agoS))}`;
}

/** How far a group is in a few words. */
export function groupText(group: Group): string {
  const { state, total, index, eta, succeeded, failed, canceled, cancelRequested } = group;
  const words: string[] = [cancelRequested && state === "pending" ? "stopping" : state];
  words.push(`${succeeded + failed + canceled} of ${count(total, "task")} ended`);
  for (const name of ["waiting", "scheduled", "running", "retrying", "failed", "canceled"] as const) {
    if (group[name] > 0) words.push(`${group[name]} ${name}`);
  }
  if (index !== null) words.push(`the last at place ${index + 1} in line`);
  if (eta !== null && eta.seconds > 0) {
    words.push(`${eta.basis === "starting" ? "a worker is starting, " : ""}done in about ${durationText(eta.seconds)}`);
  }
  return words.join(", ");
}

/** The progress of a task in percent, with ~ if that is an estimate. */
export function percentText({ percent, estimated }: Progress): string {
  return `${estimated ? "~" : ""}${Math.round(percent)} %`;
}

/** The same for several: `1 task`, `2 tasks`. */
export function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}
