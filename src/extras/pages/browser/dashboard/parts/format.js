/** How the dashboard writes times and estimates. */

import { about, range } from "../../words.js";

/** @typedef {import("../server/wire.js").Eta} Eta */

/**
 * When something is estimated to begin: "at once" if nothing is before it, "3 s", with the range if it is wide.
 * @param {Eta | null | undefined} eta
 */
export const eta = (eta) => `${etaStart(eta)}${etaRange(eta)}`;

/**
 * The estimate without its range.
 * @param {Eta | null | undefined} eta
 */
export function etaStart(eta) {
  if (!eta) return "–";
  // A free slot takes it; a line that moves fast is still a line.
  return eta.seconds === 0 ? "at once" : about(eta.seconds);
}

/**
 * " (2 to 5 s)"; empty if the range is narrow.
 * @param {Eta | null | undefined} eta
 */
export function etaRange(eta) {
  const told = eta && eta.seconds >= 0.5 ? range(eta) : "";
  return told && ` (${told})`;
}

/** @param {string} iso */
export const secondsSince = (iso) => Math.max(0, (Date.now() - Date.parse(iso)) / 1000);

/**
 * A moment in local time: a moment of today without its date.
 * @param {string} iso
 */
export function moment(iso) {
  const at = new Date(iso);
  const time = at.toLocaleTimeString("en-GB");
  return at.toDateString() === new Date().toDateString() ? time : `${at.toLocaleDateString("en-CA")} ${time}`;
}
