/** A menu of where a person can go and what can be done, which finds an entry by a part of its name. */

import { html, useEffect, useLayoutEffect, useRef, useState } from "../preact.js";
import { go, paths } from "./address.js";
import { ask } from "./api.js";
import { useDesk } from "./desk.js";
import { pauseOf } from "./queue/queue-actions.js";

/** @typedef {{ name: string, act: () => void }} Entry */

const MAX_ENTRIES = 10;

/** @type {readonly (readonly [name: string, path: string])[]} */
const VIEWS = [
  ["Queues", paths.overview],
  ["Workers", paths.workers],
  ["Schedules", paths.schedules],
  ["Events", paths.events],
];

/** @param {readonly import("./api.js").Queue[]} queues @param {import("./desk.js").Desk} desk @returns {Entry[]} */
const entriesOf = (queues, desk) => [
  ...queues.map(({ name }) => ({ name, act: () => go(paths.queue(name)) })),
  ...VIEWS.map(([name, path]) => ({ name, act: () => go(path) })),
  ...queues.flatMap((queue) => {
    const pause = pauseOf(queue, desk);
    return pause ? [{ name: `${pause.verb} ${queue.name}`, act: () => void pause.act() }] : [];
  }),
];

/** @param {{ onClose: () => void }} props */
export function Menu({ onClose }) {
  const desk = useDesk();
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const [queues, setQueues] = useState(/** @type {readonly import("./api.js").Queue[]} */ ([]));
  const [{ text, at }, setTyped] = useState({ text: "", at: 0 });
  useLayoutEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    // Without an answer the menu has the views, and the search.
    ask("/v1/queues").then(
      ({ items }) => setQueues(items),
      () => undefined,
    );
  }, []);
  const part = text.trim().toLowerCase();
  const found = entriesOf(queues, desk).filter(({ name }) => name.toLowerCase().includes(part));
  const search = { name: `Find tasks: ${text.trim()}`, act: () => go(paths.search(text.trim())) };
  const entries = [...found.slice(0, MAX_ENTRIES), ...(part === "" ? [] : [search])];
  const chosen = Math.min(at, entries.length - 1);
  /** @param {Entry | undefined} entry */
  function take(entry) {
    dialog.current?.close();
    entry?.act();
  }
  /** @param {KeyboardEvent} event */
  function move(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter") take(entries[chosen]);
    else if (step !== undefined) setTyped({ text, at: (chosen + step + entries.length) % entries.length });
    else return;
    event.preventDefault();
  }
  return html`
    <dialog id="menu" ref=${dialog} aria-label="Go to, or do" onClose=${onClose}>
      <input type="text" role="combobox" aria-label="A queue, a page, or what to do" placeholder="A queue, a page, pause …" autocomplete="off" spellcheck=${false}
        aria-expanded="true" aria-controls="menu-entries" aria-activedescendant="menu-${chosen}" value=${text} onKeyDown=${move}
        onInput=${(/** @type {Event} */ { target }) => target instanceof HTMLInputElement && setTyped({ text: target.value, at: 0 })} />
      <ul id="menu-entries" role="listbox" aria-label="Entries">
        ${entries.map(
          (entry, n) => html`
            <li key=${entry.name} id="menu-${n}" role="option" aria-selected=${n === chosen} onClick=${() => take(entry)}>${entry.name}</li>`,
        )}
      </ul>
    </dialog>`;
}
