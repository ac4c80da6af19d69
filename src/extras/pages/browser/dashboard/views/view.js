/** A view of the page, which polls for what it shows. */

import { html, useEffect, useLayoutEffect, useRef } from "../../preact.js";
import { scrolledBefore } from "../address.js";
import { useFocusKept } from "../parts/focus.js";
import { address, usePolled } from "../refresh.js";

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
