/** Shows what a task writes while it runs, on its page. */

import { OutputText } from "../output-text.js";

/** @typedef {{ run: number, data: unknown }} Output */

const shown = new OutputText(() => showCut(true));
let run = 0;

/** @param {boolean} isCut */
function showCut(isCut) {
  const cut = document.getElementById("output-cut");
  if (cut) cut.hidden = !isCut;
}

/**
 * Adds a value: a string as it is, anything else as a line of JSON. When a task starts anew, what it wrote before no longer counts.
 * @param {Output} output
 */
export function addOutput({ run: ofRun, data }) {
  const text = document.getElementById("output-text");
  const section = document.getElementById("output");
  if (!text || !section) return;
  if (shown.element.parentElement !== text) text.replaceChildren(shown.element);
  if (ofRun > run) {
    shown.clear();
    showCut(false);
  }
  run = ofRun;
  section.hidden = false;
  // It scrolls, also by keyboard.
  text.tabIndex = 0;
  shown.add(typeof data === "string" ? data : `${JSON.stringify(data)}\n`);
}

/**
 * Reads the output of a task that has ended.
 * @param {string} href
 */
export async function readOutput(href) {
  try {
    const response = await fetch(href, { headers: { Prefer: "wait=0" } });
    if (!response.ok || !response.body) return;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const lines = (rest + part.value).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) addOutput(JSON.parse(line));
    }
  } catch {
    // The page does without.
  }
}
