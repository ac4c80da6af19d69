/** Keeps the page of a task up to date from its events (Server-Sent Events, which connect again by themselves). */
import { addOutput, readOutput } from "./task-output.js";
import { showResult } from "./task-result.js";
import {
  aheadOf,
  attemptOf,
  collectOf,
  detailOf,
  hasEnded,
  headlineOf,
  isLong,
  lookOf,
  numberOf,
  titleOf,
  waitOf,
} from "./task-words.js";

/** @typedef {import("../../../wire/task.ts").Task} Task */

/** How often the page looks whether there is something to ask for, ms. */
const REFRESH_MS = 5000;
/** A server that has said nothing for so long is asked whether it is still there, ms. */
const SILENT_MS = 10_000;
/** The longest time that an expiry is waited for at once, ms: timers know no more than 24 days. */
const LONGEST_MS = 86_400_000;

/**
 * An element of the page, by its id and its kind.
 * @template {typeof HTMLElement} T
 * @param {string} id
 * @param {T} kind
 * @returns {InstanceType<T>}
 */
function find(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no ${kind.name} #${id}`);
  return /** @type {InstanceType<T>} */ (found);
}

/** @param {string} id */
const element = (id) => find(id, HTMLElement);

/**
 * Writes a text only where it changes: a screen reader reads it out each time.
 * @param {string} id
 * @param {string} text
 */
function say(id, text) {
  if (element(id).textContent !== text) element(id).textContent = text;
}

const page = element("task");
const { events = "", output = "", share = "", cancel = "" } = page.dataset;
/** @type {Task} */
let task = JSON.parse(page.dataset.task ?? "");
/** When the estimate was made, by this browser's clock. */
let seenAt = Date.now();

const waitText = () => waitOf(task, (Date.now() - seenAt) / 1000);

function render() {
  const ended = hasEnded(task.state);
  const number = numberOf(task);
  page.dataset.state = lookOf(task);
  say("headline", headlineOf(task));
  say("number", number);
  element("number").classList.toggle("long", isLong(number));
  say("ahead", aheadOf(task));
  say("attempt", attemptOf(task));
  say("detail", detailOf(task));
  say("wait", waitText());
  say("result", collectOf(task));
  const bar = find("progress", HTMLProgressElement);
  if (task.progress) bar.value = task.progress.percent;
  else bar.removeAttribute("value");
  element("until").dataset.shown = String(task.deadlineAt !== null && !ended);
  if (task.deadlineAt) showTime("deadline", task.deadlineAt);
  element("ending").hidden = !task.finishedAt;
  if (task.finishedAt) showTime("finished", task.finishedAt);
  element("expiry").hidden = lookOf(task) !== "succeeded" || !task.expiresAt;
  if (task.expiresAt) showTime("expires", task.expiresAt);
  // A server of an older release does not say.
  element("cancel").hidden = !task.actions?.includes("cancel");
  if (ended) find("sure", HTMLDialogElement).close();
  document.title = titleOf(task);
}

/**
 * @param {string} id
 * @param {string} iso
 */
function showTime(id, iso) {
  find(id, HTMLTimeElement).dateTime = iso;
  say(id, new Date(iso).toLocaleString());
}

/** @param {Task} news */
function update(news) {
  task = news;
  seenAt = Date.now();
  render();
}

/** When the server was heard last. */
let heardAt = Date.now();

/** Whether the page and the server are in touch. @param {boolean} isLive */
function showLive(isLive) {
  if (isLive) heardAt = Date.now();
  element("live").hidden = !isLive;
  element("trouble").hidden = isLive;
}

/** The document of the task as it is now. @returns {Promise<Task>} */
async function ask() {
  const response = await fetch(share, {
    headers: { Accept: "application/json" },
    cache: "no-store",
    signal: AbortSignal.timeout(REFRESH_MS),
  });
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  return response.json();
}

/**
 * Asks for what comes without an event: an estimate that grows by itself or has run out, and whether the server is still there, for a
 * connection may look open for long when nobody answers any more.
 * @param {EventSource} source
 */
async function refresh(source) {
  const isGrowing = task.state === "running" && (task.progress?.estimated ?? true);
  const isOver = task.eta !== null && Date.now() - seenAt > task.eta.seconds * 1000;
  const isSilent = Date.now() - heardAt > SILENT_MS;
  if (document.hidden || source.readyState !== EventSource.OPEN || !(isGrowing || isOver || isSilent)) return;
  try {
    const news = await ask();
    if (source.readyState !== EventSource.OPEN) return;
    showLive(true);
    // A change of state is told by its event.
    if (news.state === task.state) update(news);
  } catch {
    showLive(false);
  }
}

function showEnd() {
  const link = task.links.find((l) => l.rel === "result");
  if (task.state !== "succeeded" || !link) return;
  void showResult(link.href);
  if (task.expiresAt === null) return;
  const leftMs = Math.max(REFRESH_MS, Date.parse(task.expiresAt) - Date.now());
  setTimeout(() => void showExpiry(), Math.min(leftMs, LONGEST_MS));
}

/** The result may have expired by now; the clock of this browser may be wrong. */
async function showExpiry() {
  try {
    update(await ask());
  } catch {
    // It is looked at again later.
  }
  if (lookOf(task) === "expired") element("shown").hidden = true;
  else setTimeout(() => void showExpiry(), SILENT_MS);
}

function follow() {
  const source = new EventSource(events);
  const clock = setInterval(() => say("wait", waitText()), 1000);
  const progress = setInterval(() => void refresh(source), REFRESH_MS);
  source.onopen = () => showLive(true);
  source.onerror = () => {
    showLive(false);
    // Refused for good, for one because the task was destroyed: the server says so on the page itself.
    if (source.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 5000);
  };
  source.addEventListener("status", (event) => {
    showLive(true);
    update(JSON.parse(event.data));
  });
  source.addEventListener("output", (event) => {
    showLive(true);
    addOutput(JSON.parse(event.data));
  });
  source.addEventListener("done", (event) => {
    source.close();
    clearInterval(clock);
    clearInterval(progress);
    update(JSON.parse(event.data));
    element("live").hidden = true;
    element("trouble").hidden = true;
    // Who asked to be sent on to the result is sent there by the server.
    if (/[?&]oncomplete=/i.test(location.search)) location.reload();
    else showEnd();
  });
}

async function cancelTask() {
  find("sure", HTMLDialogElement).close();
  try {
    // The header tells the server that this is its own page: a page of another site cannot send it.
    const headers = { "X-Requested-With": "paihao-dashboard", Accept: "application/json" };
    const response = await fetch(cancel, { method: "DELETE", headers });
    if (!response.ok) throw new Error((await response.json()).title);
    if (response.status === 202 || response.status === 200) update(await response.json());
  } catch (error) {
    say("told", `Could not cancel it: ${error instanceof Error ? error.message : error}`);
  }
}

/** Copies the link to this page, with its signature where links are signed, so that it opens without a key. */
async function copyLink() {
  const link = new URL(share, location.href).href;
  try {
    await navigator.clipboard.writeText(link);
    say("told", "Copied. Whoever has the link can follow this task.");
  } catch {
    // Only pages over HTTPS or of this machine may write to the clipboard.
    say("told", link);
  }
}

element("copy").hidden = false;
element("copy").addEventListener("click", copyLink);
element("cancel").addEventListener("click", () => find("sure", HTMLDialogElement).showModal());
element("keep").addEventListener("click", () => find("sure", HTMLDialogElement).close());
element("end").addEventListener("click", cancelTask);
showTime("created", task.createdAt);
render();
if (!hasEnded(task.state)) follow();
else {
  showEnd();
  if (task.state !== "canceled") void readOutput(output);
}
