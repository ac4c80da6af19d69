/**
 * A view of the page.
 *
 * @typedef {object} View
 * @property {string} title of the page
 * @property {(signal: AbortSignal) => Promise<void>} load asks the server for what it shows
 * @property {() => import("../parts/html.js").Content} show
 * @property {() => void} [leave] stops what it has begun
 *
 * @typedef {object} Desk what a view is given
 * @property {() => void} redraw shows the view again
 * @property {() => void} refresh asks the server again, at once
 * @property {(what: () => Promise<string | null>) => Promise<void>} act does something, and says what was done or went wrong
 */

export {};
