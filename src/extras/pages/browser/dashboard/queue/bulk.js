/** Actions on all tasks of a list that match its filters, in bounded steps, with progress. */

import { count, counted } from "../../../../../words/numbers.ts";
import { html, useEffect, useRef, useState } from "../../preact.js";
import { ask } from "../api.js";
import { useDesk } from "../desk.js";
import { useFocusKept } from "../views/view.js";
import { isFiltered, queryOf } from "./filters.js";

/** @typedef {import("./task-list.js").List} List */
/** @typedef {import("../api.js").BulkStep} Step */
/** @typedef {import("../../../../../engine/upkeep/bulk.ts").BulkAction} Action */

/** @type {Readonly<Record<List, readonly Action[]>>} */
const ACTIONS = {
  waiting: ["cancel"],
  running: ["cancel"],
  scheduled: ["cancel"],
  dead: ["retry", "delete"],
  finished: ["delete"],
};

const WORDS = {
  cancel: { verb: "Cancel", doing: "Canceling", done: "canceled" },
  retry: { verb: "Retry", doing: "Retrying", done: "retried" },
  delete: { verb: "Delete", doing: "Deleting", done: "deleted" },
};

const CONSEQUENCES = {
  cancel: "They will not run; those already running are asked to stop.",
  retry: "They go to the end of the line and get all their attempts again.",
  delete: "Their inputs and results are deleted. This cannot be undone.",
};

/** @param {Action} action @param {import("../api.js").Queue} queue */
const consequenceOf = (action, { turns }) =>
  turns && action === "cancel" ? "They lose their places and their turns at once." : CONSEQUENCES[action];

/** How long matching tasks are counted before the dialog is shown, ms: no longer than a person waits. */
const COUNT_MS = 4000;

/**
 * Yields one bounded step after the other.
 * @param {string} queue
 * @param {Record<string, unknown>} body
 * @returns {AsyncGenerator<Step>}
 */
async function* steps(queue, body) {
  const path = `/v1/queues/${encodeURIComponent(queue)}/bulk`;
  /** @type {Step} */
  let step = await ask(path, { method: "POST", json: body });
  yield step;
  while (step.next !== null) {
    step = await ask(path, { method: "POST", json: { ...body, cursor: step.next } });
    yield step;
  }
}

/**
 * @param {List} list
 * @param {import("../api.js").Queue} queue
 */
export function useBulk(list, queue) {
  const desk = useDesk();
  const [work, setWork] = useState(/** @type {{ text: string, done: number, all: number | null } | null} */ (null));
  const isStopped = useRef(false);
  /** Ends after the current step, whose count is then known. */
  function stop() {
    isStopped.current = true;
  }
  useEffect(() => stop, []);
  useFocusKept(document.getElementById("view"));

  /**
   * Takes steps until all are done or it is stopped, and shows the progress.
   * @param {string} text
   * @param {number | null} all
   * @param {Record<string, unknown>} body
   * @param {number} [until] when it stops by itself
   */
  async function go(text, all, body, until = Number.POSITIVE_INFINITY) {
    const sum = { matched: 0, done: 0, isAll: false };
    isStopped.current = false;
    setWork({ text, done: 0, all });
    try {
      for await (const step of steps(queue.name, body)) {
        sum.matched += step.matched;
        sum.done += step.done;
        sum.isAll = step.next === null;
        setWork({ text, done: sum.matched, all });
        if (isStopped.current || performance.now() >= until) break;
      }
      return sum;
    } finally {
      setWork(null);
    }
  }

  /** @param {Action} action @param {URLSearchParams} query the filters */
  async function run(action, query) {
    const { olderThan, ...filters } = Object.fromEntries(query);
    const body = { action, list, ...filters, ...(olderThan === undefined ? {} : { olderThan: Number(olderThan) }) };
    const words = WORDS[action];
    const { matched, isAll } = await go("Counting", null, { ...body, dryRun: true }, performance.now() + COUNT_MS);
    if (isStopped.current) return null;
    if (matched === 0 && isAll) return "Nothing matches any more.";
    // Without filters the number is known, even if counting would take long.
    const all = query.size > 0 || list === "finished" ? matched : Math.max(matched, queue[list]);
    const number = `${isAll || all > matched ? "" : "more than "}${count(isAll ? matched : all)}`;
    const state = list === "waiting" || list === "running" ? ` ${list}` : "";
    const what = `${number}${state} ${matched === 1 ? "task" : "tasks"}`;
    const isSure = await desk.ask({
      title: `${words.verb} ${what}?`,
      body: html`<p>All ${list} tasks of ${queue.name}${matching(query)}. ${consequenceOf(action, queue)}</p>`,
      submit: `${words.verb} ${what}`,
      otherwise: "Do nothing",
      isGrave: true,
    });
    if (!isSure) return null;
    const { done, isAll: isFinished } = await go(words.doing, isAll ? matched : null, body);
    return `${isFinished ? "" : "Stopped: "}${counted(done, "task")} ${words.done}.`;
  }

  // Not `disabled`, which would take the focus from the button.
  /** @param {Action} action */
  const button = (action) => html`
    <button type="button" key=${action} aria-disabled=${work !== null} class=${action === "retry" ? null : "danger"}
      onClick=${() => work !== null || desk.act(() => run(action, queryOf(list)))}>
      ${WORDS[action].verb} all${isFiltered(list) ? " that match" : ""} …
    </button>`;
  /** On the tasks that died of one error. @param {Action} action @param {string} error @param {number} number */
  const buttonOf = (action, error, number) => html`
    <button type="button" key=${action} aria-disabled=${work !== null} class="quiet ${action === "retry" ? "" : "danger"}"
      aria-label="${WORDS[action].verb} ${number === 1 ? "this one" : `these ${count(number)}`}: ${error}"
      onClick=${() => work !== null || desk.act(() => run(action, new URLSearchParams({ error })))}>
      ${WORDS[action].verb} ${number === 1 ? "this one" : `these ${count(number)}`} …
    </button>`;
  const allowed = ACTIONS[list].filter((action) => queue.actions.includes(action));
  return {
    buttons: (list === "finished" || queue[list] > 0) && html`<div class="buttons">${allowed.map(button)}</div>`,
    /** @param {import("../api.js").DeadError} group */
    buttonsOf: ({ error, count, retryable }) =>
      allowed.map((action) => {
        const number = action === "retry" ? retryable : count;
        return number > 0 && buttonOf(action, error, number);
      }),
    progress: work && html`<${Progress} ...${work} onStop=${stop} />`,
  };
}

/** @param {{ text: string, done: number, all: number | null, onStop: () => void }} props */
function Progress({ text, done, all, onStop }) {
  return html`
    <div class="notice work">
      ${all === null ? html`<progress key="some" aria-label=${text} />` : html`<progress key="all" max=${all} value=${done} aria-label=${text} />`}
      <span class="number">${text} … ${count(done)}${all === null ? "" : ` of ${count(all)}`}</span>
      <button type="button" class="quiet" onClick=${onStop}>Stop</button>
    </div>`;
}

const LABELS = /** @type {Record<string, string>} */ ({
  state: "state",
  text: "id, label or key contains",
  caller: "caller",
  idPrefix: "id begins with",
  key: "key",
  error: "error",
  olderThan: "seconds since submission, at least",
});

/** The filters in words. @param {URLSearchParams} query */
function matching(query) {
  const told = [...query].map(([name, value]) => `${LABELS[name] ?? name}: ${value}`);
  return told.length === 0 ? "" : ` that match the filters (${told.join(", ")})`;
}
