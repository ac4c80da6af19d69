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
/** A filtered page is filled by several requests, but not by any number: a person says whether to go on. */
const MOST_LOOKS = 5;

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
      /** @type {import("../server/wire.js").ListedTask[]} */
      const found = [];
      let cursor = options().get("cursor");
      let looked = 0;
      let refusal = "";
      for (let look = 1; ; look += 1) {
        if (cursor) query.set("cursor", cursor);
        /** @type {import("../server/wire.js").Page} */
        const page = await ask(`/v1/queues/${encodeURIComponent(queue)}/${tab}?${query}`, { signal }).catch((error) => {
          if (!(error instanceof ServerError) || error.status !== 400) throw error;
          refusal = error.message;
          return { items: [], next: null, scanned: 0 };
        });
        found.push(...page.items);
        cursor = page.next;
        looked += page.scanned;
        if (cursor === null || found.length >= PAGE || look === MOST_LOOKS) break;
      }
      items = found;
      next = cursor;
      scanned = looked;
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
              ? nothing(tab, known, next, scanned)
              : table(`${known.name}, ${tab}`, columns(tab, known), items, (task) => ({
                  key: task.id,
                  cells: cells(tab, known, task, desk),
                })),
        isLoaded && pages(items.length, next),
      );
    },
  };
}

/**
 * @param {number} shown
 * @param {string | null} next
 */
function pages(shown, next) {
  const isLater = options().has("cursor");
  if (!isLater && next === null) return null;
  return h(
    "nav",
    { class: "pages", "aria-label": "Pages" },
    h("span", { class: "summary" }, shown === 0 ? "" : counted(shown, "task")),
    isLater && h("button", { type: "button", key: "first", onclick: () => choose({ cursor: null }) }, "First page"),
    next !== null &&
      h("button", { type: "button", key: "next", onclick: () => choose({ cursor: next }, true) }, "Next page"),
  );
}

/**
 * Says why there is nothing, and what to do.
 * @param {List} tab
 * @param {import("../server/wire.js").Queue} queue
 * @param {string | null} next
 * @param {number} scanned
 */
function nothing(tab, queue, next, scanned) {
  if (isFiltered(tab)) {
    const text = `Nothing matches among ${count(scanned)} tasks${next === null ? "." : " so far."}`;
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
