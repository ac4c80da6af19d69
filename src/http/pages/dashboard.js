/** The dashboard: asks for the figures of all queues every two seconds, and for a page of tasks when one is opened. */

const REFRESH_MS = 2000;
const HISTORY = 60;

/** @typedef {import("../task/document.ts").MonitorDocument & { errors?: string[] }} Task */
/** @typedef {import("../routes/queues.ts").QueueDocument} Queue */
/** @typedef {"waiting" | "running" | "dead" | "finished"} Kind */

/** What was waiting at the last looks, by queue. @type {Map<string, number[]>} */
const history = new Map();
/** @type {{ queue: string, kind: Kind } | null} */
let opened = null;

/**
 * An element of the page that is there.
 * @param {string} id
 */
function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found;
}

/**
 * A part of an element that is there.
 * @param {ParentNode} parent
 * @param {string} selector
 * @returns {HTMLElement}
 */
function part(parent, selector) {
  const found = parent.querySelector(selector);
  if (!found) throw new Error(`there is no ${selector}`);
  return /** @type {HTMLElement} */ (found);
}

/** @param {unknown} error */
const messageOf = (error) => (error instanceof Error ? error.message : String(error));

/**
 * Asks the server; the browser sends it the key that it was given for this page.
 * @param {string} path
 * @returns {Promise<any>} the JSON of the answer, whose form its path decides
 */
async function ask(path, method = "GET") {
  const response = await fetch(path, { method, headers: { "X-Requested-With": "paihao-dashboard" } });
  if (!response.ok) {
    const problem = await response.json().catch(() => ({}));
    throw new Error(problem.detail ?? problem.title ?? `the server answered ${response.status}`);
  }
  return response.status === 204 ? null : response.json();
}

/**
 * Does something a person asked for, and shows what went wrong.
 * @param {string} path
 * @param {string} method
 */
async function act(path, method) {
  try {
    await ask(path, method);
    if (opened) await openTasks(opened.queue, opened.kind);
    await refresh();
  } catch (error) {
    say(messageOf(error), true);
  }
}

/** @param {string} text */
function say(text, bad = false) {
  byId("state").textContent = text;
  byId("state").classList.toggle("error", bad);
}

/** @param {number | null | undefined} value */
const seconds = (value) => (value === null || value === undefined ? "–" : `${Math.round(value * 10) / 10} s`);

/**
 * @param {string} text
 * @param {() => unknown} onClick
 */
function button(text, onClick) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.addEventListener("click", onClick);
  return made;
}

/**
 * The card of a queue, made where there is none yet.
 * @param {string} name
 */
function card(name) {
  const id = `queue-${name}`;
  const there = document.getElementById(id);
  if (there) return there;
  const template = /** @type {HTMLTemplateElement} */ (byId("queue"));
  const made = /** @type {HTMLElement} */ (part(template.content, "*").cloneNode(true));
  made.id = id;
  part(made, "h2").textContent = name;
  part(made, ".pause").addEventListener("click", () => {
    const verb = made.classList.contains("paused") ? "resume" : "pause";
    void act(`/v1/queues/${name}/${verb}`, "POST");
  });
  for (const link of links(made)) {
    link.addEventListener("click", () => openTasks(name, kindOf(link)).catch((error) => say(messageOf(error), true)));
  }
  byId("queues").append(made);
  return made;
}

/**
 * The buttons of a card that open its tasks.
 * @param {HTMLElement} made
 * @returns {NodeListOf<HTMLElement>}
 */
const links = (made) => made.querySelectorAll(".link");

/** @param {HTMLElement} link */
const kindOf = (link) => /** @type {Kind} */ (link.dataset.kind);

/** @param {Queue} queue */
function show(queue) {
  const shown = card(queue.name);
  shown.classList.toggle("paused", queue.paused);
  part(shown, ".pause").textContent = queue.paused ? "Resume" : "Pause";
  for (const link of links(shown)) {
    const kind = kindOf(link);
    if (kind !== "finished") link.textContent = String(queue[kind]);
  }
  /**
   * @param {string} of
   * @param {string} text
   */
  const set = (of, text) => {
    part(shown, `[data-of="${of}"]`).textContent = text;
  };
  set("scheduled", String(queue.scheduled));
  set("slots", `${queue.slots} of ${queue.workers} worker${queue.workers === 1 ? "" : "s"}`);
  set("rate", `${queue.rate.accepted.toFixed(1)} / ${queue.rate.finished.toFixed(1)}`);
  set("service", seconds(queue.serviceTime.mean));
  set(
    "eta",
    queue.paused
      ? "paused"
      : queue.resting
        ? "resting"
        : queue.eta === null
          ? "unknown"
          : `in ${seconds(queue.eta.seconds)}`,
  );
  const depths = history.get(queue.name) ?? [];
  depths.push(queue.waiting);
  if (depths.length > HISTORY) depths.shift();
  history.set(queue.name, depths);
  const most = Math.max(1, ...depths);
  const points = depths.map((depth, i) => `${(i / (HISTORY - 1)) * 120},${31 - (depth / most) * 30}`);
  part(shown, "polyline").setAttribute("points", points.join(" "));
  part(shown, "title").textContent = `waiting, last two minutes, at most ${most}`;
}

/**
 * @param {string} queue
 * @param {Kind} kind
 * @param {string | null} cursor of the page before
 */
async function openTasks(queue, kind, cursor = null) {
  const search = cursor ? `?cursor=${encodeURIComponent(cursor)}` : "";
  const page = await ask(`/v1/queues/${queue}/${kind}${search}`);
  opened = { queue, kind };
  byId("tasks").hidden = false;
  byId("tasks-title").textContent = `${queue}: ${kind}`;
  const actions = byId("tasks-actions");
  actions.replaceChildren();
  if (kind === "dead" && page.items.length > 0) {
    actions.append(button("Retry all", () => act(`/v1/queues/${queue}/dead/retry`, "POST")));
    actions.append(button("Forget all", () => act(`/v1/queues/${queue}/dead`, "DELETE")));
  }
  const rows = page.items.map((/** @type {Task} */ task) => row(task, kind));
  if (cursor) byId("tasks-rows").append(...rows);
  else byId("tasks-rows").replaceChildren(...rows);
  const more = byId("tasks-more");
  more.hidden = page.next === null;
  more.onclick = () => openTasks(queue, kind, page.next).catch((error) => say(messageOf(error), true));
}

/**
 * @param {Task} task
 * @param {Kind} kind
 */
function row(task, kind) {
  const made = document.createElement("tr");
  /** @param {string | Node} content */
  const cell = (content, className = "") => {
    const td = document.createElement("td");
    td.append(content);
    if (className) td.className = className;
    made.append(td);
  };
  const link = document.createElement("a");
  link.href = `/v1/requests/${task.id}/status`;
  link.textContent = task.id;
  cell(link);
  cell(task.state);
  cell(task.index === null ? "–" : String(task.index), "number");
  cell(new Date(task.finishedAt ?? task.startedAt ?? task.createdAt).toLocaleString());
  const progress = task.progress ? `${task.progress.percent} % ${task.progress.message ?? ""}` : "";
  cell(task.error ? (task.errors?.[0] ?? task.error.message) : progress, task.error ? "error" : "");
  cell(
    kind === "dead"
      ? button("Retry", () => act(`/v1/requests/${task.id}/retry`, "POST"))
      : button(kind === "finished" ? "Delete" : "Cancel", () => act(`/v1/requests/${task.id}`, "DELETE")),
  );
  return made;
}

async function refresh() {
  /** @type {{ items: Queue[] }} */
  const { items } = await ask("/v1/queues");
  for (const queue of items) show(queue);
  const waiting = items.reduce((sum, queue) => sum + queue.waiting, 0);
  const running = items.reduce((sum, queue) => sum + queue.running, 0);
  say(`${waiting} waiting, ${running} running · ${new Date().toLocaleTimeString()}`);
}

async function turn() {
  try {
    if (!document.hidden) await refresh();
  } catch (error) {
    say(`${messageOf(error)}; trying again`, true);
  }
  setTimeout(() => void turn(), REFRESH_MS);
}

byId("tasks-close").addEventListener("click", () => {
  opened = null;
  byId("tasks").hidden = true;
});
void turn();
