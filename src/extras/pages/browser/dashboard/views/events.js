/** What happened to the deployment, newest first. */

import { counted } from "../../../../../words/numbers.ts";
import { html } from "../../preact.js";
import { paths } from "../address.js";
import { ask } from "../api.js";
import { ago, taskLink, zone } from "../parts/format.js";
import { row, table } from "../parts/table.js";
import { View } from "./view.js";

/** @typedef {import("../api.js").DeploymentEvent} DeploymentEvent */

const COLUMNS = [{ name: "At" }, { name: "What" }, { name: "Where" }, { name: "Details", wide: true }];

/** Kinds that an operator should look at, and those that end them. @type {Readonly<Record<string, string>>} */
const CLASSES = {
  "worker-lost": "bad",
  "queue-full": "bad",
  "target-down": "bad",
  "store-full": "bad",
  "store-away": "bad",
  "incident-began": "bad",
  "schedule-missed": "bad",
  "queue-paused": "warn",
  "server-stopping": "warn",
};

export const Events = () => html`
  <${View} title="Events" load=${(/** @type {AbortSignal} */ signal) => ask("/v1/events?limit=200", { signal })}>${shown}<//>`;

/** @param {{ items: DeploymentEvent[], next: string | null }} page */
function shown({ items, next }) {
  return html`
    <div class="head"><h1>Events</h1><p class="summary">What happened to servers, workers, queues and the store · ${zone()}</p></div>
    ${
      items.length === 0
        ? html`<div class="empty"><p>Nothing has happened yet. Starts and losses of workers, pauses, full queues and an absent store will be here.</p></div>`
        : table(
            "Events, newest first",
            COLUMNS,
            items.map((event, n) => row(`${event.at} ${items.length - n}`, COLUMNS, cells(event))),
          )
    }
    ${next !== null && html`<p class="hint">Older events: <code>GET /v1/events</code></p>`}`;
}

/** @param {DeploymentEvent} event */
const cells = ({ at, kind, queue, worker, tasks = [], count = 0, by, detail }) => [
  ago(at),
  html`<span class=${CLASSES[kind] ?? null}>${kind.replaceAll("-", " ")}</span>`,
  queue
    ? html`<a href=${paths.queue(queue)}>${queue}</a>`
    : worker
      ? html`<span class="id whole">${worker}</span>`
      : "–",
  // An empty cell is left out on a narrow screen.
  (by || detail || tasks.length > 0) &&
    html`
    <span>
      ${[by && `by ${by}`, detail].filter(Boolean).join(" · ")}
      ${tasks.length > 0 && html`had ${counted(count, "task")}: `}
      <span class="chips">
        ${tasks.map((id) => taskLink({ id }))}
        ${count > tasks.length && html`<span class="hint">and ${count - tasks.length} more</span>`}
      </span>
    </span>`,
];
