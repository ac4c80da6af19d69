/** What is shown where an address has nothing. */

import { paths } from "../address.js";
import { h } from "../parts/html.js";

/**
 * @param {string} path
 * @returns {import("./view.js").View}
 */
export const missing = (path) => ({
  title: "Not found",
  load: async () => undefined,
  show: () => nothingThere("Not found", ["The dashboard has no page ", h("code", null, path), "."]),
});

/**
 * @param {string} title
 * @param {import("../parts/html.js").Content} text
 */
export const nothingThere = (title, text) => [
  h("h1", null, title),
  h("p", null, text),
  h("p", null, h("a", { href: paths.overview }, "All queues")),
];
