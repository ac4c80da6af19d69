/** The output of a task, shown as it is written. */

import { jsonLines, useOutputText } from "../../output-text.js";
import { html, useEffect, useRef } from "../../preact.js";
import { errorOf, send } from "../api.js";
import { useDesk } from "../desk.js";
import { save } from "./value.js";

/** @param {{ id: string, finishedAt: string | null }} props `finishedAt`: null while the task is pending */
export function Output({ id, finishedAt }) {
  const desk = useDesk();
  const { text, place } = useOutputText();
  const reading = useRef(/** @type {AbortController | null} */ (null));
  const after = useRef(-1);
  /** When the task ended whose output was read completely; a task that is retried ends again. */
  const readTo = useRef(/** @type {string | null} */ (null));
  const path = `/v1/requests/${encodeURIComponent(id)}/output`;

  /** Begins to read, or resumes where it was cut off. @param {AbortSignal} signal */
  async function read(signal) {
    const resume = after.current < 0 ? "" : `?after=${after.current}`;
    const response = await send(path + resume, { signal, long: true });
    if (response.ok) {
      for await (const line of jsonLines(response)) {
        after.current = line.seq;
        text.add(line);
      }
    }
    // A canceled task has no output.
    if (response.ok || response.status === 410) readTo.current = finishedAt;
  }

  // After an error the next refresh tries again.
  useEffect(() => {
    if (reading.current || (finishedAt !== null && finishedAt === readTo.current)) return;
    reading.current = new AbortController();
    read(reading.current.signal)
      .catch(() => undefined)
      .finally(() => {
        reading.current = null;
      });
  });
  useEffect(() => () => reading.current?.abort(), []);

  /** Saves everything written so far, a line of JSON for each value. */
  async function download() {
    const response = await send(path, { headers: { Prefer: "wait=0" }, long: true });
    if (!response.ok) throw await errorOf(response);
    save(await response.blob(), `${id}.ndjson`);
    return null;
  }

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
