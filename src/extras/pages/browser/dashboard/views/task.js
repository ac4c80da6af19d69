/** A task: its state, history, input and result. */

import { FACTS, factsOf } from "../../../../../task-record.ts";
import { count, counted, duration } from "../../../../../words/numbers.ts";
import { html, useState } from "../../preact.js";
import { prefix } from "../../server.js";
import { paths } from "../address.js";
import { ask, ServerError, send } from "../api.js";
import { useDesk } from "../desk.js";
import { Folded } from "../parts/folded.js";
import { ago, eta, moment, progress, secondsSince, state, taskLink, taskName, time } from "../parts/format.js";
import { Submission } from "../queue/submission.js";
import { attempts } from "../task/attempts.js";
import { Output } from "../task/output.js";
import { taskButtons } from "../task/task-actions.js";
import { Input, Result } from "../task/value.js";
import { nothingThere, View } from "./view.js";

/** @typedef {import("../api.js").Timeline} Timeline */
/** @typedef {import("../../preact.js").Content} Content */

const ENDED = ["succeeded", "failed", "canceled"];

/** @param {{ id: string }} props */
export function TaskView({ id }) {
  /** The task, or why it is not found. @param {AbortSignal} signal @returns {Promise<Timeline | string>} */
  async function load(signal) {
    try {
      return await ask(`/v1/requests/${encodeURIComponent(id)}/timeline`, { signal });
    } catch (error) {
      if (error instanceof ServerError && (error.status === 404 || error.status === 410)) return error.message;
      throw error;
    }
  }
  return html`
    <${View} title=${id} load=${load}>
      ${(/** @type {Timeline | string} */ known) =>
        typeof known === "string" ? missingTask(id, known) : html`<${Shown} known=${known} />`}
    <//>`;
}

/** @param {{ known: Timeline }} props */
function Shown({ known }) {
  const desk = useDesk();
  const { task, result, input } = known;
  const [again, setAgain] = useState(/** @type {Parameters<typeof Submission>[0]["original"]} */ (null));
  const [queue, setQueue] = useState(/** @type {import("../api.js").Queue | null} */ (null));
  const runAgain = () =>
    desk.act(async () => {
      setQueue(await ask(`/v1/queues/${encodeURIComponent(task.queue)}`));
      setAgain({ id: task.id, json: await jsonInput(task.id), priority: known.priority });
      return null;
    });
  const copy = () =>
    desk.act(async () => {
      await navigator.clipboard.writeText(task.id);
      return "The id is copied.";
    });
  return html`
    <p class="trail"><a href=${paths.overview}>Queues</a> / <a href=${paths.queue(task.queue)}>${task.queue}</a> /</p>
    <div class="head">
      <h1 class=${task.label === null ? "id" : null}>${task.label === null ? task.id : taskName(task)}</h1>
      ${
        // Browsers have a clipboard only where the connection is secure.
        isSecureContext && html`<button type="button" class="quiet" onClick=${copy}>Copy id</button>`
      }
      <div class="buttons">
        ${
          task.actions.includes("again") &&
          html`<button type="button" aria-expanded=${again !== null} onClick=${runAgain}>Run again…</button>`
        }
        ${taskButtons(task, desk)}
      </div>
    </div>
    ${
      again &&
      queue &&
      html`<${Submission} key=${again.id} queue=${queue} original=${again} isOpen=${true} onClose=${() => setAgain(null)} />`
    }
    <div class="panel hero">${hero(known)}</div>
    <div class="task">
      <div class="column">
        ${attempts(known)}
        <${Output} id=${task.id} finishedAt=${task.finishedAt} />
        ${result && html`<${Result} title=${task.state === "failed" ? "What the caller gets" : "Result"} shown=${result} id=${task.id} />`}
        ${input ? html`<${Input} shown=${input} id=${task.id} />` : ENDED.includes(task.state) && inputGone()}
        ${steps(known)}
        ${deliveries(known)}
      </div>
      <aside class="panel" aria-label="Facts">${facts(known)}</aside>
    </div>`;
}

/** The input of a task as it was submitted; null if it is no longer kept, or not JSON. @param {string} id */
async function jsonInput(id) {
  const answer = await send(`/v1/requests/${encodeURIComponent(id)}/input`, { long: true });
  const isJson = answer.ok && answer.headers.get("Content-Type")?.startsWith("application/json");
  return isJson ? answer.text() : null;
}

/** @param {string} id @param {string} reason */
const missingTask = (id, reason) =>
  nothingThere(
    "No such task",
    html`There is nothing under the id <code>${id}</code>. ${reason.replace(/\.?$/, ".")} Enter the complete id, or filter the list of a queue by the beginning of the id.`,
  );

/** @param {Timeline["task"]} task */
function startOf(task) {
  if (!task.eta) return "Start time not known yet";
  return task.eta.basis === "starting" ? `A worker is starting, about ${eta(task.eta)}` : `Starts in ${eta(task.eta)}`;
}

/** What matters most about a task in its state. @param {Timeline} known */
function hero({ task, dueAt }) {
  const { startedAt, finishedAt, error } = task;
  const what = html`<span class="big">${state(task)}</span>`;
  if (task.state === "waiting")
    return html`
      <span class="big">${task.index === null ? "waiting" : `Place ${count(task.index + 1)}`}</span>
      <span class="hint">of ${count(task.waiting)} waiting; ${count(task.running)} running before them</span>
      <span>${startOf(task)}</span>
      ${task.held && html`<span class="warn">It waits for a task with the same line key to end.</span>`}`;
  if (task.turn)
    return [
      html`<span class="big">${task.turn.door ? "Being served" : "Holds a turn"}</span>`,
      html`<span>for ${duration(Math.round(secondsSince(task.turn.since)))}</span>`,
      task.turn.endsAt && html`<span class="hint">Ends at ${moment(task.turn.endsAt)} at the latest</span>`,
    ];
  if (task.state === "running")
    return [what, progress(task), startedAt && `for ${duration(Math.round(secondsSince(startedAt)))}`];
  if (task.state === "scheduled" || task.state === "retrying") return [what, dueAt && `Due ${moment(dueAt)}`];
  const took = startedAt && finishedAt ? (Date.parse(finishedAt) - Date.parse(startedAt)) / 1000 : null;
  return [
    what,
    took !== null && html`<span class="hint">in ${duration(took)}</span>`,
    error &&
      html`<div class="why"><${Folded} text=${error.message} kind=${task.state === "failed" ? "bad" : ""} /></div>`,
  ];
}

/** @param {Timeline} known */
function facts({ task, caller, key, priority, query }) {
  /** @param {string} name @param {Content} content */
  const fact = (name, content) =>
    content !== null && content !== undefined && html`<div key=${name}><dt>${name}</dt><dd>${content}</dd></div>`;
  const page = `${prefix}/v1/requests/${encodeURIComponent(task.id)}/status`;
  /** @param {ReturnType<typeof factsOf>[number]} known */
  const shown = ({ name, value, isTime }) =>
    isTime
      ? html`${time(value)} <span class="hint">${ago(value)}</span>`
      : name === "original" || name === "again"
        ? taskLink({ id: value }, "inline")
        : value;
  return html`
    <dl class="facts">
      ${factsOf(FACTS, { ...task, caller, key }).map((known) => fact(known.title, shown(known)))}
      ${fact("Priority", `${priority}${priority === 3 ? " (default)" : ""}`)}
      ${fact("Attempt", `${task.attempt} of ${task.maxAttempts}`)}
      ${fact("Query", query && Object.keys(query).length > 0 ? html`<code>${JSON.stringify(query)}</code>` : null)}
      ${fact("For others", html`<a href=${page} class="inline">Page of the task</a>`)}
    </dl>`;
}

const inputGone = () => html`
  <section class="panel" aria-label="Input">
    <h2>Input</h2>
    <p class="hint">It is no longer kept: the task has ended.</p>
  </section>`;

/** @param {Timeline} known */
function steps({ steps, stepsOmitted, undo }) {
  if (steps.length === 0 && !undo) return null;
  /** @param {Timeline["steps"][number]} step */
  const step = ({ number, name, state, undoable, undoneAt, value, truncated }) => html`
    <li key=${number}>
      <strong>${name}</strong> <span class=${state === "undone" ? "warn" : "hint"}>
        ${state}${undoable && state === "done" && ", can be undone"}
        ${undoneAt && html`${" at "}${time(undoneAt)}`}
      </span>
      ${value !== null && html`<pre>${JSON.stringify(value, null, 2)}${truncated && " …"}</pre>`}
    </li>`;
  return html`
    <section class="panel" aria-label="Steps">
      <h2>Steps</h2>
      <ol class="steps">${steps.map(step)}</ol>
      ${stepsOmitted > 0 && html`<p class="hint">${counted(stepsOmitted, "more step")}.</p>`}
      ${
        undo &&
        html`
          <p>
            What it did is undone by ${taskLink({ id: undo.id }, "inline")}: ${undo.state}
            ${undo.error && html`${", "}<${Folded} text=${undo.error} kind="bad" />`}
          </p>`
      }
    </section>`;
}

/** @param {Timeline} known */
function deliveries({ webhooks }) {
  if (webhooks.length === 0) return null;
  /** @param {Timeline["webhooks"][number]} delivery */
  function delivery({ id, url, state: at, attempt, maxAttempts, nextAttemptAt, attempts }) {
    const error = attempts.findLast((each) => each.error !== null)?.error;
    return html`
      <li key=${id}>
        <a href=${paths.task(id)}>${url}</a> ${state({ state: at, cancelRequested: false })}
        <span class="hint"> attempt ${attempt} of ${maxAttempts}</span>
        ${nextAttemptAt && html`<span class="hint">, next at ${moment(nextAttemptAt)}</span>`}
        ${error && html`<p><${Folded} text=${error} kind="bad" /></p>`}
      </li>`;
  }
  return html`
    <section class="panel" aria-label="Webhooks">
      <h2>Webhooks</h2>
      <ul class="steps">${webhooks.map(delivery)}</ul>
    </section>`;
}
