/** The tasks of a list of a queue, page by page, and what can be done with all that match the filters. */

import { choose, options, paths } from "../address.js";
import { count, counted } from "../parts/format.js";
import { h } from "../parts/html.js";
import { table } from "../parts/table.js";
import { ask, ServerError } from "../server/server.js";
import { bulk } from "./bulk.js";
import { filters, isFiltered, queryOf } from "./filters.js";
import { cells, columns } from "./task-columns.js";

/** @typedef {"waiting" | "running" | "scheduled" | "dead" | "finished"} List */

/** @type {readonly List[]} */
export const LISTS = ["waiting", "running", "scheduled", "dead", "finished"];

const PAGE = 50;

/**
 * @param {import("../views/view.js").Desk} desk
 * @param {string} queue
 */
export function taskList(desk, queue) {
  /** @type {import("../server/wire.js").ListedTask[]} */
  let items = [];
  /** @type {string | null} */
  let next = null;
  let scanned = 0;
  let loaded = "";
  /** Why the server takes no such filter; "" if it does. */
  let refused = "";
  const all = bulk(desk, queue);

  /** @param {List} tab */
  const where = (tab) => `${tab}?${queryOf(tab)}&cursor=${options().get("cursor") ?? ""}`;

  return {
    /**
     * @param {List} tab
     * @param {AbortSignal} signal
     */
    async load(tab, signal) {
      const asked = where(tab);
      const query = queryOf(tab);
      query.set("limit", String(PAGE));
      if (tab === "dead") query.set("order", "newest");
      const cursor = options().get("cursor");
      if (cursor) query.set("cursor", cursor);
      let refusal = "";
      /** @type {import("../server/wire.js").Page} */
      const page = await ask(`/v1/queues/${encodeURIComponent(queue)}/${tab}?${query}`, { signal }).catch((error) => {
        if (!(error instanceof ServerError) || error.status !== 400) throw error;
        refusal = error.message;
        return { items: [], next: null, scanned: 0 };
      });
      ({ items, next, scanned } = page);
      refused = refusal;
      loaded = asked;
    },

    leave: () => all.stop(),

    /**
     * @param {List} tab
     * @param {import("../server/wire.js").Queue} known
     */
    show(tab, known) {
      const isLoaded = loaded === where(tab);
      return h(
        "div",
        { key: tab, class: "list" },
        h("div", { class: "toolbar" }, filters(tab, known), all.buttons(tab, known)),
        all.progress(),
        !isLoaded
          ? h("p", { class: "loading", key: "loading" }, "Loading …")
          : refused !== ""
            ? h("p", { class: "empty bad", role: "alert", key: "refused" }, refused)
            : items.length === 0
              ? nothing(tab, known, next, looked(tab, known))
              : table(`${known.name}, ${tab}`, columns(tab, known), items, (task) => ({
                  key: task.id,
                  cells: cells(tab, known, task, desk),
                })),
        isLoaded && pages(tab, known),
      );
    },
  };

  /**
   * How many tasks were looked through, of how many; of the latest outcomes the number is not known.
   * @param {List} tab
   * @param {import("../server/wire.js").Queue} known
   */
  function looked(tab, known) {
    const all = tab === "finished" ? 0 : known[tab];
    return scanned < all ? `${count(scanned)} of ${counted(all, "task")}` : counted(scanned, "task");
  }

  /**
   * Says no more than is known: which of how many are shown, or how many match so far.
   * @param {List} tab
   * @param {import("../server/wire.js").Queue} known
   */
  function told(tab, known) {
    if (items.length === 0) return "";
    const isLater = options().has("cursor");
    if (isFiltered(tab)) {
      const number = `${count(items.length)}${next === null ? "" : "+"}${isLater ? " more" : ""} match`;
      return next !== null && items.length >= PAGE
        ? number
        : `${number}${next === null ? "" : " so far"}: ${looked(tab, known)} were looked through`;
    }
    if (tab === "finished")
      return next === null ? counted(items.length, "task") : `${count(items.length)} tasks, and more`;
    const first = isLater ? (items[0]?.index ?? null) : 0;
    const range = first === null ? count(items.length) : `${count(first + 1)}–${count(first + items.length)}`;
    return `${range} of ${counted(Math.max(known[tab], items.length), "task")}`;
  }

  /**
   * @param {List} tab
   * @param {import("../server/wire.js").Queue} known
   */
  function pages(tab, known) {
    const isLater = options().has("cursor");
    if (!isLater && next === null && !isFiltered(tab)) return null;
    const isFull = items.length >= PAGE || !isFiltered(tab);
    return h(
      "nav",
      { class: "pages", "aria-label": "Pages" },
      h("span", { class: "summary" }, told(tab, known)),
      isLater && h("button", { type: "button", key: "first", onclick: () => choose({ cursor: null }) }, "First page"),
      next !== null &&
        h(
          "button",
          { type: "button", key: "next", onclick: () => choose({ cursor: next }, true) },
          isFull ? "Next page" : "Look further",
        ),
    );
  }
}

/**
 * Says why there is nothing, and what to do.
 * @param {List} tab
 * @param {import("../server/wire.js").Queue} queue
 * @param {string | null} next
 * @param {string} looked through how many tasks
 */
function nothing(tab, queue, next, looked) {
  if (isFiltered(tab)) {
    const more = options().has("cursor") ? "more " : "";
    const text = `Nothing ${more}matches among ${looked}${next === null ? "." : " so far."}`;
    return h("div", { class: "empty", key: "none" }, h("p", null, text));
  }
  if (tab !== "waiting" || !queue.actions.includes("submit") || queue.waiting > 0) {
    const texts = {
      waiting: "No task waits.",
      running: queue.workers === 0 && queue.waiting > 0 ? "Nothing runs: this queue has no workers." : "Nothing runs.",
      scheduled: "No task is scheduled, and none waits to be tried again.",
      dead: "No dead tasks: whatever failed was tried again and succeeded, or was given up on purpose.",
      finished: "Nothing has finished lately.",
    };
    return h("div", { class: "empty", key: "none" }, h("p", null, texts[tab]));
  }
  const type = queue.consumes[0] ?? "application/json";
  const body = type.includes("json") ? "'{}'" : "@file";
  return h(
    "div",
    { class: "empty", key: "none" },
    h("p", null, "No task waits. To submit one, use the form above, or:"),
    h(
      "pre",
      null,
      `curl ${location.origin}/v1/queues/${queue.name}/requests -H 'Prefer: respond-async' -H 'Content-Type: ${type}' -d ${body}`,
    ),
    h("p", null, h("a", { href: paths.queue(queue.name, "finished") }, "What has finished")),
  );
}
