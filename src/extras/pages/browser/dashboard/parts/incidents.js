/** What is wrong, a sentence each, linked to the tasks that it is about. */

import { html } from "../../preact.js";
import { paths } from "../address.js";
import { moment } from "./format.js";

/** @typedef {import("../api.js").Incident} Incident */

/** So many are shown at first: with more of them, one cause is behind many. */
const SHOWN = 5;

/** @param {readonly Incident[]} incidents */
export function incidentList(incidents) {
  if (incidents.length === 0) return null;
  const more = incidents.slice(SHOWN);
  return html`
    <ul class="incidents" aria-label="What is wrong">${incidents.slice(0, SHOWN).map(line)}</ul>
    ${more.length > 0 && html`<details class="folded"><summary>${more.length} more</summary><ul class="incidents">${more.map(line)}</ul></details>`}`;
}

/** @param {Incident} incident */
const line = (incident) => html`
  <li key=${`${incident.kind} ${incident.queue}`} class="health ${incident.level === "red" ? "bad" : "warn"}">
    <a href=${pathOf(incident)}>${incident.text}.</a>
    <small>${incident.advice} · since ${moment(incident.since)}; runbook: ${incident.runbook}.</small>
  </li>`;

/** @param {Incident} incident */
function pathOf({ kind, queue, list }) {
  if (queue === null) return kind === "workers-lost" ? paths.workers : paths.events;
  if (kind === "schedule-missed") return paths.schedules;
  return paths.queue(
    queue,
    list ?? undefined,
    kind === "failing" ? new URLSearchParams({ state: "failed" }) : undefined,
  );
}
