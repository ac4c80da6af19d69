/** The selected rows of a list of tasks, and the actions on them. */

import { count, counted } from "../../../../../words/numbers.ts";
import { html, useRef, useState } from "../../preact.js";
import { messageOf } from "../api.js";
import { useDesk } from "../desk.js";
import { actionsOn, isWanted } from "../task/task-actions.js";

/** @typedef {import("../api.js").ListedTask} ListedTask */

/**
 * @param {readonly ListedTask[]} tasks of the page
 * @param {string} page which page it is: another one begins without any selected
 */
export function useSelection(tasks, page) {
  const desk = useDesk();
  const [{ of, ids }, set] = useState({ of: page, ids: /** @type {ReadonlySet<string>} */ (new Set()) });
  const [isActing, setActing] = useState(false);
  const [results, setResults] = useState({
    done: "",
    all: /** @type {readonly { text: string, isBad: boolean }[]} */ ([]),
  });
  const bar = useRef(/** @type {HTMLElement | null} */ (null));
  /** Where a range begins. */
  const last = useRef("");
  const possible = tasks.filter((task) => actionsOn([task]).length > 0);
  const isSelected = (/** @type {ListedTask} */ { id }) => of === page && ids.has(id);
  const selected = possible.filter(isSelected);

  /** @param {readonly ListedTask[]} some @param {boolean} isOn */
  function select(some, isOn) {
    const next = new Set(selected.map(({ id }) => id));
    for (const { id } of some) isOn ? next.add(id) : next.delete(id);
    set({ of: page, ids: next });
  }

  /** @param {ListedTask} task @param {MouseEvent} event */
  function toggle(task, event) {
    const [from, to] = [last.current, task.id].map((id) => possible.findIndex((each) => each.id === id));
    const isRange = event.shiftKey && from !== undefined && to !== undefined && from >= 0;
    select(isRange ? possible.slice(Math.min(from, to), Math.max(from, to) + 1) : [task], !isSelected(task));
    last.current = task.id;
  }

  /** Does it to one after the other, and tells what became of them, and of each that it could not be done to. @param {ReturnType<typeof actionsOn<ListedTask>>[number]} action */
  async function run(action) {
    const { tasks } = action;
    if (!(await isWanted(action, tasks, desk))) return null;
    setActing(true);
    const told = [];
    try {
      // Of several that move to the front the first is moved last, so that they keep their order.
      for (const task of action.name === "place" ? [...tasks].reverse() : tasks) {
        try {
          told.push({ text: await action.act(task), isBad: false });
        } catch (error) {
          told.push({ text: `${task.id}: ${messageOf(error)}`, isBad: true });
        }
      }
    } finally {
      setActing(false);
    }
    // The button of the action leaves with the selection.
    if (bar.current?.contains(document.activeElement)) bar.current.querySelector("input")?.focus();
    set({ of: page, ids: new Set() });
    const good = told.filter(({ isBad }) => !isBad).length;
    const isOne = told.length === 1 && good === 1;
    setResults({ done: good > 0 ? `${counted(good, "task")} ${action.done}.` : "", all: isOne ? [] : told });
    return isOne ? (told[0]?.text ?? null) : null;
  }

  const all = html`
    <label class="all">
      <input type="checkbox" checked=${selected.length === possible.length} indeterminate=${selected.length > 0 && selected.length < possible.length}
        onClick=${() => select(possible, selected.length < possible.length)} />
      ${selected.length === 0 ? "Select all on this page" : `${count(selected.length)} selected`}
    </label>`;
  // Not `disabled`, which would take the focus from the button.
  const buttons = actionsOn(selected).map(
    (action) => html`
      <button type="button" key=${action.name} class="quiet ${action.kind ?? ""}" aria-disabled=${isActing}
        onClick=${() => isActing || desk.act(() => run(action))}>${action.short ?? action.verb} ${count(action.tasks.length)}</button>`,
  );
  return {
    /** @param {ListedTask} task */
    box: (task) =>
      possible.includes(task) &&
      html`
        <input type="checkbox" aria-label="Select ${task.id}" checked=${isSelected(task)}
          onClick=${(/** @type {MouseEvent} */ event) => toggle(task, event)} />`,
    bar:
      possible.length > 0 &&
      html`<div class="selection" role="group" aria-label="Selected tasks" ref=${bar}>${all}${buttons}</div>`,
    results:
      results.all.length > 0 &&
      html`
        <div class="notice">
          <div class="results" role="status">
            ${results.done !== "" && html`<details><summary>${results.done}</summary>${resultList(results.all, false)}</details>`}
            ${resultList(results.all, true)}
          </div>
          <button type="button" class="quiet" onClick=${() => setResults({ done: "", all: [] })}>Dismiss</button>
        </div>`,
  };
}

/** @param {readonly { text: string, isBad: boolean }[]} all @param {boolean} isBad which of them are listed */
function resultList(all, isBad) {
  const some = all.filter((each) => each.isBad === isBad);
  return (
    some.length > 0 &&
    html`<ul>${some.map(({ text }) => html`<li key=${text} class=${isBad ? "bad" : null}>${text}</li>`)}</ul>`
  );
}
