/** The page of a group, kept up to date from its events (Server-Sent Events, which reconnect by themselves). */

import { countsOf, endedOf, hasEnded, headlineOf, lookOf, numberOf, placeOf, titleOf, waitOf } from "./group-words.js";

/** @typedef {import("../../../../wire/group.ts").Group} Group */

/** How long after a refused event stream the page is reloaded, so that the server can say why, ms. */
const RELOAD_MS = 5000;

const page = /** @type {HTMLElement} */ (document.getElementById("page"));
const { events = "", cancel = "", group: first = "" } = page.dataset;
const sure = /** @type {HTMLDialogElement} */ (document.getElementById("sure"));

let group = /** @type {Group} */ (JSON.parse(first));
let at = Date.now();

/** @param {string} id @returns {HTMLElement} */
const part = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** Writes a text, unless it is there: what is read aloud is read once. @param {string} id @param {string} text */
function write(id, text) {
  if (part(id).textContent !== text) part(id).textContent = text;
}

function show() {
  document.title = titleOf(group);
  part("ticket").dataset.state = lookOf(group);
  write("headline", headlineOf(group));
  write("number", numberOf(group));
  write("ended", endedOf(group));
  write("counts", countsOf(group));
  write("place", placeOf(group));
  write("wait", waitOf(group, (Date.now() - at) / 1000));
  part("progress").setAttribute("value", String(group.progress.percent));
  part("cancel").hidden = cancel === "" || hasEnded(group) || group.cancelRequested;
  if (hasEnded(group)) sure.close();
}

/** Ignores what was known before the end, such as a late answer to a cancel. @param {string} json */
function update(json) {
  const news = /** @type {Group} */ (JSON.parse(json));
  if (hasEnded(group) && !hasEnded(news)) return;
  group = news;
  at = Date.now();
  show();
}

/** @param {boolean} isLive */
function hear(isLive) {
  part("live").hidden = !isLive;
  part("trouble").hidden = isLive;
}

function follow() {
  const source = new EventSource(events);
  const timer = setInterval(show, 1000);
  source.onopen = () => hear(true);
  source.onerror = () => {
    hear(false);
    if (source.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), RELOAD_MS);
  };
  source.addEventListener("status", ({ data }) => {
    hear(true);
    update(data);
  });
  source.addEventListener("done", ({ data }) => {
    source.close();
    clearInterval(timer);
    update(data);
    part("live").hidden = true;
    part("trouble").hidden = true;
  });
}

async function end() {
  sure.close();
  try {
    // The header tells the server that this is its own page: a page of another site cannot send it.
    const headers = { "X-Requested-With": "paihao-dashboard", Accept: "application/json" };
    const response = await fetch(cancel, { method: "DELETE", headers });
    if (!response.ok) throw new Error((await response.json()).title);
    if (response.status === 202) update(await response.text());
  } catch (error) {
    write("told", `Could not cancel it: ${error instanceof Error ? error.message : error}`);
  }
}

part("cancel").onclick = () => sure.showModal();
part("keep").onclick = () => sure.close();
part("end").onclick = () => void end();
for (const time of document.querySelectorAll("time")) time.textContent = new Date(time.dateTime).toLocaleString();
show();
if (!hasEnded(group)) follow();
