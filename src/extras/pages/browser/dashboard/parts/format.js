/** How the dashboard writes times, estimates, and the state of a task. */

import { about, moment as momentAt, range } from "../../../../../words/numbers.ts";
import { html } from "../../preact.js";
import { now } from "../../server.js";
import { paths } from "../address.js";

/** @typedef {import("../api.js").Eta} Eta */
/** @typedef {import("../api.js").Task} Task */

/**
 * When something is estimated to begin: "at once" if nothing is before it, "3 s", with the range if it is wide.
 * @param {Eta | null | undefined} eta
 */
export const eta = (eta) => `${etaStart(eta)}${etaRange(eta)}`;

/**
 * The estimate without its range.
 * @param {Eta | null | undefined} eta
 */
export function etaStart(eta) {
  if (!eta) return "–";
  // A free slot takes it; a line that moves fast is still a line.
  return eta.seconds === 0 ? "at once" : about(eta.seconds);
}

/**
 * " (2 to 5 s)"; empty if the range is narrow.
 * @param {Eta | null | undefined} eta
 */
export function etaRange(eta) {
  const told = eta && eta.seconds >= 0.5 ? range(eta) : "";
  return told && ` (${told})`;
}

/** @param {string} iso */
export const secondsSince = (iso) => Math.max(0, (now().getTime() - Date.parse(iso)) / 1000);

/** @param {string} iso */
export const moment = (iso) => momentAt(iso, now());

/** A moment, with its date and time zone for who points at it. @param {string} iso */
export const time = (iso) => html`<time datetime=${iso} title=${new Date(iso).toString()}>${moment(iso)}</time>`;

/** The same as people say it: "3 min ago", "in 2 h". @param {string} iso */
export function ago(iso) {
  const seconds = (Date.parse(iso) - now().getTime()) / 1000;
  const told = seconds > 0 ? `in ${about(seconds)}` : `${about(-seconds)} ago`;
  return html`<time datetime=${iso} title=${new Date(iso).toString()}>${told}</time>`;
}

/** An id that nobody has chosen: its beginning is shown, which tells tasks apart; whoever copies or hears it gets all of it. */
const RANDOM = /^[0-9a-f-]{20,}$/;

/** What a task is called: its label, if it has one, and its id. @param {{ id: string, label?: string | null }} task */
export const taskName = ({ id, label = null }) => html`
  ${label !== null && html`<span>${label}</span>${" "}`}<span class="id ${RANDOM.test(id) ? "random" : ""}" title=${id}>${id}</span>`;

/** @param {{ id: string, label?: string | null }} task @param {string} [kind] its classes */
export const taskLink = (task, kind = "") =>
  html`<a key=${task.id} class="task-name ${kind}" href=${paths.task(task.id)}>${taskName(task)}</a>`;

/** The time zone of all times that are shown. */
export const zone = () => `times in ${Intl.DateTimeFormat().resolvedOptions().timeZone}`;

/** The time of what is shown. @param {Date} at */
export const asOf = (at) => html`as of ${time(at.toISOString())}`;

/** Colour is for what ended well or badly; other states are plain. */
const KINDS = /** @type {Record<string, string>} */ ({
  succeeded: "good",
  failed: "bad",
  canceled: "warn",
  retrying: "warn",
});

/** @param {Pick<Task, "state" | "cancelRequested">} task */
export function state({ state, cancelRequested }) {
  const isStopping = cancelRequested && state === "running";
  const kind = isStopping ? "warn" : (KINDS[state] ?? "");
  return html`<span class="state ${kind}">${isStopping ? "stopping" : state}</span>`;
}

/** @param {Task} task */
export function progress({ id, progress, cancelRequested }) {
  if (cancelRequested) return html`<span class="state warn">stopping</span>`;
  if (!progress) return "–";
  const { percent, message, estimated } = progress;
  const source = estimated ? "Estimated from earlier tasks" : null;
  return html`
    <span class="progress">
      <progress max="100" value=${percent} aria-label="Progress of ${id}" />
      <span class="number" title=${source}>${estimated ? "≈ " : ""}${percent} %</span>
      ${message !== null && html`<span class="hint">${message}</span>`}
    </span>`;
}
