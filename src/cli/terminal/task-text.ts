import type { Status } from "../../client/status.ts";
import type { Eta, Progress } from "../../wire/task.ts";
import { about, allowed, count, duration, range, starting } from "../../words/numbers.ts";

/** How long ago something was. */
export function ageText(time: string | null, nowMs = Date.now()): string | null {
  return time === null ? null : about(Math.max(0, nowMs - Date.parse(time)) / 1000);
}

/** How long it is until then. */
export function untilText(time: string | null, nowMs = Date.now()): string | null {
  return time === null ? null : about(Math.max(0, Date.parse(time) - nowMs) / 1000);
}

/** How long something took. */
export function spanText(from: string | null, to: string | null): string | null {
  return from === null || to === null ? null : duration((Date.parse(to) - Date.parse(from)) / 1000);
}

/** When a task starts, by an estimate of some seconds ago. */
export function startText(eta: Eta | null, agoS = 0): string {
  if (eta === null) return "no estimate yet";
  const left = eta.seconds - agoS;
  if (left <= 0) return "starts any moment";
  const told = range(eta, agoS);
  const wide = told && ` (${told})`;
  if (eta.basis === "starting") return `${starting(left)}${wide}`;
  return `starts in about ${about(left)}${wide}${eta.rate ? `, ${allowed(eta.rate)} allowed` : ""}`;
}

/** The state of a task in a few words, without the progress of a running one. */
export function statusText(status: Status, agoS = 0): string {
  switch (status.state) {
    case "waiting": {
      const before = status.index === 0 ? "next" : `${count(status.index)} before it`;
      const start = status.held ? "held until another task of its key has ended" : startText(status.eta, agoS);
      return `waiting, place ${count(status.index + 1)} in line (${before}), ${start}`;
    }
    case "scheduled":
      return `scheduled, ${dueText(status.eta, agoS)}`;
    case "retrying":
      return `attempt ${status.attempt} of ${status.maxAttempts} failed, ${dueText(status.eta, agoS)}`;
    case "running": {
      if (status.cancelRequested) return "stopping";
      if (status.turn) return "its turn has come";
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
  return eta === null ? "due later" : `due in ${about(eta.seconds - agoS)}`;
}

/** The progress of a task in percent, with ~ if that is an estimate. */
export function percentText({ percent, estimated }: Progress): string {
  return `${estimated ? "~" : ""}${Math.round(percent)} %`;
}
