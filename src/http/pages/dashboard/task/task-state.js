/** The state of a task, and how far it is. */

import { h } from "../parts/html.js";

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
  return h("span", { class: `state ${isStopping ? "warn" : (KINDS[state] ?? "")}` }, isStopping ? "stopping" : state);
}

/** @param {Task} task */
export function progress({ id, progress, cancelRequested }) {
  if (cancelRequested) return h("span", { class: "state warn" }, "stopping");
  if (!progress) return "–";
  const { percent, message, estimated } = progress;
  return h(
    "span",
    { class: "progress" },
    h("progress", { max: "100", value: percent, "aria-label": `Progress of ${id}` }),
    h(
      "span",
      { class: "number", title: estimated ? "Estimated from earlier tasks" : null },
      `${estimated ? "≈ " : ""}${percent} %`,
    ),
    message !== null && h("span", { class: "hint" }, message),
  );
}
