/** Doing something with all tasks of a list that match its filters, in bounded steps, with progress. */

import { confirmed } from "../parts/dialog.js";
import { count, counted } from "../parts/format.js";
import { h } from "../parts/html.js";
import { ask } from "../server/server.js";
import { isFiltered, queryOf } from "./filters.js";

/** @typedef {import("./task-list.js").List} List */
/** @typedef {import("../../../../engine/maintenance/bulk.ts").BulkAction} Action */

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
  cancel: "They will not run; those that are running are told to stop.",
  retry: "They go to the end of the line, with all their attempts.",
  delete: "Their inputs and results are destroyed. This cannot be undone.",
};

/** Matching tasks are counted before asking, but not for longer than a person waits. */
const COUNT_MS = 4000;

/**
 * @param {import("../views/view.js").Desk} desk
 * @param {string} queue
 */
export function bulk(desk, queue) {
  /** @type {{ text: string, done: number, all: number | null, isStopped: boolean } | null} */
  let work = null;

  /**
   * One bounded step after the other.
   * @param {Record<string, unknown>} body
   * @param {(step: import("../server/wire.js").BulkStep) => boolean} onStep whether to go on
   * @returns {Promise<boolean>} whether it came to the end
   */
  async function steps(body, onStep) {
    /** @type {string | null} */
    let cursor = null;
    do {
      /** @type {import("../server/wire.js").BulkStep} */
      const step = await ask(`/v1/queues/${encodeURIComponent(queue)}/bulk`, {
        method: "POST",
        json: { ...body, ...(cursor === null ? {} : { cursor }) },
      });
      cursor = step.next;
      if (!onStep(step) && cursor !== null) return false;
    } while (cursor !== null);
    return true;
  }

  /** @param {string} text @param {number | null} all */
  function begin(text, all) {
    work = { text, done: 0, all, isStopped: false };
    desk.redraw();
    return work;
  }

  /** Ends after the step that is under way, whose count is then known. */
  function stop() {
    if (work) work.isStopped = true;
  }

  function end() {
    work = null;
    desk.redraw();
  }

  /**
   * @param {Action} action
   * @param {List} list
   * @param {import("../server/wire.js").Queue} known
   * @returns {Promise<string | null>}
   */
  async function run(action, list, known) {
    const { olderThan, ...filters } = Object.fromEntries(queryOf(list));
    const body = { action, list, ...filters, ...(olderThan === undefined ? {} : { olderThan: Number(olderThan) }) };
    const words = WORDS[action];
    const counting = begin("Counting", null);
    let matched = 0;
    const until = performance.now() + COUNT_MS;
    const isAll = await steps({ ...body, dryRun: true }, (step) => {
      matched += step.matched;
      counting.done = matched;
      desk.redraw();
      return performance.now() < until && !counting.isStopped;
    }).finally(end);
    if (counting.isStopped) return null;
    if (matched === 0 && isAll) return "Nothing matches any more.";
    // Without filters it is known how many there are, also where counting them would take long.
    const all = isFiltered(list) || list === "finished" ? matched : Math.max(matched, known[list]);
    const number = `${isAll || all > matched ? "" : "more than "}${count(isAll ? matched : all)} ${list === "waiting" || list === "running" ? `${list} ` : ""}`;
    const what = `${number}${matched === 1 ? "task" : "tasks"}`;
    const isSure = await confirmed({
      title: `${words.verb} ${what}?`,
      text: `All ${list} tasks of ${known.name}${matching(list)}. ${CONSEQUENCES[action]}`,
      submit: `${words.verb} ${what}`,
      otherwise: "Leave them",
    });
    if (!isSure) return null;
    const working = begin(words.doing, isAll ? matched : null);
    let done = 0;
    const isFinished = await steps(body, (step) => {
      done += step.done;
      working.done += step.matched;
      desk.redraw();
      return !working.isStopped;
    }).finally(end);
    return `${isFinished ? "" : "Stopped: "}${counted(done, "task")} ${words.done}.`;
  }

  return {
    /**
     * @param {List} list
     * @param {import("../server/wire.js").Queue} known
     */
    buttons: (list, known) =>
      (list === "finished" || known[list] > 0) &&
      h(
        "div",
        { class: "buttons", key: "bulk" },
        ACTIONS[list]
          .filter((action) => known.actions.includes(action))
          .map((action) =>
            h(
              "button",
              {
                type: "button",
                key: action,
                disabled: work !== null,
                class: action === "retry" ? null : "danger",
                onclick: () => void desk.act(() => run(action, list, known)),
              },
              `${WORDS[action].verb} all${isFiltered(list) ? " that match" : ""} …`,
            ),
          ),
      ),

    progress: () =>
      work &&
      h(
        "div",
        { class: "notice work", key: "work" },
        h("progress", {
          max: work.all ?? 1,
          ...(work.all === null ? {} : { value: work.done }),
          "aria-label": work.text,
        }),
        h(
          "span",
          { class: "number" },
          `${work.text} … ${count(work.done)}${work.all === null ? "" : ` of ${count(work.all)}`}`,
        ),
        h("button", { type: "button", class: "quiet", onclick: stop }, "Stop"),
      ),

    stop,
  };
}

const LABELS = /** @type {Record<string, string>} */ ({
  state: "state",
  caller: "caller",
  idPrefix: "id begins with",
  key: "key",
  olderThan: "seconds since submission, at least",
});

/** What the filters say, in words. @param {List} list */
function matching(list) {
  const told = [...queryOf(list)].map(([name, value]) => `${LABELS[name] ?? name}: ${value}`);
  return told.length === 0 ? "" : ` that match the filters (${told.join(", ")})`;
}
