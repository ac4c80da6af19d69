/** What can be done with one task. */

import { confirmed } from "../parts/dialog.js";
import { h } from "../parts/html.js";
import { ask, errorOf, send } from "../server/server.js";

/** @typedef {Pick<import("../server/wire.js").Task, "id" | "state" | "actions">} Acted */
/** @typedef {import("../views/view.js").Desk} Desk */

/** @param {string} id */
const pathOf = (id) => `/v1/requests/${encodeURIComponent(id)}`;

/** @param {string} text @param {Acted} task @param {() => Promise<string | null>} what @param {Desk} desk @param {string} kind */
function button(text, { id }, what, desk, kind) {
  const onclick = () => void desk.act(what);
  return h("button", { type: "button", key: text, class: kind, "aria-label": `${text} ${id}`, onclick }, text);
}

/**
 * @param {Acted} task
 * @param {Desk} desk
 * @param {string} kind
 */
function cancelButton(task, desk, kind) {
  const what = async () => {
    const isRunning = task.state === "running";
    const isSure = await confirmed({
      title: "Cancel this task?",
      text: isRunning
        ? `${task.id} is running. Its handler is told to stop; what it has done by then is not undone unless the handler says how.`
        : `${task.id} leaves the line and will not run.`,
      submit: "Cancel the task",
      otherwise: "Leave it",
    });
    if (!isSure) return null;
    const answer = await send(pathOf(task.id), { method: "DELETE" });
    if (!answer.ok) throw await errorOf(answer);
    return answer.status === 202 ? `${task.id} is asked to stop.` : `${task.id} is canceled.`;
  };
  return button("Cancel", task, what, desk, kind);
}

/**
 * @param {Acted} task
 * @param {Desk} desk
 * @param {string} kind
 */
function retryButton(task, desk, kind) {
  const what = async () => {
    await ask(`${pathOf(task.id)}/retry`, { method: "POST" });
    return `${task.id} is back in line, with all its attempts.`;
  };
  return button("Retry", task, what, desk, kind);
}

/**
 * @param {Acted} task
 * @param {Desk} desk
 * @param {string} kind
 */
function deleteButton(task, desk, kind) {
  const what = async () => {
    const isSure = await confirmed({
      title: "Delete this task?",
      text: `The result and the input of ${task.id} are destroyed. This cannot be undone.`,
      submit: "Delete the task",
    });
    if (!isSure) return null;
    await ask(pathOf(task.id), { method: "DELETE" });
    return `${task.id} is deleted.`;
  };
  return button("Delete", task, what, desk, kind);
}

/** In the order in which they are shown. */
const BUTTONS = /** @type {const} */ ([
  ["retry", retryButton, ""],
  ["cancel", cancelButton, "danger"],
  ["delete", deleteButton, "danger"],
]);

/**
 * Buttons for what the key may do to a task, as the server says.
 * @param {Acted} task
 * @param {Desk} desk
 * @param {boolean} [isAlone] it is the task of the page, and not one of a list
 */
export const taskButtons = (task, desk, isAlone = false) =>
  BUTTONS.filter(([action]) => task.actions.includes(action)).map(([, button, kind]) =>
    button(task, desk, isAlone ? kind : "quiet"),
  );
