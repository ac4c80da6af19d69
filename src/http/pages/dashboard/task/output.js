/** What a task writes, as it writes it. */

import { OutputText } from "../../output-text.js";
import { save } from "../page.js";
import { h } from "../parts/html.js";
import { errorOf, send } from "../server/server.js";

/**
 * @param {import("../views/view.js").Desk} desk
 * @param {string} id
 */
export function output(desk, id) {
  const text = new OutputText(() => desk.redraw());
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
    // From here on the text grows by itself.
    if (isFirst) desk.redraw();
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
    /**
     * Begins to read, or goes on where it was cut off.
     * @param {string | null} finishedAt null while the task is pending
     */
    follow(finishedAt) {
      if (reading || (finishedAt !== null && finishedAt === readTo)) return;
      const controller = new AbortController();
      reading = controller;
      // What went wrong is tried again with the next refresh.
      read(controller.signal, finishedAt)
        .catch(() => undefined)
        .finally(() => {
          reading = null;
        });
    },

    stop: () => reading?.abort(),

    /** @param {boolean} isEnded */
    show: (isEnded) =>
      !text.isEmpty &&
      h(
        "section",
        { key: "output", class: "panel", "aria-label": "Output" },
        h(
          "div",
          { class: "head" },
          h("h2", null, "Output", !isEnded && h("span", { class: "badge good" }, "live")),
          text.isCut &&
            h(
              "div",
              { class: "buttons" },
              h("span", { class: "hint" }, "Only the end is shown."),
              h("button", { type: "button", class: "quiet", onclick: () => void desk.act(download) }, "Download all"),
            ),
        ),
        h("pre", {
          class: "output",
          tabindex: "0",
          role: "log",
          "aria-live": "off",
          "aria-label": "Output",
          own: (/** @type {HTMLElement} */ element) => {
            if (text.element.parentElement !== element) element.replaceChildren(text.element);
          },
        }),
      ),
  };
}
