/** Where the page is: each view has a path of its own, so that everything can be linked to. */

import { prefix } from "../server.js";

/**
 * @typedef {{ view: "overview" } | { view: "queue", name: string, tab: string } | { view: "task", id: string }
 *   | { view: "workers" } | { view: "schedules" } | { view: "events" } | { view: "search" } | { view: "missing" }} Address
 */

const ROOT = `${prefix}/dashboard`;
/** Scrolling has ended after this long without a change, ms. */
const SETTLED_MS = 150;

/**
 * @param {string} path
 * @returns {Address}
 */
export function addressOf(path) {
  const [kind, name, tab, ...more] = path
    .slice(ROOT.length)
    .split("/")
    .filter((segment) => segment !== "")
    .map(decoded);
  if (kind === undefined) return { view: "overview" };
  if (kind === "workers" && name === undefined) return { view: "workers" };
  if (kind === "schedules" && name === undefined) return { view: "schedules" };
  if (kind === "events" && name === undefined) return { view: "events" };
  if (kind === "search" && name === undefined) return { view: "search" };
  if (kind === "tasks" && name && tab === undefined) return { view: "task", id: name };
  if (kind === "queues" && name && more.length === 0) return { view: "queue", name, tab: tab ?? "waiting" };
  return { view: "missing" };
}

/** @param {string} segment */
function decoded(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

export const paths = {
  overview: ROOT,
  workers: `${ROOT}/workers`,
  schedules: `${ROOT}/schedules`,
  events: `${ROOT}/events`,
  /** @param {string} text */
  search: (text) => `${ROOT}/search?${new URLSearchParams({ text })}`,
  /** @param {string} id */
  task: (id) => `${ROOT}/tasks/${encodeURIComponent(id)}`,
  /**
   * @param {string} name
   * @param {string} [tab]
   * @param {URLSearchParams} [filters]
   */
  queue: (name, tab = "waiting", filters = undefined) =>
    [
      `${ROOT}/queues/${encodeURIComponent(name)}`,
      tab === "waiting" ? "" : `/${tab}`,
      filters?.size ? `?${filters}` : "",
    ].join(""),
};

/** The options of the view, as its query has them. */
export const options = () => new URLSearchParams(location.search);

/** The address of this view with another option. @param {string} name @param {string} value */
export function withOption(name, value) {
  const search = options();
  search.set(name, value);
  return `${location.pathname}?${search}`;
}

/**
 * Goes to a view, like a link to it.
 * @param {string} path
 */
export function go(path) {
  keepPlace();
  history.pushState(null, "", path);
  dispatchEvent(new Event("addresschange"));
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let moved;

/** Stores with the address how far the page is scrolled, for when a person comes back to it. */
function keepPlace() {
  clearTimeout(moved);
  history.replaceState({ scrolled: scrollY }, "");
}

/** How far the page was scrolled at this address, px; null if a person has not been here. */
export function scrolledBefore() {
  const { scrolled = null } = history.state ?? {};
  return scrolled === null ? null : Number(scrolled);
}

/**
 * Changes options of the view in its address.
 * @param {Record<string, string | null>} changes
 * @param {boolean} [isStep] whether going back undoes it
 */
export function choose(changes, isStep = false) {
  const search = options();
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") search.delete(name);
    else search.set(name, value);
  }
  const query = search.toString();
  const address = query === "" ? location.pathname : `${location.pathname}?${query}`;
  if (address === location.pathname + location.search) return;
  if (isStep) {
    keepPlace();
    history.pushState(null, "", address);
  } else history.replaceState(history.state, "", address);
  dispatchEvent(new Event("addresschange"));
}

/** Follows links within the page without loading it again. */
export function followLinks() {
  // Its content loads after the browser would have scrolled.
  history.scrollRestoration = "manual";
  addEventListener("scroll", () => {
    clearTimeout(moved);
    moved = setTimeout(keepPlace, SETTLED_MS);
  });
  addEventListener("popstate", () => {
    // What was scrolled belongs to the address that a person has left.
    clearTimeout(moved);
    dispatchEvent(new Event("addresschange"));
  });
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    const isPlain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
    if (!link || !isPlain || link.target !== "" || link.download !== "" || link.origin !== location.origin) return;
    if (link.pathname !== ROOT && !link.pathname.startsWith(`${ROOT}/`)) return;
    // A link within the page, such as the one that skips the head: the browser scrolls there and moves the focus.
    if (link.hash !== "" && link.pathname === location.pathname) return;
    event.preventDefault();
    go(link.pathname + link.search);
  });
}
