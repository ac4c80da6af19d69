/** Keeps the page of a task or a group up to date, from its events (Server-Sent Events, which reconnect by themselves). */

import { moment } from "../../../../words/numbers.ts";
import { hearTime, now } from "../server.js";
import { hasEnded, LINES, sizeOf } from "./ticket-words.ts";

/** @typedef {import("./ticket-words.ts").TicketWords} Words */
/** @typedef {import("../../../../wire/task.ts").Task | import("../../../../wire/group.ts").Group} Known */

/** How often the page checks whether it should ask the server, ms. */
const REFRESH_MS = 5000;
/** After this long without a message, the page asks whether the server is still there, ms. */
const SILENT_MS = 10_000;
/** The longest timer, ms: browsers' timers end at about 24 days. */
const LONGEST_MS = 86_400_000;
/** How long after a refused event stream the page is reloaded, so that the server can say why, ms. */
const RELOAD_MS = 5000;

/** @param {string} id @returns {HTMLElement} */
export const part = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** Writes a text, unless it is there: what is read aloud is read once. @param {string} id @param {string} text */
function write(id, text) {
  if (part(id).textContent !== text) part(id).textContent = text;
}

/** @param {Words} words */
function show({ title, look, percent, parts = [], facts, question, done = "", ...words }) {
  document.title = title;
  part("ticket").dataset.state = look;
  for (const line of LINES) write(line, words[line]);
  part("number").className = `number ${sizeOf(words.number)}`;
  const bar = document.getElementById("progress");
  // Without a value the bar shows that the progress is unknown.
  if (percent === null) bar?.removeAttribute("value");
  else bar?.setAttribute("value", String(percent));
  document.getElementById("bar")?.setAttribute("aria-label", words.note);
  for (const { state, from, width } of parts) {
    const rect = document.querySelector(`#bar .${state}`);
    rect?.setAttribute("x", String(from));
    rect?.setAttribute("width", String(width));
  }
  const rows = facts.map(rowOf);
  if (part("facts").textContent !== rows.map(({ textContent }) => textContent).join(""))
    part("facts").replaceChildren(...rows);
  part("finish").hidden = done === "";
  if (question) showQuestion(question);
}

/** @param {NonNullable<Words["question"]>} question */
function showQuestion({ verb, title, consequence, no, yes }) {
  const texts = { cancel: verb, "sure-title": title, consequence, keep: no, end: yes };
  for (const [id, text] of Object.entries(texts)) write(id, text);
}

/** @param {Words["facts"][number]} fact */
function rowOf({ title, value, isTime }) {
  const [row, name, told] = [document.createElement("div"), document.createElement("dt"), document.createElement("dd")];
  const time = document.createElement("time");
  time.dateTime = value;
  time.textContent = isTime ? moment(value) : value;
  name.textContent = title;
  told.append(isTime ? time : value);
  row.append(name, told);
  return row;
}

/**
 * @template {Known} T
 * @param {object} kind
 * @param {(known: T, agoS: number) => Words} kind.wordsOf
 * @param {(known: T) => void} [kind.onChange] called at once, and for each later version
 * @param {(value: any) => void} [kind.onOutput]
 */
export function follow({ wordsOf, onChange = () => undefined, onOutput = () => undefined }) {
  const { events = "", share = "", cancel = "", known: first = "" } = part("ticket").dataset;
  const sure = /** @type {HTMLDialogElement} */ (part("sure"));
  let known = /** @type {T} */ (JSON.parse(first));
  /** When its estimate was made, by this browser's clock. */
  let at = Date.now();
  /** Whether the page and the server are in touch; null before they are, and after the end. */
  let isLive = /** @type {boolean | null} */ (null);
  let heardAt = at;
  let source = /** @type {EventSource | null} */ (null);

  function draw() {
    const words = wordsOf(known, (Date.now() - at) / 1000);
    show(words);
    part("live").hidden = isLive !== true;
    part("trouble").hidden = isLive !== false;
    part("cancel").hidden = cancel === "" || words.question === null;
    if (hasEnded(known)) sure.close();
  }

  /** @param {boolean} isHeard */
  function hear(isHeard) {
    if (isHeard) heardAt = Date.now();
    if (isLive === isHeard) return;
    isLive = isHeard;
    draw();
  }

  /** Ignores what was known before the end, such as a late answer to a cancel. @param {T} news */
  function update(news) {
    if (hasEnded(known) && !hasEnded(news)) return;
    known = news;
    at = Date.now();
    draw();
    onChange(known);
  }

  /** The current document. @returns {Promise<T>} */
  async function ask() {
    const headers = { Accept: "application/json" };
    const response = await fetch(share, { headers, cache: "no-store", signal: AbortSignal.timeout(REFRESH_MS) });
    hearTime(response);
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    return response.json();
  }

  /**
   * Asks for what no event brings: a new estimate, if there is none or the old one has grown or run out, and whether the server is still there,
   * since a dead connection may look open for long.
   */
  async function refresh() {
    const isGrowing = known.state === "running" && (known.progress?.estimated ?? true);
    // Before anything has ended, what runs may make an estimate possible at any time.
    const isOver = Date.now() - at > (known.eta?.seconds ?? 0) * 1000;
    const isSilent = Date.now() - heardAt > SILENT_MS;
    if (document.hidden || source?.readyState !== EventSource.OPEN || !(isGrowing || isOver || isSilent)) return;
    try {
      const news = await ask();
      if (source.readyState !== EventSource.OPEN) return;
      hear(true);
      // Changes of state arrive as events.
      if (news.state === known.state) update(news);
    } catch {
      hear(false);
    }
  }

  function listen() {
    const stream = new EventSource(events);
    source = stream;
    const timers = [setInterval(draw, 1000), setInterval(() => void refresh(), REFRESH_MS)];
    stream.onopen = () => hear(true);
    stream.onerror = () => {
      hear(false);
      // Refused for good, for example because the task was deleted.
      if (stream.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), RELOAD_MS);
    };
    stream.addEventListener("status", ({ data }) => {
      hear(true);
      update(JSON.parse(data));
    });
    stream.addEventListener("output", ({ data }) => {
      hear(true);
      onOutput(JSON.parse(data));
    });
    stream.addEventListener("done", ({ data }) => {
      stream.close();
      for (const timer of timers) clearInterval(timer);
      isLive = null;
      update(JSON.parse(data));
      watchExpiry();
      // If the page was opened with a redirect to the result, the server redirects now.
      if (/[?&]oncomplete=/i.test(location.search)) location.reload();
    });
  }

  /** Looks again when the result has expired. */
  function watchExpiry() {
    if (known.state !== "succeeded" || known.expiresAt === null) return;
    const leftMs = Math.max(REFRESH_MS, Date.parse(known.expiresAt) - now().getTime());
    const lookAgain = () =>
      ask()
        .then(update, () => undefined)
        .then(watchExpiry);
    setTimeout(() => void lookAgain(), Math.min(leftMs, LONGEST_MS));
  }

  /** @param {string} what for people @param {string} method @param {string} href */
  async function act(what, method, href) {
    sure.close();
    write("told", "");
    try {
      // The header tells the server that this is its own page: a page of another site cannot send it.
      const headers = { "X-Requested-With": "paihao-dashboard", Accept: "application/json" };
      const response = await fetch(href, { method, headers });
      if (!response.ok) throw new Error((await response.json()).title);
      if (response.status !== 204) update(await response.json());
    } catch (error) {
      write("told", `Could not ${what}: ${error instanceof Error ? error.message : error}`);
    }
  }

  /** Copies the link to this page, with its signature where links are signed, so that it opens without a key. */
  async function copyLink() {
    const link = new URL(share, location.href).href;
    try {
      await navigator.clipboard.writeText(link);
      write("told", "Copied. Whoever has the link can follow this.");
    } catch {
      // Only pages over HTTPS or from this machine may write to the clipboard.
      write("told", link);
    }
  }

  part("copy").onclick = () => void copyLink();
  part("copy").hidden = false;
  part("cancel").onclick = () => sure.showModal();
  part("keep").onclick = () => sure.close();
  part("done").onclick = () => void act("end it", "POST", wordsOf(known, 0).done ?? "");
  part("end").onclick = () => void act("cancel it", "DELETE", cancel);
  draw();
  onChange(known);
  if (hasEnded(known)) watchExpiry();
  else listen();
}
