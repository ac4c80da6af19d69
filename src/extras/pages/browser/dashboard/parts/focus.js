import { useLayoutEffect } from "../../preact.js";

const FOCUSABLE = "a, button, input";

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
