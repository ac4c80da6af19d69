/** The actions on one task. */

import { html } from "../../preact.js";
import { ask, errorOf, send } from "../server/server.js";

/** @typedef {Pick<import("../server/wire.js").Task, "id" | "state" | "actions">} Acted */
/** @typedef {import("../desk.js").Desk} Desk */

/** @param {string} id */
const pathOf = (id) => `/v1/requests/${encodeURIComponent(id)}`;

/** @type {Readonly<Record<string, { verb: string, kind: string, act: (task: Acted, desk: Desk) => Promise<string | null> }>>} in the order in which they are shown */
const BUTTONS = {
  retry: { verb: "Retry", kind: "", act: retry },
  place: { verb: "Move to front", kind: "", act: moveToFront },
  cancel: { verb: "Cancel", kind: "danger", act: cancel },
  delete: { verb: "Delete", kind: "danger", act: deleteTask },
};

/** @param {Acted} task */
async function retry({ id }) {
  await ask(`${pathOf(id)}/retry`, { method: "POST" });
  return `${id} is back in line, with all its attempts.`;
}

/** @param {Acted} task */
async function moveToFront({ id }) {
  await ask(pathOf(id), { method: "PATCH", json: { place: "first" } });
  return `${id} is the first in line.`;
}

/** @param {Acted} task @param {Desk} desk */
async function cancel({ id, state }, desk) {
  const consequence =
    state === "running"
      ? `${id} is running. Its handler is asked to stop; what it has already done is not undone unless the handler defines an undo.`
      : `${id} leaves the line and will not run.`;
  const isSure = await desk.ask({
    title: "Cancel this task?",
    body: html`<p>${consequence}</p>`,
    submit: "Cancel the task",
    otherwise: "Leave it",
    isGrave: true,
  });
  if (!isSure) return null;
  const answer = await send(pathOf(id), { method: "DELETE" });
  if (!answer.ok) throw await errorOf(answer);
  return answer.status === 202 ? `${id} was asked to stop.` : `${id} is canceled.`;
}

/** @param {Acted} task @param {Desk} desk */
async function deleteTask({ id }, desk) {
  const isSure = await desk.ask({
    title: "Delete this task?",
    body: html`<p>The result and the input of ${id} are deleted. This cannot be undone.</p>`,
    submit: "Delete the task",
    isGrave: true,
  });
  if (!isSure) return null;
  await ask(pathOf(id), { method: "DELETE" });
  return `${id} is deleted.`;
}

/**
 * Buttons for what the key may do to a task, according to the server.
 * @param {Acted} task
 * @param {Desk} desk
 * @param {boolean} [isAlone] whether it is the task of the page, not one of a list
 */
export const taskButtons = (task, desk, isAlone = false) =>
  Object.entries(BUTTONS)
    .filter(([action]) => task.actions.some((allowed) => allowed === action))
    .map(
      ([action, { verb, kind, act }]) => html`
        <button type="button" key=${action} class=${isAlone ? kind : "quiet"} aria-label="${verb} ${task.id}"
          onClick=${() => desk.act(() => act(task, desk))}>${verb}</button>`,
    );
