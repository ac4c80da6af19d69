/** The dashboard: which view is shown, and what happens around it. */

import { addressOf, followLinks, go, paths, scrolledBefore } from "./address.js";
import { byId, say } from "./page.js";
import { askForKey } from "./parts/dialog.js";
import { h, render } from "./parts/html.js";
import { refresher } from "./refresh.js";
import { key, messageOf, ServerError } from "./server/server.js";
import { missing } from "./views/missing.js";
import { overview } from "./views/overview.js";
import { queue } from "./views/queue.js";
import { task } from "./views/task.js";
import { workers } from "./views/workers.js";

/** @type {import("./views/view.js").View} */
let view = missing("");
let shown = "";
/** How far the view is to be scrolled once it is there, px; null once it was. @type {number | null} */
let scrollTarget = null;
/** @type {Record<"action" | "loading", unknown>} */
const troubles = { action: null, loading: null };

/** @type {import("./views/view.js").Desk} */
const desk = {
  redraw: draw,
  refresh: () => refresh.start(),
  async act(what) {
    try {
      const done = await what();
      if (done !== null) say(done);
      refresh.start();
    } catch (error) {
      showTrouble("action", error);
    }
  },
};

const refresh = refresher(async (signal) => {
  const loading = view;
  try {
    await loading.load(signal);
    if (signal.aborted) return null;
    showTrouble("loading", null);
    byId("view").removeAttribute("aria-busy");
    draw();
    return null;
  } catch (error) {
    if (signal.aborted) return null;
    showTrouble("loading", error);
    // What was loaded before stays; but nothing is loading any more.
    if (byId("view").hasAttribute("aria-busy")) render(byId("view"), h("h1", null, loading.title));
    byId("view").removeAttribute("aria-busy");
    return error;
  }
});

/** @param {import("./address.js").Address} address */
function viewOf(address) {
  if (address.view === "overview") return overview(desk);
  if (address.view === "queue") return queue(desk, address.name);
  if (address.view === "task") return task(desk, address.id);
  if (address.view === "workers") return workers(desk);
  return missing(location.pathname);
}

/** Shows the view of the address. Tabs and options of one that is shown already are its own matter. */
function open() {
  const address = addressOf(location.pathname);
  const wanted = JSON.stringify({ ...address, tab: null });
  if (wanted !== shown) {
    const isFirst = shown === "";
    shown = wanted;
    view.leave?.();
    view = viewOf(address);
    document.title = `${view.title} · Paihao`;
    for (const link of document.querySelectorAll("nav [data-view]")) {
      const isCurrent = link.getAttribute("data-view") === address.view;
      if (isCurrent) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    byId("view").setAttribute("aria-busy", "true");
    render(byId("view"), h("p", { class: "loading", key: "loading" }, "Loading …"));
    scrollTarget = scrolledBefore();
    if (!isFirst) byId("view").focus({ preventScroll: true });
  }
  refresh.start();
}

/** Shows what the view has loaded; what comes late for the one before draws nothing. */
function draw() {
  if (byId("view").hasAttribute("aria-busy")) return;
  render(byId("view"), view.show());
  if (scrollTarget !== null) scrollTo(0, scrollTarget);
  scrollTarget = null;
}

/**
 * Says what went wrong with an action, until it is dismissed, or with loading, until it works again.
 * @param {"action" | "loading"} what
 * @param {unknown} error null: nothing
 */
function showTrouble(what, error) {
  troubles[what] = error;
  const lines = Object.entries(troubles).filter(([, each]) => each !== null);
  render(
    byId("trouble"),
    lines.map(([key, each]) => troubleLine(key, each)),
  );
  byId("trouble").hidden = lines.length === 0;
}

/** @param {string} key @param {unknown} error */
function troubleLine(key, error) {
  const isRefused = error instanceof ServerError && (error.status === 401 || error.status === 403);
  const dismiss = () => showTrouble("action", null);
  return h(
    "p",
    { key },
    h("span", null, isRefused && error.status === 401 ? "This server needs an API key." : messageOf(error)),
    isRefused && h("button", { type: "button", key: "key", onclick: () => void changeKey() }, "Enter a key"),
    key === "action" && h("button", { type: "button", key: "dismiss", onclick: dismiss }, "Dismiss"),
    key === "loading" &&
      !isRefused &&
      h("button", { type: "button", key: "again", onclick: () => refresh.start() }, "Try again"),
  );
}

async function changeKey() {
  const isKnown = key.get() !== "";
  const reason = "What you see and may do here depends on the scopes of your key: read to look, admin to act.";
  const given = await askForKey(reason, isKnown);
  if (given === null) return;
  key.set(given);
  refresh.start();
}

const find = byId("find-id");
byId("find").addEventListener("submit", (event) => {
  event.preventDefault();
  if (!(find instanceof HTMLInputElement)) return;
  const id = find.value.trim();
  if (id === "") return;
  find.value = "";
  go(paths.task(id));
});
byId("key").addEventListener("click", () => void changeKey());
addEventListener("keydown", (event) => {
  const isTyping = event.target instanceof Element && event.target.closest("input, textarea, select, dialog") !== null;
  if (event.key !== "/" || isTyping || event.metaKey || event.ctrlKey || event.altKey) return;
  event.preventDefault();
  find.focus();
});
addEventListener("addresschange", open);
followLinks();
open();
