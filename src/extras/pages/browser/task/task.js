/** The page of a task, kept up to date from its events (Server-Sent Events, which reconnect by themselves). */

import { jsonLines, useOutputText } from "../output-text.js";
import { html, render, useEffect, useLayoutEffect, useReducer, useRef, useState } from "../preact.js";
import { TASK_FACTS } from "../task-facts.js";
import { factsOf } from "../words.js";
import { Output } from "./task-output.js";
import { Result } from "./task-result.js";
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

/** @typedef {import("../../../../wire/task.ts").Task} Task */
/** @typedef {{ task: Task, at: number }} Seen `at`: when its estimate was made, by this browser's clock */

/** How often the page checks whether it should ask the server, ms. */
const REFRESH_MS = 5000;
/** After this long without a message, the page asks whether the server is still there, ms. */
const SILENT_MS = 10_000;
/** The longest timer, ms: browsers' timers end at about 24 days. */
const LONGEST_MS = 86_400_000;
/** How long after a refused event stream the page is reloaded, so that the server can say why, ms. */
const RELOAD_MS = 5000;

const page = document.getElementById("page");
const { events = "", output = "", share = "", cancel = "", result = "" } = page?.dataset ?? {};

/** The current document of the task. @returns {Promise<Task>} */
async function ask() {
  const response = await fetch(share, {
    headers: { Accept: "application/json" },
    cache: "no-store",
    signal: AbortSignal.timeout(REFRESH_MS),
  });
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  return response.json();
}

/** @param {{ first: Task }} props */
function Page({ first }) {
  const [{ task, at }, setSeen] = useState(/** @type {Seen} */ ({ task: first, at: Date.now() }));
  const [isDone, setDone] = useState(hasEnded(first.state));
  /** Whether the page and the server are in touch; null before they are. */
  const [isLive, setLive] = useState(/** @type {boolean | null} */ (null));
  const [told, tell] = useState("");
  const [, tick] = useReducer((times) => times + 1, 0);
  const written = useOutputText();
  const sure = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const look = lookOf(task);
  /** Ignores what was known before the end, such as a late answer to a cancel. @param {Task} task */
  const update = (task) =>
    setSeen((seen) => (hasEnded(seen.task.state) && !hasEnded(task.state) ? seen : { task, at: Date.now() }));
  const now = useRef({ task, at });
  now.current = { task, at };

  useEffect(() => {
    if (isDone) return;
    const source = new EventSource(events);
    let heardAt = Date.now();
    /** @param {boolean} isHeard */
    function hear(isHeard) {
      if (isHeard) heardAt = Date.now();
      setLive(isHeard);
    }

    /**
     * Asks for what no event brings: a new estimate, if the old one has grown or run out, and whether the server is still
     * there, since a dead connection may look open for long.
     */
    async function refresh() {
      const { task, at } = now.current;
      const isGrowing = task.state === "running" && (task.progress?.estimated ?? true);
      const isOver = task.eta !== null && Date.now() - at > task.eta.seconds * 1000;
      const isSilent = Date.now() - heardAt > SILENT_MS;
      if (document.hidden || source.readyState !== EventSource.OPEN || !(isGrowing || isOver || isSilent)) return;
      try {
        const news = await ask();
        if (source.readyState !== EventSource.OPEN) return;
        hear(true);
        // Changes of state arrive as events.
        if (news.state === now.current.task.state) update(news);
      } catch {
        hear(false);
      }
    }

    const timers = [setInterval(() => tick(undefined), 1000), setInterval(() => void refresh(), REFRESH_MS)];
    source.onopen = () => hear(true);
    source.onerror = () => {
      hear(false);
      // Refused for good, for example because the task was deleted.
      if (source.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), RELOAD_MS);
    };
    source.addEventListener("status", (event) => {
      hear(true);
      update(JSON.parse(event.data));
    });
    source.addEventListener("output", (event) => {
      hear(true);
      written.text.add(JSON.parse(event.data));
    });
    source.addEventListener("done", (event) => {
      update(JSON.parse(event.data));
      setDone(true);
      // If the page was opened with a redirect to the result, the server redirects now.
      if (/[?&]oncomplete=/i.test(location.search)) location.reload();
    });
    return () => {
      source.close();
      for (const timer of timers) clearInterval(timer);
    };
  }, [isDone]);

  // The output written before the page was opened, if no events bring it.
  useEffect(() => {
    if (isDone && first.state !== "canceled") void readOutput(written.text).catch(() => undefined);
  }, []);

  // The result may have expired by then; the clock of this browser may be wrong.
  useEffect(() => {
    if (!isDone || look !== "succeeded" || task.expiresAt === null) return;
    const leftMs = Math.max(REFRESH_MS, Date.parse(task.expiresAt) - Date.now());
    const lookAgain = () => ask().then(update, () => update(task));
    const timer = setTimeout(() => void lookAgain(), Math.min(leftMs, LONGEST_MS));
    return () => clearTimeout(timer);
  }, [isDone, look, at]);

  useEffect(() => {
    document.title = titleOf(task);
    if (hasEnded(task.state)) sure.current?.close();
  });

  async function cancelTask() {
    sure.current?.close();
    try {
      // The header tells the server that this is its own page: a page of another site cannot send it.
      const headers = { "X-Requested-With": "paihao-dashboard", Accept: "application/json" };
      const response = await fetch(cancel, { method: "DELETE", headers });
      if (!response.ok) throw new Error((await response.json()).title);
      if (response.status === 202 || response.status === 200) update(await response.json());
    } catch (error) {
      tell(`Could not cancel it: ${error instanceof Error ? error.message : error}`);
    }
  }

  /** Copies the link to this page, with its signature where links are signed, so that it opens without a key. */
  async function copyLink() {
    const link = new URL(share, location.href).href;
    try {
      await navigator.clipboard.writeText(link);
      tell("Copied. Whoever has the link can follow this task.");
    } catch {
      // Only pages over HTTPS or from this machine may write to the clipboard.
      tell(link);
    }
  }

  const number = numberOf(task);
  const isKept = look === "succeeded" && task.expiresAt !== null;
  return html`
    <main id="task" class="ticket" data-state=${look}>
      <header>
        <span class="queue">${task.queue}</span>
        <span id="live" class="live" hidden=${!isLive || isDone}>live</span>
      </header>
      <div role="status"><h1 id="headline">${headlineOf(task)}</h1></div>
      <p id="number" class="number ${isLong(number) ? "long" : "short"}">${number}</p>
      <p id="ahead" class="ahead">${aheadOf(task)}</p>
      <${Progress} percent=${task.progress?.percent} />
      <p id="attempt" class="attempt">${attemptOf(task)}</p>
      <p id="detail" class="detail">${detailOf(task)}</p>
      <p id="wait" class="wait">${waitOf(task, (Date.now() - at) / 1000)}</p>
      <${Output} output=${written} href=${output} />
      <${Result} href=${result} collect=${collectOf(task)} isThere=${isDone && look === "succeeded"} />
      <p class="actions">
        <button id="copy" type="button" onClick=${copyLink}>Copy link</button>
        ${
          task.actions.includes("cancel") &&
          html`<button id="cancel" type="button" onClick=${() => sure.current?.showModal()}>Cancel</button>`
        }
      </p>
      <p id="told" class="told" role="status">${told}</p>
      <footer>
        <dl>
          <div><dt>Task</dt><dd class="id">${task.id}</dd></div>
          ${factsOf(TASK_FACTS, task).map((known) => (isKept || known.name !== "expiresAt" ? fact(known) : null))}
        </dl>
        <p id="trouble" class="trouble" role="status" hidden=${isLive !== false || isDone}>
          Connection lost. Reconnecting …
        </p>
      </footer>
    </main>
    <dialog id="sure" ref=${sure} aria-labelledby="sure-title">
      <h2 id="sure-title">Cancel this task?</h2>
      <p>It loses its place in line, and what it has done so far is discarded.</p>
      <p class="actions">
        <button id="keep" type="button" onClick=${() => sure.current?.close()}>Keep it</button>
        <button id="end" type="button" class="grave" onClick=${cancelTask}>Cancel the task</button>
      </p>
    </dialog>`;
}

/** @param {{ percent: number | undefined }} props */
function Progress({ percent }) {
  const bar = useRef(/** @type {HTMLElement | null} */ (null));
  // Without a value the bar shows that the progress is unknown; with an empty one it would show 0.
  useLayoutEffect(() => {
    if (percent === undefined) bar.current?.removeAttribute("value");
  }, [percent]);
  return html`<progress id="progress" ref=${bar} max="100" value=${percent ?? 0} aria-label="Progress" />`;
}

/** @param {ReturnType<typeof factsOf>[number]} known */
const fact = ({ name, title, value, isTime }) =>
  name === "presentUntil"
    ? html`<div key=${name}><dt>Kept</dt><dd>as long as somebody looks at it, such as on this page</dd></div>`
    : html`<div key=${name}><dt>${title}</dt><dd>${isTime ? html`<time datetime=${value}>${new Date(value).toLocaleString()}</time>` : value}</dd></div>`;

/** @param {ReturnType<typeof useOutputText>["text"]} text */
async function readOutput(text) {
  const response = await fetch(output, { headers: { Prefer: "wait=0" } });
  if (response.ok) for await (const line of jsonLines(response)) text.add(line);
}

if (page) render(html`<${Page} first=${JSON.parse(page.dataset.task ?? "")} />`, page);
