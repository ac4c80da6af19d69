/** A view of the page, which polls for what it shows; and the view of an address without content. */

import { html, useEffect, useLayoutEffect, useRef } from "../../preact.js";
import { paths, scrolledBefore } from "../address.js";
import { address, usePolled } from "../refresh.js";

const FOCUSABLE = "a, button, input";

let isFirst = true;

/**
 * @template T
 * @param {{ title: string, load: (signal: AbortSignal) => Promise<T>, children: (known: T) => import("../../preact.js").Content }} props
 */
export function View({ title, load, children }) {
  const { known, of, error } = usePolled(load);
  const main = useRef(/** @type {HTMLElement | null} */ (null));
  /** How far to scroll once the content of an address is there, px: known before less content scrolls the page. */
  const target = useRef({ of: "", scrolled: /** @type {number | null} */ (0) });
  const here = address();
  if (target.current.of !== here)
    target.current = { of: here, scrolled: scrolledBefore() ?? (target.current.of === "" ? 0 : null) };
  useFocusKept(main.current);
  useEffect(() => {
    document.title = `${title} · Paihao`;
    if (!isFirst) main.current?.focus({ preventScroll: true });
    isFirst = false;
  }, []);
  useLayoutEffect(() => {
    const { scrolled } = target.current;
    if (known !== null && of === here && scrolled !== null) scrollTo(0, scrolled);
  }, [of]);
  const isLoading = known === null && error === null;
  return html`
    <main id="view" ref=${main} tabindex="-1" aria-busy=${isLoading || null}>
      ${isLoading ? html`<p class="loading">Loading …</p>` : known === null ? html`<h1>${title}</h1>` : children(known)}
    </main>`;
}

/**
 * Keeps the focus when its element moves. If the element leaves with its row, the same element of the row that takes its place
 * gets the focus, or else the parent.
 * @param {HTMLElement | null} parent
 */
export function useFocusKept(parent) {
  const focused = document.activeElement;
  const row = focused?.closest("tbody > tr");
  const body = row?.parentElement;
  const place = row && body ? [...body.children].indexOf(row) : -1;
  const within = row && focused ? [...row.querySelectorAll(FOCUSABLE)].indexOf(focused) : -1;
  const isInside = parent !== null && focused !== parent && parent.contains(focused);
  useLayoutEffect(() => {
    if (!isInside || document.activeElement !== document.body) return;
    const next = body?.isConnected ? (body.children[place] ?? body.lastElementChild) : null;
    const neighbor = next?.querySelectorAll(FOCUSABLE)[within] ?? next?.querySelector(FOCUSABLE) ?? parent;
    const target = focused?.isConnected ? focused : neighbor;
    if (target instanceof HTMLElement) target.focus({ preventScroll: true });
  });
}

/** What is shown at an address without content. */
export const Missing = () => html`
  <${View} title="Not found" load=${async () => location.pathname}>
    ${(/** @type {string} */ path) => nothingThere("Not found", html`The dashboard has no page <code>${path}</code>.`)}
  <//>`;

/**
 * What is shown where nothing is found.
 * @param {string} title
 * @param {import("../../preact.js").Content} text
 */
export const nothingThere = (title, text) => html`
  <h1>${title}</h1>
  <p>${text}</p>
  <p><a href=${paths.overview}>All queues</a></p>`;
