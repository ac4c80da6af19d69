/** What can be done with a queue, and what is to be known of it at a glance. */

import { moment } from "../parts/format.js";
import { h } from "../parts/html.js";
import { ask } from "../server/server.js";

/** @typedef {import("../server/wire.js").Queue} Queue */

/**
 * @param {Queue} queue
 * @param {import("../views/view.js").Desk} desk
 * @param {string | null} [kind]
 */
export function pauseButton({ name, paused, actions }, desk, kind = null) {
  const action = paused ? "resume" : "pause";
  if (!actions.includes(action)) return null;
  const verb = paused ? "Resume" : "Pause";
  const onclick = () =>
    void desk.act(async () => {
      await ask(`/v1/queues/${encodeURIComponent(name)}/${action}`, { method: "POST" });
      return paused ? `${name} is running again.` : `${name} is paused: nothing new starts.`;
    });
  return h("button", { type: "button", key: "pause", class: kind, onclick, "aria-label": `${verb} ${name}` }, verb);
}

/** @param {Queue} queue */
export function badges(queue) {
  const { resting } = queue;
  const reason = resting && `${resting.reason}; next probe ${moment(resting.nextProbe)}`;
  return [
    queue.orphaned && h("span", { class: "badge warn", key: "orphaned" }, "no handler"),
    queue.paused && h("span", { class: "badge warn", key: "paused" }, "paused"),
    resting && h("span", { class: "badge warn", key: "resting", title: reason }, "resting"),
    queue.order === "fair" && h("span", { class: "badge", key: "fair", title: "Callers take turns" }, "fair"),
    queue.held !== null &&
      h("span", { class: "badge", key: "keyed", title: "One after another for each key" }, "keyed"),
  ];
}
