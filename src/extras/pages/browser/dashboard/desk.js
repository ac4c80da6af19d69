/** What the page does for its views. */

import { createContext, useContext } from "../preact.js";

/**
 * @typedef {object} Desk
 * @property {number} turn increases with each refresh
 * @property {() => void} refresh asks the server again, at once
 * @property {(what: () => Promise<string | null>) => Promise<void>} act does something, and says what was done or what went wrong
 * @property {(error: unknown) => () => void} addTrouble shows why loading failed; returns a function that removes that
 * @property {(dialog: import("./parts/dialog.js").Question) => Promise<FormData | null>} ask shows a dialog; null if it is
 * closed without an answer
 */

/** Given by the page to all its views. */
export const DeskContext = createContext(/** @type {Desk | null} */ (null));

/** @returns {Desk} */
export function useDesk() {
  const desk = useContext(DeskContext);
  if (!desk) throw new Error("this is outside of the page");
  return desk;
}
