/** The attempts of a task, as a timeline and as a table, with what each has logged and the stack of its error. */

import { duration } from "../../../../../words/numbers.ts";
import { html } from "../../preact.js";
import { now } from "../../server.js";
import { Folded } from "../parts/folded.js";
import { moment, time } from "../parts/format.js";
import { row, table } from "../parts/table.js";

/** @typedef {import("../api.js").Timeline} Timeline */
/** @typedef {import("../api.js").Attempt} Attempt */

const OUTCOMES = /** @type {Record<string, { text: string, kind: string }>} */ ({
  running: { text: "running", kind: "running" },
  succeeded: { text: "succeeded", kind: "good" },
  failed: { text: "failed", kind: "bad" },
  dead: { text: "failed, no attempts left", kind: "bad" },
  canceled: { text: "canceled", kind: "warn" },
  retrying: { text: "failed, tried again", kind: "bad" },
  later: { text: "asked to be called later", kind: "" },
  lost: { text: "worker lost", kind: "bad" },
  released: { text: "handed back", kind: "" },
  retried: { text: "retried by a person", kind: "" },
});

const COLUMNS = [
  { name: "Attempt" },
  { name: "Outcome", wide: true },
  { name: "Started", number: true },
  { name: "Took", number: true },
  { name: "Worker" },
  { name: "Error", wide: true },
];

/** @param {Attempt} attempt */
const outcomeOf = ({ outcome }) => OUTCOMES[outcome] ?? { text: outcome, kind: "" };

/** @param {Timeline} known */
export function attempts({ task, attempts, attemptsOmitted }) {
  if (attempts.length === 0) return null;
  const rows = attempts.map((attempt) => row(`${attempt.number} ${attempt.startedAt}`, COLUMNS, cells(attempt)));
  const last = attempts.findLast(hasLeft);
  return html`
    <section aria-label="Attempts">
      <div class="panel">${span(task, attempts)}</div>
      ${attemptsOmitted && html`<p class="hint">Earlier attempts may be missing.</p>`}
      ${table("Attempts", COLUMNS, rows)}
      ${attempts.filter(hasLeft).map((attempt) => left(attempt, attempt === last))}
    </section>`;
}

/** @param {Attempt} attempt */
const hasLeft = ({ stack, log }) => stack !== null || log.length > 0;

/** What an attempt has left for operators. @param {Attempt} attempt @param {boolean} isOpen */
function left({ number, startedAt, stack, log }, isOpen) {
  const what = [log.length > 0 && "log", stack !== null && "stack"].filter(Boolean).join(" and ");
  /** @param {Attempt["log"][number]} line @param {number} n */
  const line = ({ at, level, text }, n) => html`
    <li key=${n} class=${LEVELS[level] ?? ""}><time datetime=${at}>${moment(at)}</time> ${level} <${Folded} text=${text} /></li>`;
  return html`
    <details key="${number} ${startedAt}" class="panel left" open=${isOpen}>
      <summary>Attempt ${number}: ${what}</summary>
      ${log.length > 0 && html`<ol class="log" aria-label="Log of attempt ${number}">${log.map(line)}</ol>`}
      ${stack !== null && shownStack(number, stack)}
    </details>`;
}

/** All of its frames: a long message is folded. @param {number} number @param {string} stack */
function shownStack(number, stack) {
  const end = stack.indexOf("\n    at ");
  const message = end < 0 ? stack : stack.slice(0, end);
  return html`<pre aria-label="Stack of attempt ${number}"><${Folded} text=${message} />${stack.slice(message.length)}</pre>`;
}

/** Colour is for what went wrong. */
const LEVELS = /** @type {Record<string, string>} */ ({ warn: "warn", error: "bad", fatal: "bad" });

/** @param {Attempt} attempt */
function cells(attempt) {
  const { number, startedAt, worker, error } = attempt;
  const { text, kind } = outcomeOf(attempt);
  return [
    number === 0 ? "–" : `#${number}`,
    html`<span class="state ${kind}">${text}</span>`,
    time(startedAt),
    number === 0 ? "–" : duration(lengthOf(attempt)),
    worker === null ? "–" : html`<span class="whole">${worker}</span>`,
    error === null ? "–" : html`<${Folded} text=${error} kind="error" />`,
  ];
}

/** In seconds. @param {Attempt} attempt */
const lengthOf = ({ startedAt, endedAt }) => (endOf(endedAt) - Date.parse(startedAt)) / 1000;

/** @param {string | null} iso */
const endOf = (iso) => (iso === null ? now().getTime() : Date.parse(iso));

/**
 * From its submission to its end: grey while it waited, coloured while it ran.
 * @param {import("../api.js").Task} task
 * @param {readonly Attempt[]} attempts
 */
function span(task, attempts) {
  const from = Date.parse(task.createdAt);
  const length = Math.max(1, endOf(task.finishedAt) - from);
  const waited = Math.max(0, (Date.parse(attempts[0]?.startedAt ?? task.createdAt) - from) / 1000);
  /** @param {number} at in ms */
  const x = (at) => Math.min(1000, Math.max(0, ((at - from) / length) * 1000));
  const label = `Waited ${duration(waited)}, then ${attempts.map((each) => outcomeOf(each).text).join(", ")}; ${duration(length / 1000)} in all`;
  /** @param {Attempt} attempt */
  function bar(attempt) {
    const start = x(Date.parse(attempt.startedAt));
    // A narrower bar could not be seen.
    const width = Math.max(3, x(endOf(attempt.endedAt)) - start);
    return html`<rect key=${attempt.startedAt} x=${start} y="0" width=${width} height="10" class=${outcomeOf(attempt).kind} />`;
  }
  return html`
    <p class="summary">
      Waited ${duration(waited)} before it first started; ${duration(length / 1000)} ${task.finishedAt ? "in all" : "so far"}.
    </p>
    <svg class="span" viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label=${label}>
      ${attempts.filter(({ number }) => number > 0).map(bar)}
    </svg>`;
}
