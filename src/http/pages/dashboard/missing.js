/** What is shown for an address that no view has. */

import { paths } from "./address.js";
import { h } from "./html.js";

/**
 * @param {string} path
 * @returns {import("./view.js").View}
 */
export function missing(path) {
  return {
    title: "Not found",
    load: async () => undefined,
    show: () => [
      h("h1", null, "Not found"),
      h("p", null, "The dashboard has no page ", h("code", null, path), "."),
      h("p", null, h("a", { href: paths.overview }, "All queues")),
    ],
  };
}
