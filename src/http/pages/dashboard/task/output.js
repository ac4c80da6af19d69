/** What a task writes, as it writes it. */

import { OutputText } from "../../output-text.js";
import { html, useEffect, useLayoutEffect, useReducer, useRef, useState } from "../../preact.js";
import { useDesk } from "../desk.js";
import { save } from "../parts/save.js";
import { errorOf, send } from "../server/server.js";

/**
 * Reads the output of a task.
 * @param {string} id
 * @param {() => void} redraw called when it begins, and when its beginning leaves the page; between the two the text grows by itself
 */
function reader(id, redraw) {
  const text = new OutputText(redraw);
  const path = `/v1/requests/${encodeURIComponent(id)}/output`;
  let run = 0;
  let after = -1;
  /** @type {AbortController | null} */
  let reading = null;
  /** The end of the task whose output was read to its end; a task that is retried ends again. @type {string | null} */
  let readTo = null;

  /** @param {{ seq: number, run: number, data: unknown }} line */
  function add(line) {
    after = line.seq;
    // A new run writes all of it anew.
    if (line.run !== run) text.clear();
    run = line.run;
    const isFirst = text.isEmpty;
    text.add(typeof line.data === "string" ? line.data : `${JSON.stringify(line.data)}\n`);
    if (isFirst) redraw();
  }

  /** @param {AbortSignal} signal @param {string | null} finishedAt */
  async function read(signal, finishedAt) {
    const resume = after < 0 ? "" : `?after=${after}`;
    const response = await send(path + resume, { signal, long: true });
    if (!response.ok || !response.body) {
      // A canceled task has none.
      if (response.status === 410) readTo = finishedAt;
      return;
    }
    let rest = "";
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const lines = (rest + part.value).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line.trim() !== "") add(JSON.parse(line));
    }
    readTo = finishedAt;
  }

  /** Saves all that was written so far, a line of JSON for each value. */
  async function download() {
    const response = await send(path, { headers: { Prefer: "wait=0" }, long: true });
    if (!response.ok) throw await errorOf(response);
    save(await response.blob(), `${id}.ndjson`);
    return null;
  }

  return {
    text,
    download,

    /**
     * Begins to read, or goes on where it was cut off.
     * @param {string | null} finishedAt null while the task is pending
     */
    follow(finishedAt) {
      if (reading || (finishedAt !== null && finishedAt === readTo)) return;
      const controller = new AbortController();
      reading = controller;
      read(controller.signal, finishedAt)
        .catch(() => undefined)
        .finally(() => {
          reading = null;
        });
    },

    stop: () => reading?.abort(),
  };
}

/** @param {{ id: string, finishedAt: string | null }} props `finishedAt`: null while the task is pending */
export function Output({ id, finishedAt }) {
  const desk = useDesk();
  const [, redraw] = useReducer((times) => times + 1, 0);
  const [{ text, download, follow, stop }] = useState(() => reader(id, () => redraw(undefined)));
  // What went wrong is tried again with the next refresh.
  useEffect(() => follow(finishedAt));
  useEffect(() => stop, []);
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => place.current?.append(text.element), [text.isEmpty]);
  if (text.isEmpty) return null;
  const whole = html`
    <div class="buttons">
      <span class="hint">Only the end is shown.</span>
      <button type="button" class="quiet" onClick=${() => desk.act(download)}>Download all</button>
    </div>`;
  return html`
    <section class="panel" aria-label="Output">
      <div class="head">
        <h2>Output${finishedAt === null && html`<span class="badge good">live</span>`}</h2>
        ${text.isCut && whole}
      </div>
      <pre class="output" tabindex="0" role="log" aria-live="off" aria-label="Output" ref=${place} />
    </section>`;
}
