/** A task: where it stands, what happened to it, what went in and came out. */

import { paths } from "../address.js";
import { say } from "../page.js";
import { count, counted, duration, eta, moment, secondsSince } from "../parts/format.js";
import { h } from "../parts/html.js";
import { ask, ServerError } from "../server/server.js";
import { attempts } from "../task/attempts.js";
import { output } from "../task/output.js";
import { taskButtons } from "../task/task-actions.js";
import { progress, state } from "../task/task-state.js";
import { inputLink, value } from "../task/value.js";
import { nothingThere } from "./missing.js";

/** @typedef {import("../server/wire.js").Timeline} Timeline */

const ENDED = ["succeeded", "failed", "canceled"];

/**
 * @param {import("./view.js").Desk} desk
 * @param {string} id
 * @returns {import("./view.js").View}
 */
export function task(desk, id) {
  /** @type {Timeline | null} */
  let known = null;
  /** Why there is no such task. */
  let gone = "";
  const written = output(desk, id);

  return {
    title: id,
    async load(signal) {
      try {
        /** @type {Timeline} */
        const answer = await ask(`/v1/requests/${encodeURIComponent(id)}/timeline`, { signal });
        known = answer;
        gone = "";
        written.follow(answer.task.finishedAt);
      } catch (error) {
        if (!(error instanceof ServerError) || (error.status !== 404 && error.status !== 410)) throw error;
        known = null;
        gone = error.message;
      }
    },
    leave: () => written.stop(),
    show() {
      if (!known) return missingTask(id, gone);
      const { task } = known;
      return [
        h(
          "p",
          { class: "trail" },
          h("a", { href: paths.overview }, "Queues"),
          " / ",
          h("a", { href: paths.queue(task.queue) }, task.queue),
          " /",
        ),
        h(
          "div",
          { class: "head" },
          h("h1", { class: "id" }, id),
          copyButton(id),
          h("div", { class: "buttons" }, taskButtons(task, desk, true)),
        ),
        h("div", { class: "panel hero" }, hero(known)),
        h(
          "div",
          { class: "task" },
          h(
            "div",
            { class: "column" },
            attempts(known),
            written.show(ENDED.includes(task.state)),
            value(task.state === "failed" ? "What the caller gets" : "Result", known.result, desk, id),
            value("Input", known.input, undefined, id, inputLink(known.input, id, desk)) ?? inputGone(known),
            steps(known),
            deliveries(known),
          ),
          h("aside", { class: "panel", "aria-label": "Facts" }, facts(known)),
        ),
      ];
    },
  };
}

/** @param {string} id @param {string} reason */
const missingTask = (id, reason) =>
  nothingThere("No such task", [
    "There is nothing under the id ",
    h("code", null, id),
    `. ${reason} An id has to be complete; the list of a queue can be filtered by how ids begin.`,
  ]);

/** @param {string} id */
function copyButton(id) {
  const copy = async () => {
    await navigator.clipboard.writeText(id);
    say("The id is copied.");
  };
  // Browsers have a clipboard only where the connection is secure.
  return (
    isSecureContext &&
    h("button", { type: "button", class: "quiet", key: "copy", onclick: () => void copy() }, "Copy id")
  );
}

/** What matters most of a task in its state. @param {Timeline} known */
function hero({ task, dueAt }) {
  const what = h("span", { key: "state", class: "big" }, state(task));
  if (task.state === "waiting") {
    return [
      h("span", { key: "place", class: "big" }, task.index === null ? "waiting" : `Place ${count(task.index + 1)}`),
      h(
        "span",
        { key: "of", class: "hint" },
        `of ${count(task.waiting)} waiting; ${count(task.running)} running before them`,
      ),
      h("span", { key: "eta" }, task.eta ? `Starts in ${eta(task.eta)}` : "It is not known when it starts."),
      task.held && h("span", { key: "held", class: "warn" }, "It waits for a task of the same key to end."),
    ];
  }
  if (task.state === "running")
    return [what, progress(task), task.startedAt && `for ${duration(Math.round(secondsSince(task.startedAt)))}`];
  if (task.state === "scheduled" || task.state === "retrying") return [what, dueAt && `Due ${moment(dueAt)}`];
  const took =
    task.startedAt && task.finishedAt ? (Date.parse(task.finishedAt) - Date.parse(task.startedAt)) / 1000 : null;
  return [
    what,
    took !== null && h("span", { key: "took", class: "hint" }, `in ${duration(took)}`),
    task.error && h("span", { key: "error", class: task.state === "failed" ? "bad" : "" }, task.error.message),
  ];
}

/** @param {Timeline} known */
function facts({ task, caller, key, priority, query }) {
  /** @param {string} name @param {import("../parts/html.js").Content} content */
  const fact = (name, content) =>
    content !== null && content !== undefined && h("div", { key: name }, h("dt", null, name), h("dd", null, content));
  /** @param {string | null} iso */
  const time = (iso) => iso && h("time", { datetime: iso, title: new Date(iso).toString() }, moment(iso));
  return h(
    "dl",
    { class: "facts" },
    fact("Submitted", time(task.createdAt)),
    fact("Started", time(task.startedAt)),
    fact("Ended", time(task.finishedAt)),
    fact("Caller", caller),
    fact("Key", key),
    fact("Priority", `${priority}${priority === 3 ? " (default)" : ""}`),
    fact("Attempt", `${task.attempt} of ${task.maxAttempts}`),
    fact("Deadline", time(task.deadlineAt)),
    fact("Result kept until", ENDED.includes(task.state) ? time(task.expiresAt) : null),
    fact("Query", query && Object.keys(query).length > 0 ? h("code", null, JSON.stringify(query)) : null),
    fact(
      "For others",
      h("a", { href: `/v1/requests/${encodeURIComponent(task.id)}/status`, class: "inline" }, "Page of the task"),
    ),
  );
}

/** @param {Timeline} known */
const inputGone = ({ task }) =>
  ENDED.includes(task.state) &&
  h(
    "section",
    { key: "Input", class: "panel", "aria-label": "Input" },
    h("h2", null, "Input"),
    h("p", { class: "hint" }, "It is kept no longer: the task has ended."),
  );

/** @param {Timeline} known */
function steps({ steps, stepsOmitted, undo }) {
  if (steps.length === 0 && !undo) return null;
  return h(
    "section",
    { key: "steps", class: "panel", "aria-label": "Steps" },
    h("h2", null, "Steps"),
    h(
      "ol",
      { class: "steps" },
      steps.map((step) =>
        h(
          "li",
          { key: String(step.number) },
          h("strong", null, step.name),
          " ",
          h(
            "span",
            { class: step.state === "undone" ? "warn" : "hint" },
            step.state,
            step.undoable && step.state === "done" && ", can be undone",
            step.undoneAt && [" at ", h("time", { datetime: step.undoneAt }, moment(step.undoneAt))],
          ),
          step.value !== null && h("pre", null, JSON.stringify(step.value, null, 2), step.truncated && " …"),
        ),
      ),
    ),
    stepsOmitted > 0 && h("p", { class: "hint" }, `${counted(stepsOmitted, "more step")}.`),
    undo &&
      h(
        "p",
        null,
        "What it has done is undone by ",
        h("a", { href: paths.task(undo.id), class: "id inline" }, undo.id),
        `: ${undo.state}`,
        undo.error && h("span", { class: "bad" }, `, ${undo.error}`),
      ),
  );
}

/** @param {Timeline} known */
function deliveries({ webhooks }) {
  if (webhooks.length === 0) return null;
  return h(
    "section",
    { key: "webhooks", class: "panel", "aria-label": "Webhooks" },
    h("h2", null, "Webhooks"),
    h(
      "ul",
      { class: "steps" },
      webhooks.map((delivery) => {
        const error = delivery.attempts.findLast((attempt) => attempt.error !== null)?.error;
        return h(
          "li",
          { key: delivery.id },
          h("a", { href: paths.task(delivery.id) }, delivery.url),
          " ",
          state({ state: delivery.state, cancelRequested: false }),
          h("span", { class: "hint" }, ` attempt ${delivery.attempt} of ${delivery.maxAttempts}`),
          delivery.nextAttemptAt && h("span", { class: "hint" }, `, next at ${moment(delivery.nextAttemptAt)}`),
          error && h("p", { class: "bad" }, error),
        );
      }),
    ),
  );
}
