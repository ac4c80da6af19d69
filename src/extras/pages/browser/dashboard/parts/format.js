/** How the dashboard writes times and estimates. */

import { about, moment as momentAt, range } from "../../../../../words/numbers.ts";
import { now } from "../../clock.js";
import { html } from "../../preact.js";

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
export const secondsSince = (iso) => Math.max(0, (now().getTime() - Date.parse(iso)) / 1000);

/** @param {string} iso */
export const moment = (iso) => momentAt(iso, now());

/** A moment, with its date and time zone for who points at it. @param {string} iso */
export const time = (iso) => html`<time datetime=${iso} title=${new Date(iso).toString()}>${moment(iso)}</time>`;

/** The time zone of all times that are shown. */
export const zone = () => `times in ${Intl.DateTimeFormat().resolvedOptions().timeZone}`;

/** The time of what is shown. @param {Date} at */
export const asOf = (at) => html`as of ${time(at.toISOString())}`;
