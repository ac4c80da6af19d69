/** The state of a task, and its progress. */

import { html } from "../../preact.js";

/** @typedef {import("../server/wire.js").Task} Task */

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
