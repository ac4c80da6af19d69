/** The dashboard: asks for the figures of all queues every two seconds, and for a page of tasks when one is opened. */

const REFRESH_MS = 2000;
const HISTORY = 60;

const byId = (id) => document.getElementById(id);
const history = new Map();
let opened = null;

/** Asks the server; the browser shows it the key that it has shown for this page. */
async function ask(path, method = "GET") {
  const response = await fetch(path, { method, headers: { "X-Requested-With": "paihao-dashboard" } });
  if (!response.ok) {
    const problem = await response.json().catch(() => ({}));
    throw new Error(problem.detail ?? problem.title ?? `the server answered ${response.status}`);
  }
  return response.status === 204 ? null : response.json();
}

/** Does something a person asked for, and shows what went wrong. */
async function act(path, method) {
  try {
    await ask(path, method);
    if (opened) await openTasks(opened.queue, opened.kind);
    await refresh();
  } catch (error) {
    say(error.message, true);
  }
}

function say(text, bad = false) {
  byId("state").textContent = text;
  byId("state").classList.toggle("error", bad);
}

const seconds = (value) => (value === null || value === undefined ? "–" : `${Math.round(value * 10) / 10} s`);

function button(text, onClick) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.addEventListener("click", onClick);
  return made;
}

function card(name) {
  const id = `queue-${name}`;
  const there = byId(id);
  if (there) return there;
  const made = byId("queue").content.firstElementChild.cloneNode(true);
  made.id = id;
  made.querySelector("h2").textContent = name;
  made.querySelector(".pause").addEventListener("click", () => {
    const verb = made.classList.contains("paused") ? "resume" : "pause";
    void act(`/v1/queues/${name}/${verb}`, "POST");
  });
  for (const link of made.querySelectorAll(".link")) {
    link.addEventListener("click", () => openTasks(name, link.dataset.kind).catch((error) => say(error.message, true)));
  }
  byId("queues").append(made);
  return made;
}

function show(queue) {
  const shown = card(queue.name);
  shown.classList.toggle("paused", queue.paused);
  shown.querySelector(".pause").textContent = queue.paused ? "Resume" : "Pause";
  for (const link of shown.querySelectorAll(".link")) link.textContent = queue[link.dataset.kind];
  const set = (of, text) => {
    shown.querySelector(`[data-of="${of}"]`).textContent = text;
  };
  set("scheduled", queue.scheduled);
  set("slots", `${queue.slots} of ${queue.workers} worker${queue.workers === 1 ? "" : "s"}`);
  set("rate", `${queue.rate.accepted.toFixed(1)} / ${queue.rate.finished.toFixed(1)}`);
  set("service", seconds(queue.serviceTime.mean));
  set("eta", queue.paused ? "paused" : queue.eta === null ? "unknown" : `in ${seconds(queue.eta.seconds)}`);
  const depths = history.get(queue.name) ?? [];
  depths.push(queue.waiting);
  if (depths.length > HISTORY) depths.shift();
  history.set(queue.name, depths);
  const most = Math.max(1, ...depths);
  const points = depths.map((depth, i) => `${(i / (HISTORY - 1)) * 120},${31 - (depth / most) * 30}`);
  shown.querySelector("polyline").setAttribute("points", points.join(" "));
  shown.querySelector("title").textContent = `waiting, last two minutes, at most ${most}`;
}

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
  const rows = page.items.map((task) => row(task, kind));
  if (cursor) byId("tasks-rows").append(...rows);
  else byId("tasks-rows").replaceChildren(...rows);
  const more = byId("tasks-more");
  more.hidden = page.next === null;
  more.onclick = () => openTasks(queue, kind, page.next).catch((error) => say(error.message, true));
}

function row(task, kind) {
  const made = document.createElement("tr");
  const cell = (content, className) => {
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
      : button("Cancel", () => act(`/v1/requests/${task.id}`, "DELETE")),
  );
  return made;
}

async function refresh() {
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
    say(`${error.message}; trying again`, true);
  }
  setTimeout(() => void turn(), REFRESH_MS);
}

byId("tasks-close").addEventListener("click", () => {
  opened = null;
  byId("tasks").hidden = true;
});
void turn();
