/** What a task writes, as it writes it. */

import { h } from "../parts/html.js";
import { send } from "../server/server.js";

/** A page that shows more is slow; what was first is left out then. */
const MOST_CHARACTERS = 100_000;

/**
 * @param {import("../views/view.js").Desk} desk
 * @param {string} id
 */
export function output(desk, id) {
  let text = "";
  let isCut = false;
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
    if (line.run !== run) text = "";
    run = line.run;
    text += typeof line.data === "string" ? line.data : `${JSON.stringify(line.data)}\n`;
    if (text.length > MOST_CHARACTERS) {
      text = text.slice(-MOST_CHARACTERS);
      isCut = true;
    }
  }

  /** @param {AbortSignal} signal @param {string | null} finishedAt */
  async function read(signal, finishedAt) {
    const resume = after < 0 ? "" : `?after=${after}`;
    const response = await send(`/v1/requests/${encodeURIComponent(id)}/output${resume}`, { signal, long: true });
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
      desk.redraw();
    }
    readTo = finishedAt;
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
      text !== "" &&
      h(
        "section",
        { key: "output", class: "panel", "aria-label": "Output" },
        h("h2", null, "Output", !isEnded && h("span", { class: "badge good" }, "live")),
        isCut && h("p", { class: "hint" }, "The beginning is left out."),
        h("pre", {
          class: "output",
          tabindex: "0",
          role: "log",
          "aria-live": "off",
          "aria-label": "Output",
          own: (/** @type {HTMLElement} */ element) => fill(element, text),
        }),
      ),
  };
}

/**
 * Shows the text, and stays at its end if that was in view.
 * @param {HTMLElement} element
 * @param {string} text
 */
function fill(element, text) {
  const before = element.textContent ?? "";
  if (before === text) return;
  const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < 8;
  // Adding to what is there keeps what is selected.
  if (before !== "" && text.startsWith(before)) element.append(text.slice(before.length));
  else element.textContent = text;
  if (isAtEnd) element.scrollTop = element.scrollHeight;
}
