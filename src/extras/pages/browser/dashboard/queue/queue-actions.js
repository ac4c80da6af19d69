/** The actions on a queue, and its badges. */

import { html } from "../../preact.js";
import { moment } from "../parts/format.js";
import { ask } from "../server/server.js";

/** @typedef {import("../server/wire.js").Queue} Queue */

/**
 * @param {Queue} queue
 * @param {import("../desk.js").Desk} desk
 * @param {string | null} [kind]
 */
export function pauseButton({ name, paused, actions }, desk, kind = null) {
  const action = paused ? "resume" : "pause";
  if (!actions.includes(action)) return null;
  const verb = paused ? "Resume" : "Pause";
  const act = () =>
    desk.act(async () => {
      await ask(`/v1/queues/${encodeURIComponent(name)}/${action}`, { method: "POST" });
      return paused ? `${name} is running again.` : `${name} is paused: no task starts.`;
    });
  return html`<button type="button" class=${kind} onClick=${act} aria-label="${verb} ${name}">${verb}</button>`;
}

/** @param {Queue} queue */
export function badges({ orphaned, paused, resting, order, held, limit }) {
  const reason = resting && `${resting.reason}; next probe ${moment(resting.nextProbe)}`;
  return [
    orphaned && html`<span class="badge warn">no handler</span>`,
    paused && html`<span class="badge warn">paused</span>`,
    resting && html`<span class="badge warn" title=${reason}>circuit breaker open</span>`,
    order === "fair" && html`<span class="badge" title="Callers take turns">fair</span>`,
    held !== null &&
      limit === null &&
      html`<span class="badge" title="One after another for each line key">keyed</span>`,
  ];
}
