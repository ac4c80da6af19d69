/** A view of the page, which polls for what it shows. */

import { html, useEffect, useLayoutEffect, useRef, useState } from "../../preact.js";
import { scrolledBefore } from "../address.js";
import { useFocusKept } from "../parts/focus.js";
import { usePolled } from "../refresh.js";

let isFirst = true;

/**
 * @template T
 * @param {{ title: string, load: (signal: AbortSignal) => Promise<T>, children: (known: T) => import("../../preact.js").Content }} props
 */
export function View({ title, load, children }) {
  const { known, error } = usePolled(load);
  const main = useRef(/** @type {HTMLElement | null} */ (null));
  /** How far to scroll once its content is there, px. */
  const [scrollTarget] = useState(scrolledBefore);
  useFocusKept(main.current);
  useEffect(() => {
    document.title = `${title} · Paihao`;
    if (!isFirst) main.current?.focus({ preventScroll: true });
    isFirst = false;
  }, []);
  useLayoutEffect(() => {
    if (known !== null) scrollTo(0, scrollTarget);
  }, [known === null]);
  const isLoading = known === null && error === null;
  return html`
    <main id="view" ref=${main} tabindex="-1" aria-busy=${isLoading || null}>
      ${isLoading ? html`<p class="loading">Loading …</p>` : known === null ? html`<h1>${title}</h1>` : children(known)}
    </main>`;
}
